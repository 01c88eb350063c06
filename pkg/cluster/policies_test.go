package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// parserFake notes what it is given, and wants a trigger, and in every trigger an address
// with a port.
type parserFake struct {
	mu       sync.Mutex
	calls    int
	own      map[string]map[string]string
	triggers map[string][]map[string]string
}

func (p *parserFake) ParseMetric(name string, own map[string]string, triggers, secrets []map[string]string) *scaling.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		p.own, p.triggers = map[string]map[string]string{}, map[string][]map[string]string{}
	}
	p.calls++
	triggers = slices.Clone(triggers)
	for i, entries := range secrets {
		triggers[i] = maps.Clone(triggers[i])
		maps.Copy(triggers[i], entries)
	}
	p.own[name], p.triggers[name] = own, triggers
	policy := &scaling.Policy{Metric: name, Record: name, Target: 1000}
	if len(triggers) == 0 {
		policy.Invalid = fmt.Errorf("%w: triggers: must have at least one entry", scaling.ErrBadPolicy)
	}
	for i, t := range triggers {
		if !strings.Contains(t["address"], ":") {
			policy.Invalid = fmt.Errorf("%w: triggers[%d].address: must be host:port", scaling.ErrBadPolicy, i)
		}
	}
	return policy
}

// given is what the parser was last given under a name.
func (p *parserFake) given(name string) (own map[string]string, triggers []map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own[name], p.triggers[name]
}

const plainMetric = `
triggers: [{type: redis, metadata: {address: "redis:6379", listName: jobs}}]
cooldownPeriod: 60
`

// aMetric makes a StabilizedMetric in the namespace shop.
func aMetric(tb testing.TB, name, spec string) *unstructured.Unstructured {
	tb.Helper()
	u := object(tb, v1alpha1.Kind, spec)
	u.SetAPIVersion(v1alpha1.GroupVersion.String())
	u.SetName(name)
	u.SetUID(types.UID("uid-of-" + name))
	u.SetGeneration(1)
	return u
}

func startPolicies(t *testing.T, f fakes, options PoliciesOptions) (*Policies, *parserFake) {
	t.Helper()
	parser := &parserFake{}
	p, err := NewPolicies(f.clients(), parser, options)
	if err != nil {
		t.Fatal(err)
	}
	running(t, p.Run)
	return p, parser
}

func policiesOf(t *testing.T, objects ...runtime.Object) (fakes, *Policies, *parserFake) {
	t.Helper()
	f := newFakes(objects...)
	p, parser := startPolicies(t, f, PoliciesOptions{})
	return f, p, parser
}

// update replaces a StabilizedMetric and lets that settle.
func update(t *testing.T, f fakes, u *unstructured.Unstructured) {
	t.Helper()
	if err := f.keda.Tracker().Update(metricsGVR, u, u.GetNamespace()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// get is a metric that has to be there at once.
func get(t *testing.T, p *Policies, name string) scaling.Metric {
	t.Helper()
	started := time.Now()
	m, err := p.Metric(t.Context(), "shop", name)
	if err != nil || time.Since(started) != 0 {
		t.Fatalf("metric %s: %v after %s", name, err, time.Since(started))
	}
	return m
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestMetric(t *testing.T) {
	u := aMetric(t, "jobs", plainMetric)
	u.SetLabels(map[string]string{"team": "shop"})
	synctest.Test(t, func(t *testing.T) {
		_, p, parser := policiesOf(t, u)
		if err := p.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		m := get(t, p, "jobs")
		want := scaling.Ref{Kind: "StabilizedMetric", Namespace: "shop", Name: "jobs"}
		if m.Ref != want || m.UID != "uid-of-jobs" || m.Generation != 1 || m.Labels["team"] != "shop" ||
			m.Policy.Metric != "jobs" || m.Policy.Invalid != nil || isClosed(m.Replaced) {
			t.Errorf("got %+v", m)
		}
		own, triggers := parser.given("jobs")
		if !maps.Equal(own, map[string]string{"cooldownPeriod": "60"}) || len(triggers) != 1 ||
			!maps.Equal(triggers[0], map[string]string{"type": "redis", "address": "redis:6379", "listName": "jobs"}) {
			t.Errorf("the parser was given %v and %v", own, triggers)
		}
		about := p.Reference(m.Ref)
		if about.APIVersion != "dashpot.dev/v1alpha1" || about.Kind != "StabilizedMetric" || about.UID != "uid-of-jobs" || about.Namespace != "shop" || about.Name != "jobs" {
			t.Errorf("an Event would be about %+v", about)
		}
	})
}

func TestNoSuchMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := policiesOf(t, aMetric(t, "jobs", plainMetric))
		for _, name := range [][2]string{{"shop", "mails"}, {"mail", "jobs"}, {"shop", ""}} {
			started := time.Now()
			_, err := p.Metric(t.Context(), name[0], name[1])
			if !errors.Is(err, scaling.ErrNoSuchMetric) || !strings.Contains(err.Error(), name[0]+"/"+name[1]) || time.Since(started) != 0 {
				t.Errorf("%v: %v after %s; want ErrNoSuchMetric at once", name, err, time.Since(started))
			}
		}
	})
}

func TestMetricChangesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spec = withSecret + "cooldownPeriod: 60\n"
		f, p, parser := policiesOf(t, aMetric(t, "jobs", spec), secret("redis-auth", "password", "x"))
		first := get(t, p, "jobs")

		labelled := aMetric(t, "jobs", spec)
		labelled.SetLabels(map[string]string{"team": "shop"})
		update(t, f, labelled)
		if m := get(t, p, "jobs"); m.Labels["team"] != "shop" || m.Policy != first.Policy || m.Replaced != first.Replaced || isClosed(m.Replaced) {
			t.Errorf("after a label: %+v, want it with the same policy", m)
		}

		changed := aMetric(t, "jobs", strings.Replace(spec, "60", "90", 1))
		changed.SetGeneration(2)
		update(t, f, changed)
		second := get(t, p, "jobs")
		if own, _ := parser.given("jobs"); own["cooldownPeriod"] != "90" || second.Policy == first.Policy || second.Generation != 2 || !isClosed(first.Replaced) || isClosed(second.Replaced) {
			t.Errorf("after a change of the spec: %+v", second)
		}

		if err := f.keda.Tracker().Delete(metricsGVR, "shop", "jobs"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := p.Metric(t.Context(), "shop", "jobs"); !errors.Is(err, scaling.ErrNoSuchMetric) || !isClosed(second.Replaced) {
			t.Errorf("deleted: %v, replaced %t", err, isClosed(second.Replaced))
		}
		if len(p.known)+len(p.Metrics())+len(p.secrets) != 0 {
			t.Errorf("deleted, but known: %v, and %d with Secrets", p.known, len(p.secrets))
		}
	})
}

// Of one name before and after is not one object.
func TestMetricIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, _ := policiesOf(t, aMetric(t, "jobs", plainMetric))
		first := get(t, p, "jobs")
		anew := aMetric(t, "jobs", plainMetric)
		anew.SetUID("another")
		update(t, f, anew)
		if m := get(t, p, "jobs"); m.UID != "another" || m.Policy == first.Policy || !isClosed(first.Replaced) {
			t.Errorf("got %+v, replaced %t", m, isClosed(first.Replaced))
		}
	})
}

// We write the status ourselves, every 15 s: that is no news, and no reason to get a
// Secret.
func TestStatusIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, parser := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "x"))
		first := get(t, p, "jobs")
		f.kube.ClearActions()
		with := aMetric(t, "jobs", withSecret)
		with.Object["status"] = map[string]any{"lastDecision": map[string]any{"replicas": int64(3)}}
		with.SetAnnotations(map[string]string{"a": "b"})
		update(t, f, with)
		if m := get(t, p, "jobs"); m.Policy != first.Policy || parser.calls != 1 || len(f.kube.Actions()) != 0 {
			t.Errorf("parsed %d times, want once; requests for Secrets: %v", parser.calls, f.kube.Actions())
		}
		if kept, _ := find[stabilizedMetric](p.objects, "shop", "jobs"); kept.ManagedFields != nil || kept.Annotations != nil {
			t.Errorf("kept: %+v", kept.ObjectMeta)
		}
	})
}

func TestMetricsAreSorted(t *testing.T) {
	other := aMetric(t, "z", plainMetric)
	other.SetNamespace("mail")
	waiting := aMetric(t, "waiting", withSecret)
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(aMetric(t, "b", plainMetric), aMetric(t, "a", "triggers: none"), aMetric(t, "c", plainMetric), other, waiting)
		failSecrets(f, apierrors.NewInternalError(errors.New("etcd is away")))
		p, _ := startPolicies(t, f, PoliciesOptions{})
		var names []string
		for _, m := range p.Metrics() {
			names = append(names, m.Ref.Namespace+"/"+m.Ref.Name)
		}
		if want := []string{"mail/z", "shop/a", "shop/b", "shop/c"}; !slices.Equal(names, want) {
			t.Errorf("got %v, want %v", names, want)
		}
		if err := p.Ready(); err != nil {
			t.Errorf("one Secret that is away keeps all from being ready: %v", err)
		}
	})
}

// What cannot be read concerns nobody else, and says what is wrong.
func TestGarbageAmongAThousandMetrics(t *testing.T) {
	garbage := map[string]string{
		"text-for-triggers": "triggers: none",
		"text-for-number":   "triggers: []\ncooldownPeriod: soon",
		"large-number":      "triggers: []\nminReplicaCount: 4294967297",
		"list-for-quantity": "triggers: []\nbehavior: {scaleUp: {tolerance: [1]}}",
		"number-for-text":   "triggers: [{type: redis, metadata: {listLength: 5}}]",
	}
	objects := make([]runtime.Object, 0, 1000)
	for name, spec := range garbage {
		objects = append(objects, aMetric(t, name, spec))
	}
	for i := range 1000 - len(objects) {
		objects = append(objects, aMetric(t, fmt.Sprintf("m%03d", i), plainMetric))
	}
	synctest.Test(t, func(t *testing.T) {
		f, p, _ := policiesOf(t, objects...)
		if err := p.Ready(); err != nil {
			t.Fatalf("not ready: %v", err)
		}
		all := p.Metrics()
		valid := 0
		for _, m := range all {
			if m.Policy.Invalid == nil {
				valid++
			}
		}
		if len(all) != 1000 || valid != 1000-len(garbage) {
			t.Fatalf("%d metrics, %d of them valid; want 1000, %d", len(all), valid, 1000-len(garbage))
		}
		for name := range garbage {
			m := get(t, p, name)
			if err := m.Policy.Invalid; !errors.Is(err, scaling.ErrBadPolicy) || !strings.HasPrefix(err.Error(), "invalid policy: spec: ") || strings.Contains(err.Error(), "at least one") || m.Policy.Metric != name {
				t.Errorf("%s: %v, metric %q", name, err, m.Policy.Metric)
			}
			mended := aMetric(t, name, plainMetric)
			mended.SetGeneration(2)
			update(t, f, mended)
			if m := get(t, p, name); m.Policy.Invalid != nil {
				t.Errorf("%s, mended: %v", name, m.Policy.Invalid)
			}
		}
	})
}

func TestMetricThatCannotBeRead(t *testing.T) {
	u := aMetric(t, "jobs", plainMetric)
	delete(u.Object, "spec")
	if m := newStabilizedMetric(u); m.problem == nil || m.problem.Error() != "spec: is missing" {
		t.Errorf("without a spec: %v", m.problem)
	}
	half := newStabilizedMetric(aMetric(t, "jobs", withSecret+"cooldownPeriod: soon\n"))
	if half.problem == nil || len(half.secretNames()) != 0 {
		t.Errorf("half of a spec: %v, and Secrets %v are got for it", half.problem, half.secretNames())
	}
}
