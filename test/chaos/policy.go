package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// behavior is that of both workloads: windows and periods that are short, but longer than
// what a fault could hide in.
const behavior = `scaleUp: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 4, periodSeconds: 3}]}
scaleDown: {tolerance: "0", stabilizationWindowSeconds: 15, policies: [{type: Pods, value: 2, periodSeconds: 3}]}`

// metadata is the trigger of KEDA's workload, as the client sends it.
func metadata(url string) map[string]string {
	return map[string]string{
		"source": "metrics-api", "url": url, "valueLocation": "jobs", "targetValue": "5",
		"interval": "1", "cooldownPeriod": "15", "behavior": behavior,
	}
}

// parse is the policy that metadata asks for.
func parse(metadata map[string]string) (*scaling.Policy, error) {
	table := source.New(source.Options{})
	defer table.Close()
	p := policy.Parser{Sources: table}.Parse(metadata)
	if p.Invalid != nil {
		return nil, fmt.Errorf("the policy of the cells: %w", p.Invalid)
	}
	return p, nil
}

// manifests are the workloads of a cell. The Deployments are paused: nobody makes pods,
// and status.replicas stays 0, which without tolerances decides nothing.
const manifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  replicas: 0
  paused: true
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: worker}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: native}
spec:
  replicas: 0
  paused: true
  selector: {matchLabels: {app: native}}
  template:
    metadata: {labels: {app: native}}
    spec: {containers: [{name: worker, image: worker}]}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  minReplicaCount: 0
  maxReplicaCount: {{.Max}}
  cooldownPeriod: 3
  triggers:
  - type: external
    metadata: {scalerAddress: nowhere, source: metrics-api}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: jobs}
spec:
  interval: 1
  cooldownPeriod: 15
  triggers:
  - type: metrics-api
    metadata: {url: "{{.URL}}", valueLocation: jobs, targetValue: "5"}
  behavior:
    {{.Behavior}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: native}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: native}
  minReplicas: 0
  maxReplicas: {{.Max}}
  metrics:
  - type: External
    external:
      metric: {name: jobs}
      target: {type: AverageValue, averageValue: "1"}
  {{.Transparent}}
`

func (w *world) deleteNamespace(ctx context.Context) error {
	return w.Client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{})
}
