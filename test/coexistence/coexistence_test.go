//go:build e2e

package coexistence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// limit is how long a count may take on a busy machine: a KEDA poll, a few syncs of the
// HPA, and an HPA that is new.
const limit = time.Minute

// side is one of the three ways in which a Deployment is scaled here, by 5 jobs per
// replica each.
type side struct {
	*scenario.Workload

	name string
}

func newSide(t *testing.T, name, manifest string) side {
	t.Helper()
	w := scenario.New(t, env.cluster, 1)
	s := side{w, name}
	s.apply(manifest)
	return s
}

// apply applies a manifest, a template.
func (s side) apply(manifest string) {
	s.T.Helper()
	err := env.cluster.ApplyTemplate(s.T.Context(), s.Namespace, manifest, map[string]any{
		"Address": s.Redis.Addr(), "Scaler": env.scalers.Target(),
		"Behavior": "\n" + indented(scaling.TransparentBehavior, "      "), "OwnBehavior": "\n" + indented(scaling.TransparentBehavior, "  "),
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// indented is text with something before every line.
func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

// second makes another Deployment beside the one called worker.
func (s side) second(name string) {
	s.T.Helper()
	if err := env.cluster.CreateDeployment(s.T.Context(), s.Namespace, name, 1); err != nil {
		s.T.Fatal(err)
	}
}

// await waits until a Deployment has n replicas: for a window of 60 s and what a busy
// machine adds.
func (s side) await(name string, n int32) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute+limit)
	defer cancel()
	if _, err := env.cluster.WaitReplicas(ctx, s.Namespace, name, n); err != nil {
		s.T.Fatal(err)
	}
}

// awaitActive waits until the HPA of a name says whether it gets its metric.
func (s side) awaitActive(hpa string, want corev1.ConditionStatus) {
	s.T.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(250 * time.Millisecond) {
		h, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Namespace).Get(s.T.Context(), hpa, metav1.GetOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		for _, c := range h.Status.Conditions {
			if c.Type == autoscalingv2.ScalingActive && c.Status == want {
				return
			}
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("%s: HPA %s is not ScalingActive=%s: %+v", s.name, hpa, want, h.Status.Conditions)
		}
	}
}

// TestThreeSidesAndTheirFaults: KEDA's own trigger, Dashpot's trigger behind KEDA and a
// StabilizedMetric behind a native HPA scale side by side. When KEDA's adapter is away,
// hangs or fails, what it serves fails, which holds; the native one scales on, and its
// requests take no longer.
func TestThreeSidesAndTheirFaults(t *testing.T) {
	kedas := newSide(t, "KEDA's trigger", scaledObject(`type: redis`, ""))
	dashpots := newSide(t, "Dashpot's trigger", scaledObject(`type: external`, `scalerAddress: "{{.Scaler}}", source: redis, interval: "1", `))
	native := newSide(t, "native", nativeManifest)
	all := []side{kedas, dashpots, native}
	for _, count := range []int32{8, 4} {
		for _, s := range all {
			s.Queue("jobs", int(count*5))
		}
		for _, s := range all {
			s.Await(count, limit)
		}
	}

	l := newLoad(t, native.Namespace+"/jobs",
		fmt.Sprintf("%s/s0-redis-jobs?labelSelector=scaledobject.keda.sh%%2Fname%%3D%s", kedas.Namespace, scenario.Worker))
	count := int32(4)
	for _, f := range kedaFaults(t) {
		var rounds []round
		for range 3 {
			calm := l.measure(t)
			f.begin()
			rounds = append(rounds, round{calm, l.measure(t)})
			t.Logf("%s: %s", f.name, rounds[len(rounds)-1])
			for _, s := range []side{kedas, dashpots} { // KEDA's adapter serves both
				s.awaitActive("keda-hpa-"+scenario.Worker, corev1.ConditionFalse)
			}
			count = 12 - count // 8, 4, 8 …
			native.Queue("jobs", int(count*5))
			native.Await(count, limit)
			f.heal()
			for _, s := range []side{kedas, dashpots} {
				s.awaitActive("keda-hpa-"+scenario.Worker, corev1.ConditionTrue)
			}
			l.awaitKEDA(t)
		}
		checkRounds(t, f.name, rounds)
	}
	for _, s := range []side{kedas, dashpots} {
		s.Queue("jobs", 30)
		s.Await(6, limit)
	}
}

// fault is a way in which KEDA's adapter fails.
type fault struct {
	name        string
	begin, heal func()
}

func kedaFaults(t *testing.T) []fault {
	keda := env.cluster.KedaAdapter()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return []fault{
		{"stopped", keda.Kill, func() { must(keda.Restart(t.Context())) }},
		{"hung", func() { must(keda.Suspend()) }, func() { must(keda.Resume()) }},
		{"answers 500", func() { env.front.failing.Store(true) }, func() { env.front.failing.Store(false) }},
	}
}

// TestKEDAsTriggerStabilised: KEDA's own metric, read by its name, through a window of
// 60 s: a dip of 20 s takes the workload down that follows the raw number, and not the
// one behind the window.
func TestKEDAsTriggerStabilised(t *testing.T) {
	raw := newSide(t, "raw", scaledObject(`type: redis`, ""))
	raw.second("steady")
	raw.apply(steadyManifest)
	raw.Queue("jobs", 37)
	raw.await(scenario.Worker, 8)
	raw.await("steady", 8)
	steady, err := env.cluster.Record(t.Context(), raw.Namespace, "steady")
	if err != nil {
		t.Fatal(err)
	}
	followed := raw.Record()
	raw.Queue("jobs", 7)
	raw.await(scenario.Worker, 2)
	time.Sleep(10 * time.Second) // the window is not over yet, and the reading behind it has seen the dip
	raw.Queue("jobs", 37)
	raw.await(scenario.Worker, 8)
	raw.Expect(followed, 8, 2, 8)
	history, err := steady.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if counts := history.Replicas(); len(counts) != 1 || counts[0] != 8 {
		t.Errorf("behind the window: %v, want 8 throughout", history)
	}
	raw.Queue("jobs", 7)
	raw.await("steady", 2) // and a dip that lasts is followed
}

// hpaOn is an HPA of a Deployment on one External metric.
func hpaOn(deployment, metric, averageValue string) string {
	return `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: ` + deployment + `}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ` + deployment + `}
  minReplicas: 1
  maxReplicas: 20
  metrics:
  - type: External
    external:
      metric: {name: ` + metric + `}
      target: {type: AverageValue, averageValue: "` + averageValue + `"}
{{.OwnBehavior}}
`
}

// scaledObject is one on the list jobs, 5 jobs per replica.
func scaledObject(kind, metadata string) string {
	return `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  pollingInterval: 2
  minReplicaCount: 1
  maxReplicaCount: 20
  advanced:
    horizontalPodAutoscalerConfig: {{.Behavior}}
  triggers:
  - ` + kind + `
    metadata: {` + metadata + `address: "{{.Address}}", listName: jobs, listLength: "5"}
`
}

var nativeManifest = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: jobs}
spec:
  interval: 1
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: jobs, listLength: "5"}
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
` + hpaOn("worker", "jobs", "1")

// steadyManifest scales the Deployment steady by KEDA's metric of the ScaledObject worker,
// through a window of 60 s.
var steadyManifest = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: steady}
spec:
  interval: 2
  triggers:
  - type: external-metric
    metadata:
      delegate: keda
      externalMetricName: s0-redis-jobs
      metricSelector: scaledobject.keda.sh/name=worker
      targetValue: "5"
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 60, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
` + hpaOn("steady", "steady", "1")
