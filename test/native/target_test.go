//go:build e2e

package native_test

import (
	"context"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testAmbiguousTarget: two HPAs of different targets read one metric. Neither gets an
// answer, both hold, and the status says why until one of them is gone.
func testAmbiguousTarget(t *testing.T) {
	const other = "other"
	w := newWorkload(t, 3)
	if err := env.cluster.CreateDeployment(t.Context(), w.Namespace, other, 4); err != nil {
		t.Fatal(err)
	}
	second := transparent()
	second.name, second.deployment = other, other
	w.Queue(jobs, 40)
	w.scale(second)
	w.scale(transparent())
	rOther, err := env.cluster.Record(t.Context(), w.Namespace, other)
	if err != nil {
		t.Fatal(err)
	}
	defer rOther.Stop()
	r := w.Record()
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown}) // before it exists, both hold
	for _, name := range []string{scenario.Worker, other} {
		w.awaitHPA(name, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", other)
	}
	w.awaitCondition(jobs, "AmbiguousTarget", "AmbiguousTarget", other)
	w.awaitEvent(jobs, other)
	w.Steady(r, 2*hpaSync, 3)
	w.Expect(rOther, 4)
	if err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).Delete(t.Context(), other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Await(8, 2*hpaSync+5*time.Second)
	w.Expect(r, 3, 8)
	w.Expect(rOther, 4)
	w.awaitNoCondition(jobs, "AmbiguousTarget")
}

// testUnknownMetric: an HPA that asks for a metric nobody has defined holds and names
// it. Defining it is the cure.
func testUnknownMetric(t *testing.T) {
	w := newWorkload(t, 3)
	w.Queue(jobs, 40)
	w.scale(transparent())
	r := w.Record()
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", "no such StabilizedMetric")
	w.Steady(r, 2*hpaSync, 3)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.Await(8, 2*hpaSync+5*time.Second)
	w.Expect(r, 3, 8)
}

// garbage are StabilizedMetrics that no policy can be made of, as far as the API
// server lets them in.
const garbage = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: no-number}
spec:
  triggers:
  - type: redis
    metadata: {address: "{{.}}", listName: jobs, listLength: many}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: no-type}
spec:
  triggers:
  - type: "\u0000\ufffd no such type"
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: no-secret}
spec:
  triggers:
  - type: redis
    metadata: {address: "{{.}}", listName: jobs, listLength: "5"}
    secretRef: {name: missing}
`

// testGarbage: StabilizedMetrics that cannot be followed are errors of their own, each
// says in its status what is wrong with it, and the good one beside them scales.
func testGarbage(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 20)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	r := w.Record()
	w.Await(4, 2*hpaSync+10*time.Second)
	w.manifest(garbage, w.Redis.Addr())
	for name, word := range map[string]string{"no-number": "listLength", "no-type": "no such type", "no-secret": "missing"} {
		bad := transparent()
		bad.name, bad.metric, bad.deployment = name, name, name
		if err := env.cluster.CreateDeployment(t.Context(), w.Namespace, name, 2); err != nil {
			t.Fatal(err)
		}
		w.scale(bad)
		w.awaitHPA(name, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", word)
		w.until(statusLimit, func() string {
			for _, c := range w.status(name).Conditions {
				if c.Type == "ScalingActive" && c.Status == metav1.ConditionFalse {
					return ""
				}
			}
			return "the status of " + name + " does not say that it cannot be followed:\n" + conditions(w.status(name))
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := env.cluster.WaitReplicas(ctx, w.Namespace, name, 2); err != nil {
			t.Errorf("not held: %v", err)
		}
		cancel()
	}
	w.Queue(jobs, 40)
	w.Await(8, 2*hpaSync+5*time.Second)
	w.Expect(r, 1, 4, 8)
}
