package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// madeBy has an HPA controlled by a ScaledObject.
func madeBy(h *autoscalingv2.HorizontalPodAutoscaler, scaledObject string) *autoscalingv2.HorizontalPodAutoscaler {
	yes := true
	h.OwnerReferences = []metav1.OwnerReference{
		{Kind: "Application", Name: "shop"},
		{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: scaledObject, Controller: &yes},
	}
	return h
}

// Whoever scales the workload is named, through both doors, whatever its metrics.
func TestOwnersOfATarget(t *testing.T) {
	worker := func(name string) *autoscalingv2.HorizontalPodAutoscaler {
		return anHPA(t, name, hpaSpec(transparent, "jobs: "+five), "{}")
	}
	resourceOnly := func(name string) *autoscalingv2.HorizontalPodAutoscaler { return anHPA(t, name, hpaSpec(""), "{}") }
	changed := func(old, replacement string) *autoscalingv2.HorizontalPodAutoscaler {
		return anHPA(t, "other", strings.Replace(hpaSpec(""), old, replacement, 1), "{}")
	}
	leaving := resourceOnly("old")
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/slow"}
	elsewhere := resourceOnly("other")
	elsewhere.Namespace = "elsewhere"
	crowd := []*autoscalingv2.HorizontalPodAutoscaler{worker("hpa-0999")}
	for i := range 999 {
		crowd = append(crowd, resourceOnly(fmt.Sprintf("hpa-%04d", i)))
	}
	for _, test := range []struct {
		name string
		hpas []*autoscalingv2.HorizontalPodAutoscaler
		want string
	}{
		{"one", []*autoscalingv2.HorizontalPodAutoscaler{worker("native")}, ""},
		{"two on one metric", []*autoscalingv2.HorizontalPodAutoscaler{worker("b"), worker("a")}, "a and b"},
		{"one that has Resource metrics only", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), resourceOnly("cpu")}, "cpu and native"},
		{"three of KEDA's", []*autoscalingv2.HorizontalPodAutoscaler{
			worker("native"), madeBy(resourceOnly("keda-hpa-b"), "b"), madeBy(resourceOnly("keda-hpa-a"), "a"), madeBy(resourceOnly("mine"), "c"),
		}, "keda-hpa-a (ScaledObject a), keda-hpa-b (ScaledObject b), mine (ScaledObject c) and native"},
		{"one that is being deleted", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), leaving}, "native and old"},
		{"another name", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), changed("name: worker", "name: mailer")}, ""},
		{"another kind", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), changed("Deployment", "StatefulSet")}, ""},
		{"another group", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), changed("apps/v1", "example.com/v1")}, ""},
		{"another version", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), changed("apps/v1", "apps/v1beta1")}, "native and other"},
		{"a version that is none", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), changed("apps/v1", "a/b/c")}, ""},
		{"another namespace", []*autoscalingv2.HorizontalPodAutoscaler{worker("native"), elsewhere}, ""},
		{"a thousand", crowd, "hpa-0000, hpa-0001, hpa-0002, hpa-0003, hpa-0004 and 995 more"},
	} {
		three := int32(3)
		// The first is KEDA's own of the ScaledObject.
		named := plainSpec + fmt.Sprintf("\nadvanced: {horizontalPodAutoscalerConfig: {name: %s}}\n", test.hpas[0].Name)
		objects := []runtime.Object{deployment(&three, 3), object(t, "ScaledObject", named)}
		for _, h := range test.hpas {
			objects = append(objects, h)
		}
		for door, options := range map[scaling.Ref]Options{jobs: {Native: true}, {Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"}: {}} {
			t.Run(test.name+", "+door.Kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got, _, err := observe(t, startWith(t, newFakes(objects...), options), door)
					if err != nil || got.HPA.Owners.String() != test.want || (got.HPA.Owners.Names == nil) != (test.want == "") {
						t.Errorf("got %+v, %v; want %q", got.HPA.Owners, err, test.want)
					}
				})
			})
		}
	}
}

// What comes and goes is seen, and so is what turns to another target.
func TestOwnersComeAndGo(t *testing.T) {
	three := int32(3)
	first, second := anHPA(t, "first", hpaSpec("", "jobs: "+five), "{}"), anHPA(t, "second", hpaSpec(""), "{}")
	turned := second.DeepCopy()
	turned.Spec.ScaleTargetRef.Name = "mailer"
	synctest.Test(t, func(t *testing.T) {
		f, o := native(t, deployment(&three, 3), first)
		hpas := f.kube.AutoscalingV2().HorizontalPodAutoscalers("shop")
		want := func(after, want string) {
			t.Helper()
			synctest.Wait()
			got, _, err := observe(t, o, jobs)
			if err != nil || got.HPA.Owners.String() != want {
				t.Errorf("%s: %q, %v; want %q", after, got.HPA.Owners, err, want)
			}
		}
		want("at first", "")
		if _, err := hpas.Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		want("a second comes", "first and second")
		if _, err := hpas.Update(t.Context(), turned, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		want("it turns away", "")
		if _, err := hpas.Update(t.Context(), second, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		want("it turns back", "first and second")
		if err := hpas.Delete(t.Context(), "second", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want("it goes", "")
	})
}

// What is remembered of a crowd is forgotten as soon as one of its names may be wrong.
func TestACrowdIsForgotten(t *testing.T) {
	one := &hpa{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}, target: target{name: "worker"}}
	adopted, turned := *one, *one
	adopted.maker, turned.target.name = "ScaledObject a", "mailer"
	same := *one
	for name, test := range map[string]struct {
		happens func(cache.ResourceEventHandler)
		known   bool
	}{
		"one comes":                {func(h cache.ResourceEventHandler) { h.OnAdd(one, false) }, false},
		"its status changes":       {func(h cache.ResourceEventHandler) { h.OnUpdate(one, &same) }, true},
		"it has a maker now":       {func(h cache.ResourceEventHandler) { h.OnUpdate(one, &adopted) }, false},
		"it turns":                 {func(h cache.ResourceEventHandler) { h.OnUpdate(one, &turned) }, false},
		"it goes":                  {func(h cache.ResourceEventHandler) { h.OnDelete(one) }, false},
		"it went, and nobody told": {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a"}) }, false},
	} {
		var c crowds
		c.put("worker", scaling.Owners{Names: []string{"a", "b"}}, 0)
		test.happens(c.arrivals(func(any) {}))
		if _, known, _ := c.get("worker"); known != test.known {
			t.Errorf("%s: remembered %v, want %v", name, known, test.known)
		}
		c.put("mailer", scaling.Owners{Names: []string{"a", "b"}}, 0)
		if _, known, _ := c.get("mailer"); known != test.known {
			t.Errorf("%s: what was found before is put down %v, want %v", name, known, test.known)
		}
	}
}

// shared is a decision on a workload that others scale too.
func shared(d scaling.Decision, names ...string) scaling.Decision {
	d.Key.Target, d.HPA.Owners.Names = "apps/Deployment/worker", names
	return d
}

// Both doors tell of owners once, and again when there is one left.
func TestEventsOfSharedTargets(t *testing.T) {
	const told = "Warning SharedTarget x1: metric jobs: apps/Deployment/worker is scaled by HPAs a and b: while it has pods, the HPA controller lets none of them scale. Leave one"
	keda := decision(nil, nil)
	keda.Decider = -1
	for name, well := range map[string]scaling.Decision{"native": counted(3, 12), "KEDA's": keda} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _, events := reporters(t, 1)
				for _, step := range []struct {
					d    scaling.Decision
					want []string
				}{
					{well, nil},
					{shared(well, "a", "b"), []string{told}},
					{shared(well, "a", "b", "c"), []string{told}},
					{well, []string{saidResumed, told}},
				} {
					tell(events[0], step.d)
					wantTold(t, f, step.want...)
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// The longest names that there may be fit into an Event.
func TestOwnersFitIntoAnEvent(t *testing.T) {
	long := hpa{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", 253)}, maker: strings.Repeat("K", 63) + " " + strings.Repeat("m", 253)}
	d := shared(counted(3, 12), slices.Repeat([]string{long.inWords()}, maxOwners)...)
	d.Key.Target, d.HPA.Owners.More = strings.Repeat("t", 253+63+253), 1_000_000
	n, ok := noticeOf(&d)
	if _, _, message := n.event(strings.Repeat("m", 253)); !ok || !strings.HasSuffix(message, " and 1000000 more: while it has pods, the HPA controller lets none of them scale. Leave one") {
		t.Errorf("%d bytes: %s", len(message), message)
	}
}

// A ScaledObject whose HPA KEDA has yet to make is in nobody's way, and is told of the
// others once it is one of them.
func TestOwnersBeforeOnesOwnHPA(t *testing.T) {
	three := int32(3)
	others := []runtime.Object{anHPA(t, "a", hpaSpec(""), "{}"), anHPA(t, "b", hpaSpec(""), "{}")}
	synctest.Test(t, func(t *testing.T) {
		o := startWith(t, newFakes(append(others, deployment(&three, 3), object(t, "ScaledObject", plainSpec))...), Options{})
		got, _, err := observe(t, o, scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"})
		if err != nil || got.HPA.Owners.Names != nil {
			t.Errorf("got %+v, %v; want none", got.HPA.Owners, err)
		}
	})
}
