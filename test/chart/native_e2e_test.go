//go:build e2e

package chart

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// nativeHPA scales a workload by a StabilizedMetric with one trigger.
const nativeHPA = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: jobs}
spec:
  interval: 1
  triggers:
  - %s
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: worker}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
  maxReplicas: 20
  metrics:
  - {type: External, external: {metric: {name: jobs}, target: {type: AverageValue, averageValue: "1"}}}
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
`

// kedasOwn is a ScaledObject of KEDA's own trigger, whose HPA finds Dashpot where it asks.
const kedasOwn = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  pollingInterval: 2
  minReplicaCount: 1
  maxReplicaCount: 20
  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}}
  triggers:
  - type: redis
    metadata: {address: %q, listName: jobs, listLength: "5"}
`

// TestNative: the chart takes the place where HPAs ask, with KEDA's server behind it, and the
// adapter scales and passes on under the certificate and the rights that it is given there.
func TestNative(t *testing.T) {
	programs := build(t, "adapter")
	records := redistest.Start(t)
	usage, err := podusage.Serve(t.Context(), env.cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(usage.Close)
	former := get(t)
	t.Cleanup(func() { put(t, former) })
	h := newHelm(t, env.cluster.Kubeconfig())
	_, _, authority := env.cluster.ServingFiles()
	// The chart knows KEDA's server by its Service, and here it is a process on this machine.
	h.install(t, namespace, "adapter.enabled=true,adapter.apiService.takeOver=true,rbac.podMetrics=true,"+delegateToKEDA, append(h.ownership(),
		"--set=adapter.delegates[0].url=https://"+env.cluster.KedaAdapter().Address, "--set-file=adapter.delegates[0].ca="+authority)...)
	t.Cleanup(func() { h.uninstall(t, namespace) })
	adapter := startAdapter(t, programs["adapter"], records.URL())
	reach(t, adapter.address)

	byQueue, byUsage, kedas := scenario.New(t, env.cluster, 1), scenario.New(t, env.cluster, 1), scenario.New(t, env.cluster, 1)
	for w, manifest := range map[*scenario.Workload]string{
		byQueue: fmt.Sprintf(nativeHPA, fmt.Sprintf(`{type: redis, metadata: {address: %q, listName: jobs, listLength: "5"}}`, byQueue.Redis.Addr())),
		byUsage: fmt.Sprintf(nativeHPA, `{type: cpu, metadata: {metricType: AverageValue, value: 100m}}`),
		kedas:   fmt.Sprintf(kedasOwn, kedas.Redis.Addr()),
	} {
		if err := env.cluster.Apply(t.Context(), w.Namespace, manifest); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int32{8, 3} {
		byQueue.Queue("jobs", int(want)*5)
		usage.Set(byUsage.Namespace, scenario.Worker, podusage.Load{CPU: int64(want) * 100})
		kedas.Queue("jobs", int(want)*5)
		for _, w := range []*scenario.Workload{byQueue, byUsage, kedas} {
			w.Await(want, 2*time.Minute)
		}
	}
	for line := range strings.Lines(read(t, adapter.log)) {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// reach has the API server find the chart's Service on this machine, since its pods are
// nowhere. The certificate, and the authority that vouches for it, remain the chart's.
func reach(t *testing.T, address string) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"service", release + "-adapter", "--namespace=" + namespace, "--patch", `{"spec": {"type": "ExternalName", "externalName": "localhost"}}`},
		{"apiservice", place, "--type=merge", "--patch", `{"spec": {"service": {"port": ` + port + `}}}`},
	} {
		if _, err := kubectl(t, "", append([]string{"patch"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kubectl(t, "", "wait", "apiservice", place, "--for=condition=Available", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
}
