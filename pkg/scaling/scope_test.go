package scaling

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// scopedQuery asks another server for every workload, which names all that it knows.
type scopedQuery struct{ fakeQuery }

func (q scopedQuery) In(s Scope) Query {
	return fakeQuery{fmt.Sprintf("%s %s %d/%d %v", s.Namespace, s.Target, s.Spec, s.Status, s.Tolerance.Up), q.what}
}

// TestScopedQueries: what is read depends on the workload that asks, as it is observed,
// and on the tolerance that counts for it: the policy's, the HPA's, or none is known.
func TestScopedQueries(t *testing.T) {
	observed := Observation{Target: "apps/Deployment/worker", Bounds: algorithm.Bounds{Min: 1, Max: 100}, Spec: 3, Status: 2}
	behindHPA := observed
	behindHPA.HPA = HPA{Name: "worker", Target: 1000, Tolerance: algorithm.Tolerance{Down: 0.3, Up: 0.3}}
	tolerant := algorithm.DefaultBehavior()
	tolerant.ScaleUp.Tolerance = 0.2
	for name, test := range map[string]struct {
		obs      Observation
		behavior *algorithm.Behavior
		want     string
	}{
		"stabilised":               {observed, &tolerant, "shop apps/Deployment/worker 3/2 0.2"},
		"stabilised behind an HPA": {behindHPA, &tolerant, "shop apps/Deployment/worker 3/2 0.2"},
		"pass-through":             {behindHPA, nil, "shop apps/Deployment/worker 3/2 0.3"},
		"no HPA seen":              {observed, nil, "shop apps/Deployment/worker 3/2 0.1"},
		"not observed":             {Observation{OpenLoop: true, Bounds: observed.Bounds}, nil, "shop  0/0 0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(0)
			r.observer.obs = test.obs
			r.source.set(test.want, 37, false)
			ask := request("a")
			ask.Policy.Behavior = test.behavior
			ask.Policy.Triggers[0].Query = scopedQuery{fakeQuery{"any", "jobs"}}
			r.Evaluate(t.Context(), ask)
			if r.source.count(test.want) != 1 {
				t.Errorf("%s: asked %v, want %q", name, r.source.reads, test.want)
			}
		})
	}
}

// countQuery counts replicas for a workload, with a target that its name leaves out.
type countQuery struct {
	scopedQuery

	target string
}

func (q countQuery) In(s Scope) Query { return fakeQuery{fmt.Sprintf("at %d", s.Spec), q.what} }
func (q countQuery) Asks() string     { return q.what + ", target " + q.target }

// TestCountsAreOfOneWorkload: a count on file was computed from some spec.replicas and with
// some target. It serves no other: the 0 of a workload that slept, read a second ago, would
// take one that somebody has woken since straight back down, and an edited target would not
// act before the interval is over.
func TestCountsAreOfOneWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		for server, count := range map[string]float64{"at 0": 0, "at 10": 10, "at 12": 12} {
			r.source.set(server, count, false)
		}
		ask := request("a")
		ask.Policy.Interval = time.Minute
		ask.Policy.Triggers[0] = Trigger{Type: "cpu", Target: 1000, Counts: true, Activation: math.MaxInt32, Query: countQuery{scopedQuery{fakeQuery{"any", "cpu"}}, "80 %"}}
		evaluate := func(reads string, want int32) {
			t.Helper()
			before := r.source.count(reads)
			wantReplicas(t, r.Evaluate(t.Context(), ask), want)
			if r.source.count(reads) != before+1 {
				t.Errorf("not read %s", reads)
			}
		}
		evaluate("at 0", 1)
		r.observer.replicas(10)
		evaluate("at 10", 10)
		r.observer.replicas(12)
		evaluate("at 12", 12)
		wantReplicas(t, r.Evaluate(t.Context(), ask), 12) // the same question: from file
		if n := r.source.count("at 12"); n != 1 {
			t.Errorf("read %d times, want once", n)
		}
		ask.Policy.Triggers[0].Query = countQuery{scopedQuery{fakeQuery{"any", "cpu"}}, "40 %"}
		evaluate("at 12", 12)

		// What a caller without the workload has read of it does not count.
		ask.Outcomes = []Outcome{{Err: errors.New("there is no scale target")}}
		evaluate("at 12", 12)
	})
}
