//go:build e2e

package native_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/internal/prometest"
	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
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
	w.Await(8, time.Minute)
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
	w.Await(8, time.Minute)
	w.Expect(r, 3, 8)
}

// closed is an address that nobody listens at.
const closed = "127.0.0.1:1"

// garbage is a StabilizedMetric that the API server takes and that comes to nothing.
type garbage struct {
	name string
	spec map[string]any
	// condition says why: a false Ready where no policy can be made of it, a false
	// ScalingActive where the policy gives no number, and a true ScalingLimited where the
	// number may not move.
	condition, why string
}

func garbageOf(redis, prometheus string) []garbage {
	list := func(key, value string) map[string]any {
		return trigger("redis", map[string]string{"address": redis, "listName": jobs, "listLength": "5", key: value})
	}
	query := func(address, text string) map[string]any {
		return trigger("prometheus", map[string]string{"serverAddress": address, "query": text, "threshold": "5"})
	}
	secret := list("listName", jobs)
	secret["secretRef"] = map[string]any{"name": "missing"}
	var sixteen []any
	for i := range 16 {
		sixteen = append(sixteen, trigger("redis", map[string]string{"address": closed, "listName": fmt.Sprint(i), "listLength": "5"}))
	}
	anyOrNone := map[string]any{"selectPolicy": "Disabled", "policies": []any{
		map[string]any{"type": "Percent", "value": 1, "periodSeconds": 1800}, map[string]any{"type": "Pods", "value": 1_000_000, "periodSeconds": 1},
	}}
	contradiction := triggers(list("listName", jobs))
	contradiction["behavior"] = map[string]any{"scaleUp": anyOrNone, "scaleDown": anyOrNone}
	return []garbage{
		{"no-number", triggers(list("listLength", "many")), "Ready", `listLength "many"`},
		{"absurd-number", triggers(list("listLength", "1e999")), "Ready", `listLength "1e999"`},
		{"fullwidth-number", triggers(list("listLength", "\u202e５\U0001f680")), "Ready", "listLength "},
		{"no-type", triggers(trigger("\x00\ufffd no such type", map[string]string{})), "Ready", "no such type"},
		{"nul-in-key", triggers(trigger("redis", map[string]string{"address": redis, "list\x00Name": "\x00", "listLength": "5"})), "Ready", "listName"},
		{"no-secret", triggers(secret), "Ready", "there is no Secret"},
		{"long-query", triggers(query(prometheus, "sum("+strings.Repeat("x", 100<<10)+")")), "Ready", "at most 65536 are allowed"},
		{"sixteen-triggers", triggers(sixteen...), "ScalingActive", "connection refused"},
		{"closed-port", triggers(query("http://"+closed, "up")), "ScalingActive", "connection refused"},
		{"template", triggers(query(prometheus, "{{ .Values.query }}")), "ScalingActive", "bad_data"},
		{"contradiction", contradiction, "ScalingLimited", "policies and bounds give 2 replicas"},
	}
}

func trigger(kind string, metadata map[string]string) map[string]any {
	return map[string]any{"type": kind, "metadata": metadata}
}

func triggers(list ...any) map[string]any { return map[string]any{"triggers": list} }

// testGarbage: StabilizedMetrics that cannot be followed are errors of their own, each
// says in its status what is wrong with it, and the good one beside them scales.
func testGarbage(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 20)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	r := w.Record()
	w.Await(4, time.Minute)
	all := garbageOf(w.Redis.Addr(), prometest.Start(t).URL())
	for _, g := range all {
		w.applyGarbage(g)
	}
	w.Queue(jobs, 40)
	w.Await(8, time.Minute)
	for _, g := range all {
		w.checkGarbage(g)
	}
	w.Queue(jobs, 60)
	w.Await(12, time.Minute)
	w.Steady(r, 2*hpaSync, 1, 4, 8, 12)
	for _, g := range all {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := env.cluster.WaitReplicas(ctx, w.Namespace, g.name, 2); err != nil {
			t.Errorf("not held: %v", err)
		}
		cancel()
	}
}

// applyGarbage applies it with an HPA and a Deployment of 2 replicas.
func (w *workload) applyGarbage(g garbage) {
	w.T.Helper()
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": map[string]any{"name": g.name}, "spec": g.spec,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	if err := env.cluster.Apply(w.T.Context(), w.Namespace, string(manifest)); err != nil {
		w.T.Fatalf("%s: %v", g.name, err)
	}
	if err := env.cluster.CreateDeployment(w.T.Context(), w.Namespace, g.name, 2); err != nil {
		w.T.Fatal(err)
	}
	h := transparent()
	h.name, h.metric, h.deployment = g.name, g.name, g.name
	w.scale(h)
}

// checkGarbage wants the status to say what is wrong, and the HPA too where it gets an
// error.
func (w *workload) checkGarbage(g garbage) {
	w.T.Helper()
	holds := metav1.ConditionFalse
	if g.condition == "ScalingLimited" {
		holds = metav1.ConditionTrue
	} else {
		w.awaitHPA(g.name, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", g.why)
	}
	w.until(statusLimit, func() string {
		status := w.status(g.name)
		ready, c := meta.FindStatusCondition(status.Conditions, "Ready"), meta.FindStatusCondition(status.Conditions, g.condition)
		if ready != nil && (ready.Status == metav1.ConditionFalse) == (g.condition == "Ready") &&
			c != nil && c.Status == holds && strings.Contains(c.Message, g.why) {
			return ""
		}
		return fmt.Sprintf("the status of %s has no %s=%s with %q:\n%s", g.name, g.condition, holds, g.why, conditions(status))
	})
}
