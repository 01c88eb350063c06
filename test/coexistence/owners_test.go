//go:build e2e

package coexistence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// owner is an autoscaler of the Deployment worker.
type owner struct {
	manifest string
	// hpa is the HPA's name.
	hpa string
	// resource and name are of what has to go for the HPA to go.
	resource schema.GroupVersionResource
	name     string
}

func scaledObjectOwner(name string) owner {
	manifest := scaledObject(`type: external`, `scalerAddress: "{{.Scaler}}", source: redis, interval: "1", `)
	return owner{
		strings.Replace(manifest, "metadata: {name: worker}", "metadata: {name: "+name+"}", 1), "keda-hpa-" + name,
		schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}, name,
	}
}

// hpaOwner is an HPA on a StabilizedMetric, both of one name.
func hpaOwner(name string) owner {
	manifest := strings.ReplaceAll(nativeManifest, "name: jobs}", "name: "+name+"}")
	return owner{
		strings.Replace(manifest, "metadata: {name: worker}", "metadata: {name: "+name+"}", 1), name,
		autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"), name,
	}
}

// TestOwnersOfOneTarget: where several autoscalers have one workload, the HPA controller
// says so in each of their HPAs and lets none of them scale (C42 a and b). Once there is
// one left, it does.
func TestOwnersOfOneTarget(t *testing.T) {
	scenario.Together(t, map[string]func(*testing.T){
		"two ScaledObjects":            testOwners(scaledObjectOwner("day"), scaledObjectOwner("night")),
		"two HPAs":                     testOwners(hpaOwner("day"), hpaOwner("night")),
		"three ScaledObjects, one HPA": testOwners(scaledObjectOwner("a"), scaledObjectOwner("b"), scaledObjectOwner("c"), hpaOwner("native")),
	})
}

func testOwners(owners ...owner) func(*testing.T) {
	return func(t *testing.T) {
		s := side{scenario.New(t, env.cluster, 3), "several owners"}
		for _, o := range owners {
			s.apply(o.manifest)
		}
		for _, o := range owners {
			s.awaitAmbiguous(o.hpa, owners)
		}
		for _, o := range owners {
			s.awaitTold(o, owners)
		}
		before := s.count()
		s.Queue("jobs", 100) // for 20
		time.Sleep(10 * time.Second)
		if after := s.count(); after != before {
			t.Errorf("from %d replicas to %d: somebody scales, and who that is is chance", before, after)
		}
		s.Queue("jobs", 40)
		for _, o := range owners[1:] {
			if err := env.cluster.Dynamic.Resource(o.resource).Namespace(s.Namespace).Delete(t.Context(), o.name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		s.await(scenario.Worker, 8)
		if owners[0].isNative() {
			s.awaitFinding(owners[0].name, func(said string) bool { return said == "" })
		}
	}
}

// isNative: the owner is an HPA on a StabilizedMetric of the same name.
func (o owner) isNative() bool { return o.hpa == o.name }

// awaitTold waits until Dashpot names the owners to one of them: all in the condition of
// its StabilizedMetric; in an Event of its ScaledObject those that there were when it first
// had company.
func (s side) awaitTold(o owner, owners []owner) {
	s.T.Helper()
	named := func(said string) (n int) {
		for _, o := range owners {
			if strings.Contains(said, o.hpa) {
				n++
			}
		}
		return n
	}
	if o.isNative() {
		s.awaitFinding(o.name, func(said string) bool { return named(said) == len(owners) })
		return
	}
	s.poll("an Event of ScaledObject "+o.name, func(ctx context.Context) (said string, ok bool) {
		events, err := env.cluster.Client.CoreV1().Events(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, e := range events.Items {
			if e.Reason == sharedTarget && e.InvolvedObject.Name == o.name && named(e.Message) > 1 {
				return e.Message, true
			}
		}
		return "nothing", false
	})
}

const sharedTarget = "SharedTarget"

// awaitFinding waits until a StabilizedMetric's condition SharedTarget says what is
// wanted; it says nothing where there is none.
func (s side) awaitFinding(metric string, wanted func(said string) bool) {
	s.T.Helper()
	s.poll("condition SharedTarget of StabilizedMetric "+metric, func(ctx context.Context) (said string, ok bool) {
		u, err := env.cluster.Dynamic.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Namespace(s.Namespace).Get(ctx, metric, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		var m v1alpha1.StabilizedMetric
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
			return err.Error(), false
		}
		if found := meta.FindStatusCondition(m.Status.Conditions, sharedTarget); found != nil {
			said = found.Message
		}
		return said, wanted(said)
	})
}

// poll asks until something is as it should be.
func (s side) poll(what string, ask func(context.Context) (said string, ok bool)) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 2*limit)
	defer cancel()
	for ; ; time.Sleep(250 * time.Millisecond) {
		said, ok := ask(ctx)
		if ok {
			s.T.Logf("%s: %s", what, said)
			return
		}
		if ctx.Err() != nil {
			s.T.Fatalf("%s: %s", what, said)
		}
	}
}

func (s side) count() int32 {
	s.T.Helper()
	d, err := env.cluster.Client.AppsV1().Deployments(s.Namespace).Get(s.T.Context(), scenario.Worker, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return *d.Spec.Replicas
}

// awaitAmbiguous waits until an HPA names two of the owners, which is what the controller
// does of any number, and does nothing.
func (s side) awaitAmbiguous(hpa string, owners []owner) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 2*limit)
	defer cancel()
	said := ""
	for names := 0; names < 2; time.Sleep(250 * time.Millisecond) {
		h, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Namespace).Get(ctx, hpa, metav1.GetOptions{})
		if ctx.Err() != nil {
			s.T.Fatalf("HPA %s names %d other owners: %s (%v)", hpa, names, said, err)
		}
		if err != nil {
			continue
		}
		names = 0
		for _, c := range h.Status.Conditions {
			if c.Type != autoscalingv2.ScalingActive || c.Status != corev1.ConditionFalse || c.Reason != "AmbiguousSelector" {
				continue
			}
			said = c.Message
			for _, o := range owners {
				if strings.Contains(c.Message, o.hpa) {
					names++
				}
			}
		}
	}
	s.T.Logf("%s: %s", hpa, said)
}
