package scaling

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// settled is a rig at 1 replica whose two processes have both stored a record.
func settled(t *testing.T) (r *rig, other *Evaluator) {
	t.Helper()
	r = newRig(1)
	other = r.replica()
	r.source.set("a", 5, false)
	for range 14 { // longer than the window of a minute
		for _, e := range []*Evaluator{r.Evaluator, other} {
			wantReplicas(t, e.Evaluate(t.Context(), request("a")), 1)
			time.Sleep(5 * time.Second)
		}
	}
	return r, other
}

// Somebody has scaled to 20 of whose decision no record is left. Where a process cannot
// rule out that it was a replica, the count is held as if the decision were remembered.
func TestARiseThatNoRecordShows(t *testing.T) {
	for name, test := range map[string]struct {
		rise func(t *testing.T, r *rig, other *Evaluator) *Evaluator // returns the process that is asked next
		want int32
	}{
		"another replica's, while the store was away": {func(t *testing.T, r *rig, other *Evaluator) *Evaluator {
			t.Helper()
			r.store.set(func() { r.store.err = errors.New("away") })
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 1)
			r.source.set("a", 100, false)
			time.Sleep(5 * time.Second)
			wantReplicas(t, other.Evaluate(t.Context(), request("a")), 20)
			r.store.set(func() { r.store.err = nil })
			return r.Evaluator
		}, 20},
		"another replica's, while the store was read only": {func(t *testing.T, r *rig, other *Evaluator) *Evaluator {
			t.Helper()
			r.store.set(func() { r.store.readOnly = true })
			r.Evaluate(t.Context(), request("a"))
			r.source.set("a", 100, false)
			time.Sleep(5 * time.Second)
			wantReplicas(t, other.Evaluate(t.Context(), request("a")), 20)
			r.observer.replicas(20)
			r.source.set("a", 0, false)
			time.Sleep(5 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
			r.store.set(func() { r.store.readOnly = false })
			return r.Evaluator
		}, 20},
		"lost in a failover, after a restart": {func(t *testing.T, r *rig, _ *Evaluator) *Evaluator {
			t.Helper()
			key := r.key(t)
			old := r.store.data[key]
			r.source.set("a", 100, false)
			time.Sleep(5 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
			r.store.set(func() { r.store.data[key] = old })
			return r.replica()
		}, 20},
		"lost in two failovers to one record": {func(t *testing.T, r *rig, _ *Evaluator) *Evaluator {
			t.Helper()
			key := r.key(t)
			old := r.store.data[key]
			r.source.set("a", 100, false)
			time.Sleep(5 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
			r.observer.replicas(20)
			for range 2 {
				time.Sleep(time.Second)
				r.store.set(func() { r.store.data[key] = old })
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
			}
			r.store.set(func() { r.store.data[key] = old })
			return r.Evaluator
		}, 20},
		// The HPA of a ScaledObject takes the largest of all its metrics: what another one
		// asks for is not ours to hold.
		"another trigger's, which all who are asked have seen come": {func(t *testing.T, r *rig, _ *Evaluator) *Evaluator {
			t.Helper()
			return r.Evaluator
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, other := settled(t)
				next := test.rise(t, r, other)
				r.observer.replicas(20)
				r.source.set("a", 0, false)
				time.Sleep(5 * time.Second)
				wantReplicas(t, next.Evaluate(t.Context(), request("a")), test.want)
				time.Sleep(50 * time.Second)
				wantReplicas(t, next.Evaluate(t.Context(), request("a")), test.want)
			})
		})
	}
}

// key is that of the only record.
func (r *rig) key(t *testing.T) Key {
	t.Helper()
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if len(r.store.data) != 1 {
		t.Fatalf("%d records, want 1", len(r.store.data))
	}
	for key := range r.store.data {
		return key
	}
	return Key{}
}

// While pods come and go, P times the target is not what keeps P: within its tolerance the
// HPA takes S. 20 of 22 is.
func TestHeldCountsLandInPassThrough(t *testing.T) {
	in := Input{
		Policy: &Policy{Metric: "m", Target: 1000, Interval: time.Second, Triggers: []Trigger{
			{Type: "fake", Target: 1000, Query: fakeQuery{"s", "list jobs"}},
		}},
		Observation: Observation{
			Target: "apps/Deployment/worker", Spec: 20, Status: 22, Bounds: algorithm.Bounds{Min: 1, Max: 100},
			HPA: HPA{Name: "keda-hpa-worker", Target: 1000, Tolerance: algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}},
		},
		Now: epoch,
	}
	for name, change := range map[string]func(*Input){
		"a failing read": func(in *Input) { in.Outcomes = []Outcome{{Err: errors.New("timeout")}} },
		"a reading below, while the store is away": func(in *Input) { in.Outcomes, in.Degraded = []Outcome{{Value: 3}}, true },
	} {
		held := in
		change(&held)
		d := Step(held).Decision
		if d.Value != 19_001 {
			t.Errorf("%s: sends %v, want 19.001, which makes 20 of 22: %s", name, d.Value.Float(), d.Why())
		}
	}
}

// A store that falls back to a record of more than a minute ago has lost something, and
// nobody knows how much time has passed. Both count: what runs is just active, as after any
// loss, and sleeps a cooldown later at the earliest.
func TestLostAndOfUnknownAge(t *testing.T) {
	const cooldown = 10 * time.Minute
	for _, age := range []time.Duration{30 * time.Second, 70 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(1)
			other, patient := r.replica(), request("a")
			patient.Policy.Cooldown = cooldown
			quiet := func(long time.Duration) {
				for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(5 * time.Second) {
					r.Evaluate(t.Context(), patient)
				}
			}
			r.source.set("a", 5, false)
			r.Evaluate(t.Context(), patient)
			r.source.set("a", 0, false)
			quiet(9*time.Minute - age)
			key := r.key(t)
			old := r.store.data[key]
			quiet(age)
			r.source.set("a", 5, false)
			other.Evaluate(t.Context(), patient)
			worked := time.Now()
			r.source.set("a", 0, false)
			r.store.set(func() { r.store.data[key] = old })
			for time.Sleep(5 * time.Second); r.Evaluate(t.Context(), patient).Active; time.Sleep(5 * time.Second) {
			}
			if slept := time.Since(worked); slept < cooldown {
				t.Errorf("a record of %v: asleep %v after work, within the cooldown of %v", age, slept, cooldown)
			}
		})
	}
}

// What is forgotten stays so: the count to which a nonsense reading has led, and which the
// HPA writes only now, is no decision that was lost.
func TestForgottenInARise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(10)
		r.source.set("a", 500, false)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 100)
		r.source.set("a", 5, false)
		if n, err := r.Forget(t.Context(), "shop", "a"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		r.observer.replicas(100)
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 1)
	})
}
