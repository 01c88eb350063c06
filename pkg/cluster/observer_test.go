package cluster

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

var worker = scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"}

// inCluster starts an observer over a fake cluster and lets it settle. It is to be
// called in a bubble, and ends with it.
func inCluster(t *testing.T, objects ...runtime.Object) (fakes, *Observer) {
	t.Helper()
	f := newFakes(objects...)
	return f, start(t, f)
}

func start(t *testing.T, f fakes) *Observer {
	t.Helper()
	return startWith(t, f, Options{})
}

func startWith(t *testing.T, f fakes, options Options) *Observer {
	t.Helper()
	o, err := New(f.clients(), options)
	if err != nil {
		t.Fatal(err)
	}
	running(t, o.Run)
	return o
}

// running runs something in the bubble for as long as the test, and lets it settle.
func running(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	synctest.Wait()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// observe is Observe, and how long it took.
func observe(t *testing.T, o *Observer, ref scaling.Ref) (scaling.Observation, time.Duration, error) {
	t.Helper()
	started := time.Now()
	obs, err := o.Observe(t.Context(), ref, "jobs")
	return obs, time.Since(started), err
}

func wantUnobserved(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, scaling.ErrUnobserved) {
		t.Fatalf("got %v, want ErrUnobserved", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func TestObserve(t *testing.T) {
	three := int32(3)
	objects := []runtime.Object{
		object(t, "ScaledObject", plainSpec), deployment(&three, 2),
		kedaHPA(t, hpaSpec(transparent, "s0-jobs: {type: AverageValue, averageValue: 5}"), "{}"),
	}
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t, objects...)
		if err := o.Ready(); err != nil {
			t.Fatalf("not ready: %v", err)
		}
		got, took, err := observe(t, o, worker)
		want := scaling.Observation{
			UID:    "uid-of-worker",
			Target: "apps/Deployment/worker", Spec: 3, Status: 2,
			Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true, Cooldown: 300 * time.Second, OtherWakes: true,
			HPA: scaling.HPA{Name: "keda-hpa-worker", Target: 5000},
		}
		if err != nil || took != 0 || !equal(got, want) {
			t.Errorf("got  %+v, %v after %s\nwant %+v at once", got, err, took, want)
		}
	})
}

func TestReplicasComeFromTheScaleTarget(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "worker"}
	four := int32(4)
	able := "{currentReplicas: 6, desiredReplicas: 6, conditions: [{type: AbleToScale, status: \"True\", reason: r, message: m, lastTransitionTime: null}]}"
	tests := []struct {
		name         string
		ref          string
		target       runtime.Object
		spec, status int32
	}{
		{"Deployment", "{name: worker}", deployment(&four, 3), 4, 3},
		{"spec.replicas not set is 1", "{name: worker}", deployment(nil, 0), 1, 0},
		{"StatefulSet", "{kind: StatefulSet, name: worker}", &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &four}, Status: appsv1.StatefulSetStatus{Replicas: 2},
		}, 4, 2},
		{"ReplicaSet", "{apiVersion: apps/v1, kind: ReplicaSet, name: worker}", &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &four}, Status: appsv1.ReplicaSetStatus{Replicas: 1},
		}, 4, 1},
		{"a Deployment of another group, by its HPA", "{apiVersion: example.com/v1, kind: Deployment, name: worker}", kedaHPA(t, hpaSpec(""), able), 6, 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			so := object(t, "ScaledObject", "scaleTargetRef: "+test.ref+"\ntriggers: [{type: external}]\n")
			synctest.Test(t, func(t *testing.T) {
				_, o := inCluster(t, so, test.target)
				got, _, err := observe(t, o, worker)
				if err != nil || got.Spec != test.spec || got.Status != test.status {
					t.Errorf("got %d, %d, %v; want %d, %d", got.Spec, got.Status, err, test.spec, test.status)
				}
			})
		})
	}
}

func TestOnlyKindsInUseAreWatched(t *testing.T) {
	listed := func(f fakes, resource string) bool {
		for _, action := range f.kube.Actions() {
			if action.GetResource().Resource == resource {
				return true
			}
		}
		return false
	}
	synctest.Test(t, func(t *testing.T) {
		f, o := inCluster(t)
		for _, resource := range []string{"deployments", "statefulsets", "replicasets"} {
			if listed(f, resource) {
				t.Errorf("%s are watched and nothing scales them", resource)
			}
		}
		create(t, f, object(t, "ScaledObject", plainSpec))
		synctest.Wait()
		if !listed(f, "deployments") || listed(f, "statefulsets") || listed(f, "replicasets") {
			t.Errorf("with a ScaledObject of a Deployment: deployments %t, statefulsets %t, replicasets %t; want the first only",
				listed(f, "deployments"), listed(f, "statefulsets"), listed(f, "replicasets"))
		}
		if err := o.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
	})
}

func create(t *testing.T, f fakes, o runtime.Object) {
	t.Helper()
	var err error
	if d, ok := o.(*appsv1.Deployment); ok {
		_, err = f.kube.AppsV1().Deployments("shop").Create(t.Context(), d, metav1.CreateOptions{})
	} else {
		err = f.keda.Tracker().Create(scaledObjectsGVR, o, "shop")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestObserveWaitsForWhatIsOnItsWay(t *testing.T) {
	three := int32(3)
	synctest.Test(t, func(t *testing.T) {
		f, o := inCluster(t)
		go func() {
			time.Sleep(100 * time.Millisecond)
			create(t, f, object(t, "ScaledObject", plainSpec))
			time.Sleep(100 * time.Millisecond)
			create(t, f, deployment(&three, 0))
		}()
		got, took, err := observe(t, o, worker)
		if err != nil || got.Spec != 3 || took != 200*time.Millisecond {
			t.Errorf("got %d, %v after %s; want 3 after 200ms", got.Spec, err, took)
		}
	})
}

// Nothing else happens that would wake who waits.
func TestObserveWaitsForAScaledObjectAlone(t *testing.T) {
	three := int32(3)
	other := object(t, "ScaledObject", plainSpec)
	other.SetName("other")
	synctest.Test(t, func(t *testing.T) {
		f, o := inCluster(t, other, deployment(&three, 3))
		go func() {
			time.Sleep(100 * time.Millisecond)
			create(t, f, object(t, "ScaledObject", plainSpec))
		}()
		got, took, err := observe(t, o, worker)
		if err != nil || got.Spec != 3 || took != 100*time.Millisecond {
			t.Errorf("got %d, %v after %s; want 3 after 100ms", got.Spec, err, took)
		}
	})
}

func TestUnknownIsNotZero(t *testing.T) {
	const patience = 500 * time.Millisecond
	rollout := "scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: worker}\ntriggers: [{type: external}]\n"
	tests := []struct {
		name    string
		objects []runtime.Object
		target  string
		words   []string
	}{
		{"no ScaledObject", nil, "", []string{"ScaledObject shop/worker"}},
		{"no Deployment", []runtime.Object{object(t, "ScaledObject", plainSpec)}, "apps/Deployment/worker", []string{"Deployment shop/worker"}},
		{"neither a known kind nor an HPA", []runtime.Object{object(t, "ScaledObject", rollout)}, "argoproj.io/Rollout/worker", []string{"argoproj.io/Rollout/worker", "HorizontalPodAutoscaler shop/keda-hpa-worker"}},
		{"an HPA that has seen nothing yet", []runtime.Object{object(t, "ScaledObject", rollout), kedaHPA(t, hpaSpec(""), "{}")}, "argoproj.io/Rollout/worker", []string{"has not read them yet"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, o := inCluster(t, test.objects...)
				got, took, err := observe(t, o, worker)
				wantUnobserved(t, err, test.words...)
				if took != patience || !equal(got, scaling.Observation{Target: test.target}) {
					t.Errorf("got %+v after %s, want only the target %q after %s", got, took, test.target, patience)
				}
			})
		})
	}
}

func TestObserveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		started := time.Now()
		_, err := o.Observe(ctx, worker, "jobs")
		wantUnobserved(t, err)
		if took := time.Since(started); took != 50*time.Millisecond {
			t.Errorf("took %s, want 50ms", took)
		}
	})
}

func TestDeletedIsUnobserved(t *testing.T) {
	three := int32(3)
	objects := []runtime.Object{object(t, "ScaledObject", plainSpec), deployment(&three, 3)}
	synctest.Test(t, func(t *testing.T) {
		f, o := inCluster(t, objects...)
		if _, _, err := observe(t, o, worker); err != nil {
			t.Fatal(err)
		}
		if err := f.kube.AppsV1().Deployments("shop").Delete(t.Context(), "worker", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, _, err := observe(t, o, worker)
		wantUnobserved(t, err, "Deployment shop/worker")
		if err := f.keda.Tracker().Delete(scaledObjectsGVR, "shop", "worker"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, _, err = observe(t, o, worker)
		wantUnobserved(t, err, "ScaledObject shop/worker")
	})
}

func TestScaledJob(t *testing.T) {
	job := object(t, "ScaledJob", "jobTargetRef: {template: {}}")
	synctest.Test(t, func(t *testing.T) {
		f, o := inCluster(t, job)
		got, took, err := observe(t, o, worker)
		if err != nil || took != 0 || !equal(got, jobObservation) {
			t.Errorf("got %+v, %v after %s; want a job at once", got, err, took)
		}
		if about := o.Reference(worker); about.Kind != "ScaledJob" || about.UID != "uid-of-worker" {
			t.Errorf("an Event would be about %+v", about)
		}
		create(t, f, object(t, "ScaledObject", plainSpec))
		synctest.Wait()
		if about := o.Reference(worker); about.Kind != "ScaledObject" || about.UID != "uid-of-worker" {
			t.Errorf("an Event would be about %+v", about)
		}
	})
}

func TestOtherKindsAreRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t)
		_, took, err := observe(t, o, scaling.Ref{Kind: "Deployment", Namespace: "shop", Name: "worker"})
		if err == nil || errors.Is(err, scaling.ErrUnobserved) || took != 0 || !strings.Contains(err.Error(), "want ScaledObject") {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

// A ScaledObject that cannot be read concerns nobody else.
func TestOneBrokenScaledObject(t *testing.T) {
	broken := object(t, "ScaledObject", "scaleTargetRef: {name: worker}\nmaxReplicaCount: many\n")
	broken.SetName("broken")
	three := int32(3)
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t, broken, object(t, "ScaledObject", plainSpec), deployment(&three, 3))
		if _, _, err := observe(t, o, worker); err != nil {
			t.Errorf("the good one: %v", err)
		}
		ref := worker
		ref.Name = "broken"
		if _, _, err := observe(t, o, ref); err == nil || errors.Is(err, scaling.ErrUnobserved) || !strings.Contains(err.Error(), "read ScaledObject shop/broken") {
			t.Errorf("the broken one: %v", err)
		}
	})
}

// KEDA may be installed after us, and permissions may be granted later. Until
// then, a ScaledJob of the name does not mean that there is no ScaledObject.
func TestWhatCannotBeListedYet(t *testing.T) {
	resource := schema.GroupResource{Group: kedaGroup, Resource: "scaledobjects"}
	tests := []struct {
		name  string
		err   error
		words string
	}{
		{"no CRD", apierrors.NewNotFound(resource, ""), "does not serve them"},
		{"no permission", apierrors.NewForbidden(resource, "", errors.New("who are you")), "who are you"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				three := int32(3)
				f := newFakes(object(t, "ScaledObject", plainSpec), object(t, "ScaledJob", "{}"), deployment(&three, 3))
				var refusing atomic.Bool
				refusing.Store(true)
				f.keda.PrependReactor("list", "scaledobjects", func(k8stesting.Action) (bool, runtime.Object, error) {
					return refusing.Load(), nil, test.err
				})
				o := start(t, f)
				if err := o.Ready(); err == nil || !strings.Contains(err.Error(), "ScaledObjects are not listed yet") || !strings.Contains(err.Error(), test.words) {
					t.Errorf("Ready: %v", err)
				}
				_, _, err := observe(t, o, worker)
				wantUnobserved(t, err, "ScaledObject shop/worker", test.words)

				synctest.Wait()
				refusing.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				if err := o.Ready(); err != nil {
					t.Errorf("not ready a minute later: %v", err)
				}
				if got, _, err := observe(t, o, worker); err != nil || got.Spec != 3 {
					t.Errorf("got %d, %v; want 3", got.Spec, err)
				}
			})
		})
	}
}

func TestNothingIsKnownBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := New(newFakes().clients(), Options{Patience: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Ready(); err == nil {
			t.Error("ready before Run")
		}
		_, took, err := observe(t, o, worker)
		wantUnobserved(t, err, "not listed yet")
		if took != time.Second {
			t.Errorf("waited %s, want the patience of 1s", took)
		}
	})
}
