package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// kitchen is a cluster with pods, and what their metrics say.
type kitchen struct {
	*Pods

	kube    *kubefake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	// fail is what metrics.k8s.io answers with instead of metrics, asked the selectors that
	// it was asked with.
	fail  error
	asked []string
}

// labelled is a pod that runs.
func labelled(namespace, name string, set map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: set, Annotations: map[string]string{"a": strings.Repeat("x", 1<<10)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// newKitchen has the Deployment worker with pods a and b, pod c of somebody else, and pod d
// in another namespace. All have metrics but b. It is to be called in a bubble.
func newKitchen(t *testing.T, run bool) *kitchen {
	t.Helper()
	two := int32(2)
	d := deployment(&two, 2)
	d.Spec.Selector = parse[metav1.LabelSelector](t, "{matchLabels: {app: worker}, matchExpressions: [{key: canary, operator: DoesNotExist}]}")
	mine := map[string]string{"app": "worker", "tier": "back"}
	f := newFakes(d, labelled("shop", "b", mine), labelled("shop", "a", mine),
		labelled("shop", "c", map[string]string{"app": "web", "tier": "back"}), labelled("bank", "d", mine))
	lists := map[schema.GroupVersionResource]string{podMetrics: "PodMetricsList"}
	k := &kitchen{kube: f.kube, dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)}
	k.dynamic.PrependReactor("list", "pods", k.metrics)
	k.kube.Resources = []*metav1.APIResourceList{{GroupVersion: "dashpot.test/v1", APIResources: []metav1.APIResource{
		{Name: "fleets", SingularName: "fleet", Namespaced: true, Kind: "Fleet"},
	}}}
	k.Pods = NewPods(Clients{Kubernetes: k.kube, Dynamic: k.dynamic}, start(t, f), PodsOptions{})
	if run {
		running(t, k.Run)
	}
	return k
}

// metrics answers as metrics-server does.
func (k *kitchen) metrics(action k8stesting.Action) (bool, runtime.Object, error) {
	list := action.(k8stesting.ListAction)
	k.asked = append(k.asked, list.GetListRestrictions().Labels.String())
	if k.fail != nil {
		return true, nil, k.fail
	}
	answer := &unstructured.UnstructuredList{Object: map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1"}}
	for name, app := range map[string]string{"a": "worker", "c": "web"} {
		answer.Items = append(answer.Items, unstructured.Unstructured{Object: map[string]any{
			"metadata":  map[string]any{"name": name, "labels": map[string]any{"app": app, "tier": "back"}},
			"timestamp": "2026-01-01T12:00:00Z", "window": "15s",
			"containers": []any{map[string]any{"name": "app", "usage": map[string]any{"cpu": "250m", "memory": "1Ki"}}},
		}})
	}
	return true, answer, nil
}

var (
	cpuUse    = algorithm.Metric{Source: algorithm.ResourceSource, Resource: algorithm.CPU}
	memoryUse = algorithm.Metric{Source: algorithm.ResourceSource, Resource: "memory"}
)

// scopeOf is a workload of the namespace shop.
func scopeOf(target string) scaling.Scope { return scaling.Scope{Namespace: "shop", Target: target} }

const workerTarget = "apps/Deployment/worker"

// measure is Measure in words.
func (k *kitchen) measure(ctx context.Context, of scaling.Scope, selector string, metrics ...algorithm.Metric) string {
	w, readings, err := k.Measure(ctx, of, selector, metrics)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range w.Pods {
		b.WriteString(p.Name + " ")
	}
	for _, r := range readings {
		fmt.Fprintf(&b, "| ")
		if r.Err != nil {
			fmt.Fprint(&b, r.Err)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Pods)) {
			fmt.Fprintf(&b, "%s %d ", name, r.Pods[name].Value)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestMeasure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, true)
		if got, want := k.measure(t.Context(), scopeOf(workerTarget), "", cpuUse, memoryUse), "a b | a 250 | a 1024000"; got != want {
			t.Errorf("of the scale target: got %s, want %s", got, want)
		}
		if got, want := k.measure(t.Context(), scopeOf(workerTarget), "tier=back", cpuUse), "a b c | a 250 c 250"; got != want {
			t.Errorf("by a selector: got %s, want %s", got, want)
		}
		if got, want := k.measure(t.Context(), scopeOf(workerTarget), "tier=front", cpuUse), "| the metric has no data: metrics.k8s.io has nothing of pods tier=front in shop yet: they may be too young, or metrics-server cannot reach their nodes"; got != want {
			t.Errorf("by a selector that finds none: got %s, want %s", got, want)
		}
		if want := []string{"app=worker,!canary", "tier=back", "tier=front"}; !slices.Equal(k.asked, want) {
			t.Errorf("metrics.k8s.io was asked for %v, want %v", k.asked, want)
		}
		_, readings, _ := k.Measure(t.Context(), scopeOf(workerTarget), "tier=front", []algorithm.Metric{cpuUse})
		if !errors.Is(readings[0].Err, algorithm.ErrNoData) {
			t.Errorf("metrics of no pod are no data, not %v", readings[0])
		}
		w, _, err := k.Measure(t.Context(), scopeOf(workerTarget), "", nil)
		if err != nil || w.Now != time.Duration(time.Now().UnixNano()) {
			t.Errorf("it is %v, the clock says %v (%v)", time.Now(), w.Now, err)
		}
	})
}

func TestMeasureFails(t *testing.T) {
	resource := schema.GroupResource{Group: metricsv1beta1.GroupName, Resource: "pods"}
	tests := []struct {
		name, target string
		fail         error
		want         string
	}{
		{"no metrics-server", workerTarget, apierrors.NewNotFound(resource, ""), "metrics.k8s.io does not answer, is metrics-server installed and well?"},
		{"an unwell metrics-server", workerTarget, apierrors.NewServiceUnavailable("no endpoints"), "metrics.k8s.io does not answer, is metrics-server installed and well? no endpoints"},
		{"not allowed", workerTarget, apierrors.NewForbidden(resource, "", nil), "grant Dashpot's service account list on pods of metrics.k8s.io in shop:"},
		{"anything else", workerTarget, errors.New("refused"), "list the metrics of pods in shop: refused"},
		{"no such Deployment", "apps/Deployment/other", nil, "Deployment shop/other: not observed"},
		{"no such kind", "example.org/Ship/other", nil, "find the resource of example.org/Ship/other: no matches for kind"},
		{"no such object", "dashpot.test/Fleet/other", nil, "dashpot.test/Fleet/other in shop does not exist, or has no scale subresource; set podSelector:"},
		{"no target", "", nil, `scale target "": want group/Kind/name`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKitchen(t, true)
				k.fail = tt.fail
				if got := k.measure(t.Context(), scopeOf(tt.target), "", cpuUse); !strings.HasPrefix(got, tt.want) {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// Pods that have not been seen are not taken for none, and nobody waits for them longer
// than the patience or the context.
func TestPodsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, false)
		for _, limit := range []time.Duration{time.Second, time.Minute} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			started := time.Now()
			_, _, err := k.Measure(ctx, scopeOf(workerTarget), "", []algorithm.Metric{cpuUse})
			cancel()
			wantUnobserved(t, err, "pods of shop", "Pods are not listed yet")
			if took := time.Since(started); took != min(limit, 2*time.Second) {
				t.Errorf("within %v, it took %v", limit, took)
			}
		}
	})
}

// lists counts how often pods were listed, by namespace.
func (k *kitchen) lists() map[string]int {
	counts := map[string]int{}
	for _, action := range k.kube.Actions() {
		if action.Matches("list", "pods") {
			counts[action.GetNamespace()]++
		}
	}
	return counts
}

// Pods are watched in the namespaces that are in use, and for as long as they are; what is
// kept of them is a struct.
func TestNamespacesInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, true)
		bank := scaling.Scope{Namespace: "bank", Target: workerTarget}
		if n := len(k.lists()); n != 0 {
			t.Fatalf("%d namespaces are listed before anybody asks", n)
		}
		k.measure(t.Context(), scopeOf(workerTarget), "", cpuUse)
		if got, want := k.lists(), map[string]int{"shop": 1}; !maps.Equal(got, want) {
			t.Fatalf("listed %v, want %v", got, want)
		}
		kept := k.namespaces["shop"].informer.GetStore().List()
		for _, obj := range kept {
			if p, ok := obj.(*pod); !ok || len(p.Annotations) != 0 {
				t.Errorf("kept %T with annotations %v", obj, p)
			}
		}
		if len(kept) != 3 {
			t.Errorf("%d pods are kept, want 3", len(kept))
		}

		// Bank is asked about once, shop goes on: after the idle time, bank is gone.
		k.measure(t.Context(), bank, "app=worker", cpuUse)
		for range 13 {
			time.Sleep(time.Minute)
			k.measure(t.Context(), scopeOf(workerTarget), "", cpuUse)
		}
		if _, watched := k.namespaces["bank"]; watched || len(k.namespaces) != 1 {
			t.Errorf("watched are %v, want shop alone", slices.Collect(maps.Keys(k.namespaces)))
		}
		if err := k.kube.Tracker().Add(labelled("shop", "e", map[string]string{"app": "worker"})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := k.measure(t.Context(), scopeOf(workerTarget), "", cpuUse), "a b e | a 250"; got != want {
			t.Errorf("shop is watched no longer: got %s, want %s", got, want)
		}
		k.measure(t.Context(), bank, "app=worker", cpuUse)
		if got, want := k.lists(), map[string]int{"shop": 1, "bank": 2}; !maps.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	})
}

// fleet is an object of a kind that is not watched, whose scale has this selector.
func (k *kitchen) fleet(selector string) *int {
	gets := new(int)
	k.dynamic.PrependReactor("get", "fleets", func(action k8stesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "scale" {
			return false, nil, nil
		}
		*gets++
		return true, &unstructured.Unstructured{Object: map[string]any{
			"kind": "Scale", "apiVersion": "autoscaling/v1", "status": map[string]any{"replicas": int64(2), "selector": selector},
		}}, nil
	})
	return gets
}

// The pods of any other kind are those of its scale subresource, which is read once a
// minute.
func TestScaleSubresource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, true)
		gets := k.fleet("tier=back")
		for range 9 { // within 2 minutes
			if got, want := k.measure(t.Context(), scopeOf("dashpot.test/Fleet/ships"), "", cpuUse), "a b c | a 250 c 250"; got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			time.Sleep(14 * time.Second)
		}
		if *gets != 2 {
			t.Errorf("the scale was read %d times, want 2", *gets)
		}
		time.Sleep(time.Hour)
		k.fleet("")
		if got, want := k.measure(t.Context(), scopeOf("dashpot.test/Fleet/ships"), "", cpuUse), "the scale of dashpot.test/Fleet/ships in shop has no status.selector: give its CRD a labelSelectorPath, or set podSelector"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// hangingMapper answers once it is released.
type hangingMapper struct {
	meta.ResettableRESTMapper

	release chan struct{}
	begun   atomic.Int32
}

func (m *hangingMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.begun.Add(1)
	<-m.release
	return m.ResettableRESTMapper.RESTMapping(kind, versions...)
}

// A discovery that hangs costs a caller its own time, and is not begun again beside
// itself.
func TestDiscoveryHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen(t, true)
		k.fleet("tier=back")
		slow := &hangingMapper{ResettableRESTMapper: k.scales.mapper, release: make(chan struct{})}
		k.scales.mapper = slow
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			started := time.Now()
			got := k.measure(ctx, scopeOf("dashpot.test/Fleet/ships"), "", cpuUse)
			cancel()
			if took := time.Since(started); took != time.Second || !strings.Contains(got, context.DeadlineExceeded.Error()) {
				t.Errorf("after %v: %s", took, got)
			}
		}
		if n := slow.begun.Load(); n != 1 {
			t.Errorf("discovery was begun %d times", n)
		}
		close(slow.release)
		synctest.Wait()
		if got, want := k.measure(t.Context(), scopeOf("dashpot.test/Fleet/ships"), "", cpuUse), "a b c | a 250 c 250"; got != want {
			t.Errorf("once it answers: got %s, want %s", got, want)
		}
	})
}

// Every kind that is watched keeps its selector, and one without any says so.
func TestSelectors(t *testing.T) {
	selector := parse[metav1.LabelSelector](t, "{matchLabels: {app: worker}}")
	for kind, kept := range map[string]*workload{
		"Deployment":  newDeployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: selector}}),
		"StatefulSet": newStatefulSet(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: selector}}),
		"ReplicaSet":  newReplicaSet(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: selector}}),
	} {
		if kept.selector != "app=worker" {
			t.Errorf("%s: %q", kind, kept.selector)
		}
	}
	invalid := parse[metav1.LabelSelector](t, "{matchExpressions: [{key: a, operator: Near}]}")
	for _, s := range []*metav1.LabelSelector{nil, {}, invalid} {
		if got := selectorText(s); got != "" {
			t.Errorf("%v: %q", s, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		three := int32(3)
		f := newFakes(deployment(&three, 3))
		p := NewPods(f.clients(), start(t, f), PodsOptions{})
		_, _, err := p.Measure(t.Context(), scopeOf(workerTarget), "", nil)
		if err == nil || err.Error() != "Deployment shop/worker has no spec.selector: set podSelector" {
			t.Errorf("got %v", err)
		}
	})
}

func TestParseTarget(t *testing.T) {
	for _, want := range []target{
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, "worker"},
		{schema.GroupKind{Kind: "ReplicationController"}, "worker"},
	} {
		if got, err := parseTarget(want.String()); got != want || err != nil {
			t.Errorf("%s: got %v, %v", want, got, err)
		}
	}
	for _, bad := range []string{"", "worker", "apps/Deployment", "apps//worker", "apps/Deployment/", "a/b/c/d"} {
		if got, err := parseTarget(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}
