//go:build e2e

package chart

import (
	"fmt"
	"testing"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
)

// target is a workload of another kind than most: one that only its scale subresource tells
// of is among them.
type target struct{ version, kind, name, selector string }

func otherTargets() []target {
	return []target{
		{"apps/v1", "StatefulSet", "ordered", "{matchLabels: {app: ordered}}"},
		{"apps/v1", "ReplicaSet", "bare", "{matchLabels: {app: bare}}"},
		{"v1", "ReplicationController", "counted", "{app: counted}"},
	}
}

const targetObject = `
apiVersion: %[1]s
kind: %[2]s
metadata: {name: %[3]s}
spec:
  replicas: 1
  selector: %[4]s
  template:
    metadata: {labels: {app: %[3]s}}
    spec:
      nodeName: %[5]s
      containers: [{name: worker, image: worker}]
`

// kedaTarget and nativeTarget have a target scaled by what its pods use.
const (
	kedaTarget = `---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: %[3]s}
spec:
  scaleTargetRef: {apiVersion: %[1]s, kind: %[2]s, name: %[3]s}
  pollingInterval: 2
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: {scalerAddress: %[4]q, source: memory, metricType: AverageValue, value: 100Mi}
`
	nativeTarget = `---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: %[3]s}
spec:
  triggers:
  - type: memory
    metadata: {metricType: AverageValue, value: 100Mi}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[3]s}
spec:
  scaleTargetRef: {apiVersion: %[1]s, kind: %[2]s, name: %[3]s}
  maxReplicas: 20
  metrics:
  - {type: External, external: {metric: {name: %[3]s}, target: {type: AverageValue, averageValue: 100Mi}}}
`
)

// applyTargets makes one of each, with what scales it; its pods use 300 Mi.
func applyTargets(t *testing.T, usage *podusage.Server, namespace, scaled string, more ...any) {
	t.Helper()
	for _, o := range otherTargets() {
		usage.Set(namespace, o.name, podusage.Load{Memory: 300})
		manifest := fmt.Sprintf(targetObject, o.version, o.kind, o.name, o.selector, cluster.NodeName) +
			fmt.Sprintf(scaled, append([]any{o.version, o.kind, o.name}, more...)...)
		if err := env.cluster.Apply(t.Context(), namespace, manifest); err != nil {
			t.Fatal(err)
		}
	}
}
