package scaling

import (
	"fmt"
	"testing"
	"testing/synctest"

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
