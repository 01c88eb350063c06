package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// jobs is a metric that HPAs ask for themselves.
var jobs = scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: "jobs"}

const five = "{type: AverageValue, averageValue: 5}"

// anHPA is one in the namespace shop.
func anHPA(tb testing.TB, name, spec, status string) *autoscalingv2.HorizontalPodAutoscaler {
	tb.Helper()
	h := kedaHPA(tb, spec, status)
	h.Name = name
	return h
}

// hpaStatus has the given conditions, each Type=Status/Reason.
func hpaStatus(conditions ...string) string {
	var status strings.Builder
	status.WriteString("currentReplicas: 0\ndesiredReplicas: 0\nconditions:\n")
	for _, c := range conditions {
		name, rest, _ := strings.Cut(c, "=")
		value, reason, _ := strings.Cut(rest, "/")
		fmt.Fprintf(&status, "- {type: %s, status: %q, reason: %s, message: m, lastTransitionTime: null}\n", name, value, reason)
	}
	return status.String()
}

func native(t *testing.T, objects ...runtime.Object) (fakes, *Observer) {
	t.Helper()
	f := newFakes(objects...)
	return f, startWith(t, f, Options{Native: true})
}

func TestNativeHPABecomesAnObservation(t *testing.T) {
	three := int32(3)
	defaults := scaling.Observation{
		Native: true, Target: "apps/Deployment/worker", Spec: 3, Status: 2,
		Bounds: algorithm.Bounds{Min: 1, Max: 100},
		HPA:    scaling.HPA{Name: "worker", Target: 5000},
	}
	asleep := hpaStatus("AbleToScale=True/SucceededGetScale", "ScalingActive=True/ValidMetricFound", "ScaledToZero=True/ScaledToZero")
	foreign := hpaStatus("AbleToScale=True/SucceededGetScale", "ScalingActive=False/ScalingDisabled", "ScaledToZero=False/NotScaledToZero")
	failing := hpaStatus("ScalingActive=False/FailedGetExternalMetric")
	percent := " {scaleUp: {tolerance: 0, policies: [{type: Percent, value: 100, periodSeconds: 15}]}, scaleDown: {tolerance: 0, stabilizationWindowSeconds: 0}}"
	plain := hpaSpec(transparent, "jobs: "+five)
	zero := plain + "\nminReplicas: 0\n"
	tests := []struct {
		name, spec, status string
		want               func(*scaling.Observation)
	}{
		{"transparent", plain, "{}", func(*scaling.Observation) {}},
		{"minReplicas 0", zero, "{}", func(o *scaling.Observation) { o.ToZero = true }},
		{"minReplicas 2", plain + "\nminReplicas: 2\n", "{}", func(o *scaling.Observation) { o.Bounds.Min = 2 }},
		{"a fraction", hpaSpec(transparent, "jobs: {type: AverageValue, averageValue: 500m}"), "{}", func(o *scaling.Observation) { o.HPA.Target = 500 }},
		{"among other metrics", hpaSpec(transparent, "mails: {type: Value, value: 7}", "jobs: "+five, "s0-jobs: {type: Value, value: 7}"), "{}", func(*scaling.Observation) {}},
		{"of type Value", hpaSpec(transparent, "jobs: {type: Value, value: 5}"), "{}", func(o *scaling.Observation) {
			o.ValueType, o.HPA.Target = true, 0
		}},
		{"the controller does not look at the type", hpaSpec(transparent, "jobs: {type: Value, averageValue: 5}"), "{}", func(*scaling.Observation) {}},
		{"named twice, and the same", hpaSpec(transparent, "jobs: "+five, "jobs: {type: AverageValue, averageValue: 5000m}"), "{}", func(*scaling.Observation) {}},
		{"asleep by its own doing", zero, asleep, func(o *scaling.Observation) { o.ToZero, o.HPA.ScaledToZero = true, true }},
		{"disabled by somebody else's zero", zero, foreign, func(o *scaling.Observation) { o.ToZero, o.HPA.Disabled = true, true }},
		{"failing is not disabled", zero, failing, func(o *scaling.Observation) { o.ToZero = true }},
		{"a behavior that never wakes", hpaSpec(percent, "jobs: "+five) + "\nminReplicas: 0\n", "{}", func(o *scaling.Observation) {
			o.ToZero = true
			o.HPA.CannotWake = sleepless(parse[autoscalingv2.HPAScalingRules](t, "{policies: [{type: Percent, value: 100, periodSeconds: 15}]}"))
			o.HPA.Opaque = []string{"spec.behavior.scaleUp.policies is Percent 100 per 15 s, want one that allows any jump: Pods 100000 per 1 s"}
		}},
		{"and need not", hpaSpec(percent, "jobs: "+five), "{}", func(o *scaling.Observation) {
			o.HPA.Opaque = []string{"spec.behavior.scaleUp.policies is Percent 100 per 15 s, want one that allows any jump: Pods 100000 per 1 s"}
		}},
		{"no behavior", hpaSpec("", "jobs: "+five), "{}", func(o *scaling.Observation) {
			o.HPA.Tolerance = algorithm.Tolerance{Down: 0.1, Up: 0.1}
			o.HPA.Opaque = []string{noBehavior}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := defaults
			test.want(&want)
			h := anHPA(t, "worker", test.spec, test.status)
			synctest.Test(t, func(t *testing.T) {
				_, o := native(t, h, deployment(&three, 2))
				got, took, err := observe(t, o, jobs)
				if err != nil || took != 0 || !equal(got, want) {
					t.Errorf("got  %+v, %v after %s\nwant %+v at once", got, err, took, want)
				}
			})
		})
	}
}

// Several HPAs on one metric are well as long as one value serves them all.
func TestSeveralNativeHPAs(t *testing.T) {
	three := int32(3)
	elsewhere := strings.Replace(hpaSpec(transparent, "jobs: "+five), "name: worker", "name: mailer", 1)
	tests := []struct {
		name string
		hpas map[string]string
		want string // empty: they agree
	}{
		{"they agree", map[string]string{"b": hpaSpec(transparent, "jobs: "+five), "a": hpaSpec(transparent, "mails: "+five, "jobs: {type: AverageValue, averageValue: 5000m}")}, ""},
		{"a tolerance that is the default is one that is not set", map[string]string{"a": hpaSpec(" {scaleUp: {tolerance: 100m}}", "jobs: "+five), "b": hpaSpec("", "jobs: "+five)}, ""},
		{"two targets", map[string]string{"b": hpaSpec(transparent, "jobs: {type: AverageValue, averageValue: 500m}"), "a": hpaSpec(transparent, "jobs: "+five)},
			"ambiguous target: External metric jobs in shop is asked for with different averageValue (a: 5; b: 0.5); let each HorizontalPodAutoscaler have a StabilizedMetric of its own"},
		{"two targets in one", map[string]string{"a": hpaSpec(transparent, "jobs: "+five, "jobs: {type: Value, value: 5}")},
			"ambiguous target: External metric jobs in shop is asked for with different averageValue (a: 5; a: none, but a value); let each HorizontalPodAutoscaler have a StabilizedMetric of its own"},
		{"two workloads", map[string]string{"a": hpaSpec(transparent, "jobs: "+five), "b": elsewhere},
			"ambiguous target: External metric jobs in shop is asked for with different scaleTargetRef (a: apps/Deployment/worker; b: apps/Deployment/mailer); let each HorizontalPodAutoscaler have a StabilizedMetric of its own"},
		{"two bounds", map[string]string{"a": hpaSpec(transparent, "jobs: "+five), "b": strings.Replace(hpaSpec(transparent, "jobs: "+five), "maxReplicas: 100", "maxReplicas: 9", 1)},
			"ambiguous target: External metric jobs in shop is asked for with different bounds (a: 1 to 100; b: 1 to 9); let each HorizontalPodAutoscaler have a StabilizedMetric of its own"},
		{"everything", map[string]string{"a": elsewhere, "b": hpaSpec("", "jobs: {type: AverageValue, averageValue: 7}")},
			"ambiguous target: External metric jobs in shop is asked for with different scaleTargetRef (a: apps/Deployment/mailer; b: apps/Deployment/worker), averageValue (a: 5; b: 7), tolerance (a: 0 down, 0 up; b: 0.1 down, 0.1 up); let each HorizontalPodAutoscaler have a StabilizedMetric of its own"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects := []runtime.Object{deployment(&three, 3)}
			for name, spec := range test.hpas {
				objects = append(objects, anHPA(t, name, spec, "{}"))
			}
			synctest.Test(t, func(t *testing.T) {
				_, o := native(t, objects...)
				got, took, err := observe(t, o, jobs)
				if test.want == "" {
					if err != nil || got.HPA.Name != "a" || got.HPA.Target != 5000 {
						t.Errorf("got %+v, %v; want the HPA a", got.HPA, err)
					}
					return
				}
				if !errors.Is(err, scaling.ErrAmbiguousTarget) || err.Error() != test.want || took != 0 || !equal(got, scaling.Observation{Native: true}) {
					t.Errorf("got %+v after %s and\n  %v\nwant\n  %s", got, took, err, test.want)
				}
			})
		})
	}
}

func TestNobodyAsks(t *testing.T) {
	three := int32(3)
	leaving := anHPA(t, "worker", hpaSpec(transparent, "jobs: "+five), "{}")
	now := metav1.Now()
	leaving.DeletionTimestamp, leaving.Finalizers = &now, []string{"example.com/wait"}
	elsewhere := anHPA(t, "worker", hpaSpec(transparent, "jobs: "+five), "{}")
	elsewhere.Namespace = "mail"
	const nobody = "no HorizontalPodAutoscaler in shop has an External metric named jobs"
	tests := []struct {
		name    string
		objects []runtime.Object
		target  string
		words   string
	}{
		{"no HPA", nil, "", nobody},
		{"one of another metric", []runtime.Object{anHPA(t, "worker", hpaSpec(transparent, "job: "+five, "jobs2: "+five), "{}")}, "", nobody},
		{"names are exact", []runtime.Object{anHPA(t, "worker", hpaSpec(transparent, "Jobs: "+five, "s0-jobs: "+five), "{}")}, "", nobody},
		{"one in another namespace", []runtime.Object{elsewhere}, "", nobody},
		{"one that is being deleted", []runtime.Object{leaving}, "", nobody},
		{"no workload", []runtime.Object{anHPA(t, "worker", hpaSpec(transparent, "jobs: "+five), "{}")}, "apps/Deployment/worker", "Deployment shop/worker"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects := test.objects
			if test.target == "" {
				objects = append(objects, deployment(&three, 3))
			}
			synctest.Test(t, func(t *testing.T) {
				_, o := native(t, objects...)
				got, took, err := observe(t, o, jobs)
				wantUnobserved(t, err, test.words)
				if took != 500*time.Millisecond || !equal(got, scaling.Observation{Native: true, Target: test.target}) {
					t.Errorf("got %+v after %s, want only the target %q after 500ms", got, took, test.target)
				}
			})
		})
	}
}

// A scale target of a kind that is not watched is as its HPA's status has it.
func TestNativeHPAOfAnotherKind(t *testing.T) {
	rollout := strings.Replace(hpaSpec(transparent, "jobs: "+five), "apiVersion: apps/v1, kind: Deployment", "apiVersion: argoproj.io/v1alpha1, kind: Rollout", 1)
	broken := strings.Replace(rollout, "argoproj.io/v1alpha1", "a/b/c", 1)
	able := "{currentReplicas: 6, desiredReplicas: 6, conditions: [{type: AbleToScale, status: \"True\", reason: r, message: m, lastTransitionTime: null}]}"
	synctest.Test(t, func(t *testing.T) {
		_, o := native(t, anHPA(t, "worker", rollout, able))
		got, _, err := observe(t, o, jobs)
		if err != nil || got.Target != "argoproj.io/Rollout/worker" || got.Spec != 6 || got.Status != 6 {
			t.Errorf("got %+v, %v; want 6 of a Rollout", got, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, o := native(t, anHPA(t, "worker", rollout, "{}"))
		_, _, err := observe(t, o, jobs)
		wantUnobserved(t, err, "replicas of argoproj.io/Rollout/worker", "HorizontalPodAutoscaler shop/worker has not read them yet")
	})
	synctest.Test(t, func(t *testing.T) {
		_, o := native(t, anHPA(t, "worker", broken, able))
		_, took, err := observe(t, o, jobs)
		if err == nil || errors.Is(err, scaling.ErrUnobserved) || took != 0 || !strings.Contains(err.Error(), `scaleTargetRef.apiVersion "a/b/c"`) {
			t.Errorf("a broken apiVersion: %v after %s", err, took)
		}
	})
}

// Nothing of KEDA is asked for, and of workloads what is scaled by an External metric.
func TestNativeWatchesWhatItNeeds(t *testing.T) {
	cpu := anHPA(t, "web", strings.Replace(hpaSpec(transparent), "kind: Deployment", "kind: StatefulSet", 1), "{}")
	three := int32(3)
	synctest.Test(t, func(t *testing.T) {
		f, o := native(t, cpu, deployment(&three, 3))
		listed := func(resource string) bool {
			for _, action := range f.kube.Actions() {
				if action.GetResource().Resource == resource {
					return true
				}
			}
			return false
		}
		if n := len(f.keda.Actions()); n != 0 {
			t.Errorf("%d requests for custom objects, want none: %v", n, f.keda.Actions())
		}
		if err := o.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if listed("deployments") || listed("statefulsets") {
			t.Error("workloads are watched that no External metric scales")
		}
		h := anHPA(t, "worker", hpaSpec(transparent, "jobs: "+five), "{}")
		if _, err := f.kube.AutoscalingV2().HorizontalPodAutoscalers("shop").Create(t.Context(), h, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, took, err := observe(t, o, jobs); err != nil || got.Spec != 3 || took != 0 {
			t.Errorf("a new HPA: got %d, %v after %s", got.Spec, err, took)
		}
		if !listed("deployments") || listed("statefulsets") {
			t.Errorf("deployments are watched: %t, statefulsets: %t; want the first only", listed("deployments"), listed("statefulsets"))
		}
		if kept, ok := find[nativeHPA](o.hpas, "shop", "web"); !ok || kept.opaque != nil || kept.metrics != nil {
			t.Errorf("of an HPA without External metrics is kept: %+v", kept)
		}
	})
}

// The index follows an HPA that changes its mind, and one that goes.
func TestNativeHPAChanges(t *testing.T) {
	three := int32(3)
	synctest.Test(t, func(t *testing.T) {
		f, o := native(t, anHPA(t, "worker", hpaSpec(transparent, "jobs: "+five), "{}"), deployment(&three, 3))
		hpas := f.kube.AutoscalingV2().HorizontalPodAutoscalers("shop")
		if _, err := hpas.Update(t.Context(), anHPA(t, "worker", hpaSpec(transparent, "mails: "+five), "{}"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, _, err := observe(t, o, jobs)
		wantUnobserved(t, err, "named jobs")
		if got, err := o.Observe(t.Context(), scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: "mails"}, "mails"); err != nil || got.HPA.Name != "worker" {
			t.Errorf("the new metric: %+v, %v", got.HPA, err)
		}
		if err := hpas.Delete(t.Context(), "worker", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = o.Observe(t.Context(), scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: "mails"}, "mails")
		wantUnobserved(t, err, "named mails")
	})
}

func TestEachDoorRefusesTheOthersKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, o := native(t)
		if _, took, err := observe(t, o, worker); err == nil || errors.Is(err, scaling.ErrUnobserved) || took != 0 || !strings.Contains(err.Error(), "want StabilizedMetric") {
			t.Errorf("a ScaledObject at the native door: %v after %s", err, took)
		}
		if about := o.Reference(worker); about.Name != "worker" || about.UID != "" {
			t.Errorf("an Event would be about %+v", about)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t)
		if _, took, err := observe(t, o, jobs); err == nil || errors.Is(err, scaling.ErrUnobserved) || took != 0 || !strings.Contains(err.Error(), "want ScaledObject") {
			t.Errorf("a StabilizedMetric at KEDA's door: %v after %s", err, took)
		}
	})
}

func TestNativeHPAsAreNotListedYet(t *testing.T) {
	o, err := New(newFakes().clients(), Options{Native: true, Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Ready(); err == nil || !strings.Contains(err.Error(), "HorizontalPodAutoscalers are not listed yet") {
		t.Errorf("Ready before Run: %v", err)
	}
	_, _, err = observe(t, o, jobs)
	wantUnobserved(t, err, "HorizontalPodAutoscalers are not listed yet")
}
