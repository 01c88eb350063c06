//go:build e2e

package native_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// seed makes testLanding repeat a run.
var seed = flag.Uint64("seed", 0, "seed of the random HPAs; 0 takes one from the clock")

const (
	landings    = 200
	largest     = 40 // of the counts before and after
	landingTime = 2 * time.Minute
)

// landing is one workload of P replicas and a decision that wants another number of
// them, behind an HPA of random target and tolerances.
type landing struct {
	name           string
	kind           string
	before, wanted int32
	target         string
	up, down       string // tolerances; empty for the cluster's, 0.1
	// opaque is an HPA behavior that changes what was decided; empty for one that, but
	// for the tolerances, does not.
	opaque string
}

func (l landing) String() string {
	return fmt.Sprintf("%s %s: P %d, wanted %d, target %s, tolerance up %q down %q, opaque %q", l.kind, l.name, l.before, l.wanted, l.target, l.up, l.down, l.opaque)
}

// randomLanding prefers steps near a tolerance's edge, where an HPA may not follow.
func randomLanding(r *rand.Rand, i int) landing {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	tolerances := []string{"", "0", "0.01", "0.05", "0.1", "0.25", "0.5"}
	l := landing{
		name: fmt.Sprintf("landing-%d", i), kind: pick("Deployment", "ReplicaSet", "StatefulSet"),
		before: 1 + r.Int32N(largest), wanted: r.Int32N(largest + 1),
		target: pick("1", "2", "500m", "333m", "7", "12500m", fmt.Sprintf("%dm", 1+r.IntN(20_000))),
		up:     pick(tolerances...), down: pick(tolerances...),
	}
	if r.IntN(2) == 0 {
		near := max(1, l.before/5)
		l.wanted = l.before - near + r.Int32N(2*near+1)
	}
	if r.IntN(10) == 0 {
		l.opaque = pick(
			"scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1800}]}",
			"scaleUp: {stabilizationWindowSeconds: 1800}",
			"scaleDown: {stabilizationWindowSeconds: 1800}",
			"scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 1800}]}",
		)
	}
	return l
}

// testLanding: whatever the count, the target and the tolerances, the HPA controller
// lands on what was decided, or the decision says why not: SwallowedByTolerance, or
// HPANotTransparent of an HPA with windows or policies of its own.
func testLanding(t *testing.T) {
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -seed %d", number)
	w := newWorkload(t, 1)
	r := rand.New(rand.NewPCG(number, 0))
	list := make([]landing, landings)
	for i := range list {
		list[i] = randomLanding(r, i)
		w.createTarget(list[i])
		w.Queue(list[i].name, int(list[i].wanted))
	}
	for _, l := range list {
		w.until(landingTime, func() string {
			if spec, status := w.targetReplicas(l); status != l.before {
				return fmt.Sprintf("%s has %d replicas of %d", l.name, status, spec)
			}
			return ""
		})
	}
	for _, l := range list {
		w.applyLanding(l)
	}
	first := w.awaitVerdicts(list)
	time.Sleep(hpaSync + time.Second)
	again, count := w.awaitVerdicts(list), map[verdict]int{}
	for _, l := range list {
		if again[l.name] != first[l.name] {
			t.Errorf("%s: %s, and a sync later %s", l, first[l.name], again[l.name])
		}
		count[again[l.name]]++
	}
	t.Logf("of %d: %d landed where decided, %d decisions had said SwallowedByTolerance, %d HPANotTransparent",
		landings, count[landed], count[swallowed], count[opaque])
	if count[landed] < landings/2 || count[swallowed] == 0 || count[opaque] == 0 {
		t.Errorf("the random HPAs are not what they are meant to be: %v", count)
	}
}

// verdict is how a landing ended.
type verdict string

const (
	pending   verdict = "not landed, without a reason"
	landed    verdict = "landed"
	swallowed verdict = "SwallowedByTolerance"
	opaque    verdict = "HPANotTransparent"
)

// awaitVerdicts waits until every landing has ended in some way. A decision for another
// count is only a reason to wait: on a busy machine the store may be too slow for one,
// and nothing shrinks by that.
func (w *workload) awaitVerdicts(list []landing) map[string]verdict {
	w.T.Helper()
	found := map[string]verdict{}
	w.until(landingTime, func() string {
		var open strings.Builder
		decisions := w.landingDecisions()
		for _, l := range list {
			if found[l.name] != "" {
				continue
			}
			v, why := w.judge(l, decisions[l.name])
			if v != pending {
				found[l.name] = v
				continue
			}
			fmt.Fprintf(&open, "%s: %s\n", l, why)
		}
		return open.String()
	})
	return found
}

// judge compares where an HPA is with what was decided. Only what the HPA has acted
// on counts: it has asked since.
func (w *workload) judge(l landing, d scaling.Explanation) (v verdict, why string) {
	spec, status := w.targetReplicas(l)
	switch {
	case d.Policy.Name == "" || d.Error != "" || d.Replicas != l.wanted && d.Replicas != max(1, l.wanted):
		return pending, fmt.Sprintf("decided %d for %d of %d replicas: %s", d.Replicas, spec, status, d.Why)
	case spec == l.wanted && status == spec:
		return landed, ""
	case l.opaque != "" && has(d, "HPANotTransparent"):
		return opaque, ""
	case spec == status && d.Current == spec && has(d, "SwallowedByTolerance"):
		return swallowed, ""
	}
	return pending, fmt.Sprintf("%d of %d replicas, decided %d, value %g", status, spec, d.Replicas, d.Value)
}

func has(d scaling.Explanation, kind string) bool {
	return slices.ContainsFunc(d.Conditions, func(c scaling.Condition) bool { return c.Type == kind && c.Status })
}

// landingDecisions are the newest decisions of the workload's metrics.
func (w *workload) landingDecisions() map[string]scaling.Explanation {
	w.T.Helper()
	newest := map[string]scaling.Explanation{}
	for i := range env.adapters.Count() {
		for _, d := range decisionsOf(w.T, i, "") {
			if d.Policy.Namespace == w.Namespace && d.At.After(newest[d.Policy.Name].At) {
				newest[d.Policy.Name] = d
			}
		}
	}
	return newest
}

// createTarget creates the scale target. Its pods are never bound to a node: the HPA
// counts them all the same.
func (w *workload) createTarget(l landing) {
	w.T.Helper()
	labels := map[string]string{"app": l.name}
	object := metav1.ObjectMeta{Name: l.name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "worker"}}},
	}
	apps, ctx, options := env.cluster.Client.AppsV1(), w.T.Context(), metav1.CreateOptions{}
	var err error
	switch l.kind {
	case "ReplicaSet":
		_, err = apps.ReplicaSets(w.Namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: object, Spec: appsv1.ReplicaSetSpec{Replicas: &l.before, Selector: selector, Template: template},
		}, options)
	case "StatefulSet":
		_, err = apps.StatefulSets(w.Namespace).Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: object, Spec: appsv1.StatefulSetSpec{
				Replicas: &l.before, Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement,
			},
		}, options)
	default:
		_, err = apps.Deployments(w.Namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: object, Spec: appsv1.DeploymentSpec{Replicas: &l.before, Selector: selector, Template: template},
		}, options)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// targetReplicas is what the scale target has: spec.replicas and status.replicas.
func (w *workload) targetReplicas(l landing) (spec, status int32) {
	w.T.Helper()
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(l.kind) + "s"}
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	scale, err := env.cluster.Dynamic.Resource(resource).Namespace(w.Namespace).Get(ctx, l.name, metav1.GetOptions{}, "scale")
	if err != nil {
		w.T.Fatal(err)
	}
	return int32(nested(scale.Object, "spec", "replicas")), int32(nested(scale.Object, "status", "replicas"))
}

// nested is a number in an object, 0 if it is not there, as the API server leaves out
// zeros.
func nested(object map[string]any, section, field string) int64 {
	inner, _ := object[section].(map[string]any)
	number, _ := inner[field].(int64)
	return number
}

// applyLanding applies the StabilizedMetric and the HPA of a landing.
func (w *workload) applyLanding(l landing) {
	w.T.Helper()
	w.manifest(landingManifest, map[string]any{
		"Name": l.name, "Kind": l.kind, "Address": w.Redis.Addr(), "Target": l.target,
		"Up": rules(l.up, l.opaque, "scaleUp"), "Down": rules(l.down, l.opaque, "scaleDown"),
	})
}

// rules are those of one direction: the opaque ones if they are of it.
func rules(tolerance, opaque, direction string) string {
	words := "stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 100000, periodSeconds: 1}]"
	if own, ok := strings.CutPrefix(opaque, direction+": {"); ok {
		words = strings.TrimSuffix(own, "}")
	}
	if tolerance != "" {
		words += fmt.Sprintf(", tolerance: %q", tolerance)
	}
	return direction + ": {" + words + "}"
}

const landingManifest = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: {{.Name}}}
spec:
  interval: 1
  cooldownPeriod: 0
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: {{.Name}}, listLength: "1"}
  behavior:
    ` + jumpUp + `
    ` + jumpDown + `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: {{.Kind}}, name: {{.Name}}}
  minReplicas: 0
  maxReplicas: 100
  metrics:
  - type: External
    external:
      metric: {name: {{.Name}}}
      target: {type: AverageValue, averageValue: "{{.Target}}"}
  behavior:
    {{.Up}}
    {{.Down}}
`
