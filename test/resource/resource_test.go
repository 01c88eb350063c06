//go:build e2e

package resource_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

var stabilizedMetrics = v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)

func TestResource(t *testing.T) {
	scenario.Together(t, map[string]func(*testing.T){
		"beside a native CPU HPA":  testBesideNative,
		"three Deployments as one": testThreeAsOne,
	})
}

// namespace makes one, whose pods are as ready as their loads say.
func namespace(t *testing.T) string {
	t.Helper()
	name, err := env.cluster.CreateNamespace(t.Context(), "resource")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- env.usage.KeepReadiness(ctx, name) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return name
}

func apply(t *testing.T, namespace, manifest string, data any) {
	t.Helper()
	if err := env.cluster.ApplyTemplate(t.Context(), namespace, manifest, data); err != nil {
		t.Fatal(err)
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{.Name}}}
spec:
  replicas: {{.Replicas}}
  selector: {matchLabels: {app: {{.Name}}}}
  template:
    metadata: {labels: {app: {{.Name}}, part-of: shop}}
    spec:
      nodeName: ` + cluster.NodeName + `
      terminationGracePeriodSeconds: 0
      containers: [{name: worker, image: worker, resources: {requests: {cpu: 100m}}}]
`

// jumps lets a count go anywhere at once, inside the default tolerance of 0.1.
const jumps = `behavior:
    scaleUp: {policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
`

const native = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{.Name}}}
  minReplicas: 1
  maxReplicas: 20
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
  ` + jumps

const ours = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: {{.Name}}}
spec:
  interval: 1
  triggers:
  - type: cpu
    metadata: {value: "50"{{.More}}}
  ` + jumps + `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{.Name}}}
  minReplicas: 1
  maxReplicas: 20
  metrics:
  - type: External
    external:
      metric: {name: {{.Name}}}
      target: {type: AverageValue, averageValue: "1"}
  {{.Transparent}}
`

// ourHPA are the data of the template ours.
func ourHPA(name, more string) map[string]string {
	return map[string]string{"Name": name, "More": more, "Transparent": strings.ReplaceAll(scaling.TransparentBehavior, "\n", "\n  ")}
}

// testBesideNative gives two Deployments the same to do, of which the HPA controller scales
// one by itself and the other by what Dashpot tells it. Each pod requests 100m, of which it
// is to use 50m.
func testBesideNative(t *testing.T) {
	ns := namespace(t)
	both := []string{"native", "ours"}
	for _, name := range both {
		env.usage.Set(ns, name, podusage.Load{CPU: 100})
		apply(t, ns, deployment, map[string]any{"Name": name, "Replicas": 2})
	}
	settle(t, ns, map[string]int32{"native": 2, "ours": 2})
	apply(t, ns, native, map[string]any{"Name": "native"})
	apply(t, ns, ours, ourHPA("ours", ""))
	steps := []struct {
		podusage.Load
		want int32
	}{
		{podusage.Load{CPU: 200}, 4},
		// 3 of 4 pods use 82m each; with 0 for the fourth it is 61 %: 1.22 x 4 = 4.88.
		{podusage.Load{CPU: 330, Missing: 1}, 5},
		// 4 of 5 pods use 12m each; with 100m for the fifth it is 29 %: 0.58 x 5 = 2.9.
		{podusage.Load{CPU: 60, Missing: 1}, 3},
		// At 6, the 5 that are ready use 60m each, and would be 8 without the sixth.
		{podusage.Load{CPU: 300, Unready: 1}, 6},
		{podusage.Load{CPU: 60, Unready: 1}, 2},
		{podusage.Load{CPU: 400}, 8},
		{podusage.Load{}, 1},
	}
	for _, step := range steps {
		for _, name := range both {
			env.usage.Set(ns, name, step.Load)
		}
		settle(t, ns, map[string]int32{"native": step.want, "ours": step.want})
		t.Logf("%+v: both have %d", step.Load, step.want)
	}
}

// testThreeAsOne has three Deployments of which one gets nearly all of the load. Measured
// alone, they would be 6, 1 and 1. As one they use 100 % of what 3 pods request, where it
// is to be 50 %: 2 x 3 = 6 pods, of which each is a third. It takes all three, in whatever
// order they come: 5 pods use 60 %, which is 1.2 times the target and outside the tolerance
// of 0.1, and 7 would use 43 %, 0.86 times. (With twice the load 11 pods would be as right
// as 12: 1.09 times.)
func testThreeAsOne(t *testing.T) {
	ns := namespace(t)
	start, want := map[string]int32{}, map[string]int32{}
	for name, milli := range map[string]int64{"a": 260, "b": 20, "c": 20} {
		start[name], want[name] = 1, 2
		env.usage.Set(ns, name, podusage.Load{CPU: milli})
		apply(t, ns, deployment, map[string]any{"Name": name, "Replicas": 1})
	}
	settle(t, ns, start)
	for name := range want {
		apply(t, ns, ours, ourHPA(name, `, podSelector: "part-of=shop", podsPerReplica: "3"`))
	}
	settle(t, ns, want)
}

// settle waits until Deployments have the wanted replicas, all of which run, and keep them
// for longer than two looks of the HPA controller take.
func settle(t *testing.T, namespace string, want map[string]int32) {
	t.Helper()
	const limit, steady = 2 * time.Minute, 5 * time.Second
	deadline, since := time.Now().Add(limit), time.Now()
	for {
		got := counts(t, namespace, slices.Sorted(maps.Keys(want)))
		if !maps.Equal(got, want) {
			since = time.Now()
		}
		if time.Since(since) >= steady {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: got %v, want %v\n%s", limit, got, want, explain(t, namespace))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// counts are the replicas of Deployments, -1 while not all of them run or some are too many.
func counts(t *testing.T, namespace string, names []string) map[string]int32 {
	t.Helper()
	got := map[string]int32{}
	for _, name := range names {
		d, err := env.cluster.Client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got[name] = *d.Spec.Replicas
		if d.Status.Replicas != *d.Spec.Replicas {
			got[name] = -1
		}
	}
	return got
}

// explain is what the HPAs say.
func explain(t *testing.T, namespace string) string {
	t.Helper()
	list, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, h := range list.Items {
		text += fmt.Sprintf("HPA %s: %+v\n", h.Name, h.Status)
	}
	metrics, err := env.cluster.Dynamic.Resource(stabilizedMetrics).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return text + err.Error()
	}
	for _, m := range metrics.Items {
		text += fmt.Sprintf("StabilizedMetric %s: %v\n", m.GetName(), m.Object["status"])
	}
	return text
}
