package scaling

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random traces; 0 draws a new one for each run")

// The figures of TestStepIsReconcile. A read every chainPause at the longest, and reads
// that fail for no longer than chainOutage, are neither a gap nor blind time for a
// policy of this interval.
const (
	chainTraces      = 400
	chainEvaluations = 100
	chainInterval    = 10 * time.Minute
	chainPause       = 2*chainInterval - time.Second
	chainOutage      = 4*chainInterval - chainPause - time.Second
)

// TestStepIsReconcile is a link of the proof that Dashpot decides as the HPA does:
// Reconcile is compared with the real controller elsewhere, and here Step with
// Reconcile, whose deliberate differences are on. Random readings, failures, edits and
// scaling by hand run through both, and what they decide must be the same.
//
// The traces stay where the two mean the same. Outside, Step differs on purpose:
//   - every evaluation takes a reading: between two of them Step decides on the last one,
//     and remembers no second recommendation;
//   - nothing sleeps: there is no cooldown, and at least one replica always runs;
//   - pauses and failures are too short to be gaps or blind time, which end with a sample;
//   - the count follows each decision before the next evaluation, and nobody scales by hand
//     or edits the bounds before it has: Step believes in a move when it sees it, the HPA
//     when it has written it;
//   - the count is never outside the bounds: there, the HPA does not look at its metrics
//     and remembers no recommendation, while Step does; it goes back even if they fail,
//     while Step holds; and its way back up to the minimum counts as a scale-up, while
//     Step leaves that to whoever raised it.
func TestStepIsReconcile(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with: go test -run '^%s$' ./pkg/scaling -args -seed=%d", t.Name(), seed)
	r := rand.New(rand.NewPCG(seed, seed>>1))
	seen := map[algorithm.Reason]int{}
	for range chainTraces {
		c := newChain(t, r)
		for range chainEvaluations {
			c.change()
			c.evaluate(seen)
		}
	}
	t.Logf("%d evaluations, by reason of windows and of limits: %v", chainTraces*chainEvaluations, seen)
	for _, reason := range []algorithm.Reason{
		"", algorithm.ReadyForNewScale, algorithm.ScaleUpStabilized, algorithm.ScaleDownStabilized, algorithm.DesiredWithinRange,
		algorithm.TooFewReplicas, algorithm.TooManyReplicas, algorithm.ScaleUpLimit, algorithm.ScaleDownLimit,
	} {
		if seen[reason] < chainTraces {
			t.Errorf("%d decisions with reason %q; the traces are too tame to prove anything", seen[reason], reason)
		}
	}
}

// chain is one trace: a workload, and what Step and Reconcile remember of it.
type chain struct {
	*testing.T
	r          *rand.Rand
	policy     Policy
	obs        Observation
	now        time.Duration
	goodAt     time.Duration
	wish       float64 // about what the readings ask for
	failing    float64 // how likely a read fails
	record     Record
	controller algorithm.Controller
	state      algorithm.State
	// settled: the last decision was to stay.
	settled bool
}

func newChain(t *testing.T, r *rand.Rand) *chain {
	t.Helper()
	c := &chain{T: t, r: r, controller: algorithm.DefaultController(), failing: pick(r, 0, 0, 0.02, 0.3), settled: true}
	c.controller.Differences = algorithm.Differences{LongMemory: true, SeedDown: true, FromOne: true}
	c.policy = Policy{Metric: "m", Target: 1000, Interval: chainInterval, Behavior: randomBehavior(r)}
	for i := range 1 + r.IntN(3) {
		target := pick[algorithm.Milli](r, 1000, 7500, 250, 3000, 1+algorithm.Milli(r.Int64N(1e6)))
		c.policy.Triggers = append(c.policy.Triggers, Trigger{Type: "redis", Target: target, Query: fakeQuery{"redis", "list " + string(rune('a'+i))}})
	}
	c.obs.Spec = 1 + r.Int32N(60)
	c.obs.Status, c.wish = c.obs.Spec, float64(c.obs.Spec)
	c.bound()
	return c
}

// bound draws bounds around the count.
func (c *chain) bound() {
	c.obs.Bounds.Min = pick(c.r, 1, 1, 1+c.r.Int32N(c.obs.Spec))
	c.obs.Bounds.Max = c.obs.Spec + pick(c.r, 0, 5, 1000, c.r.Int32N(100))
}

// change lets time pass, and now and then somebody edit or scale something.
func (c *chain) change() {
	c.now += min(chainPause, pick(c.r, time.Second, 5*time.Second, 15*time.Second, 15*time.Second,
		30*time.Second*time.Duration(c.r.IntN(10)), time.Duration(c.r.Int64N(int64(chainPause)))))
	switch what := c.r.IntN(25); {
	case what == 0:
		c.policy.Behavior = randomBehavior(c.r)
	case what == 1 && c.settled:
		c.bound()
	case what == 2 && c.settled:
		low, high := c.obs.Bounds.Min, c.obs.Bounds.Max
		c.obs.Spec = low + c.r.Int32N(min(high-low, 100)+1)
	}
	c.obs.Status = c.obs.Spec
	if c.r.IntN(8) == 0 { // pods come and go more slowly
		c.obs.Status = c.r.Int32N(c.obs.Spec + 3)
	}
}

// outcomes draws a reading for each trigger.
func (c *chain) outcomes() []Outcome {
	outcomes := make([]Outcome, len(c.policy.Triggers))
	mayFail := c.now-c.goodAt <= chainOutage
	c.wish = max(0, pick(c.r, c.wish, c.wish, c.wish*1.05, c.wish-1, c.wish*c.r.Float64()*2, c.wish+10*c.r.NormFloat64()))
	all := true
	for i, t := range c.policy.Triggers {
		if mayFail && c.r.Float64() < c.failing {
			outcomes[i].Err, all = errors.New("timeout"), false
			continue
		}
		outcomes[i].Value = min(c.wish, 2000) * t.Target.Float() * pick(c.r, 1, 1, 0.9, 1.1, 0.5+c.r.Float64(), 0)
	}
	if all {
		c.goodAt = c.now
	}
	return outcomes
}

// evaluate asks both, compares them, and lets the count follow.
func (c *chain) evaluate(seen map[algorithm.Reason]int) {
	c.Helper()
	outcomes := c.outcomes()
	input := algorithm.Input{
		Spec:     algorithm.Spec{Bounds: c.obs.Bounds, Behavior: c.policy.Behavior},
		Workload: algorithm.Workload{Scale: algorithm.Scale{Spec: c.obs.Spec, Status: c.obs.Status}, Now: c.now},
	}
	for i, t := range c.policy.Triggers {
		reading := algorithm.Reading{Err: outcomes[i].Err}
		if reading.Err == nil {
			value, err := algorithm.ToMilli(outcomes[i].Value)
			if err != nil {
				c.Fatal(err)
			}
			reading.Series = []algorithm.Milli{value}
		}
		input.Readings = append(input.Readings, reading)
		input.Spec.Metrics = append(input.Spec.Metrics, algorithm.Metric{
			Source: algorithm.ExternalSource,
			Target: algorithm.Target{Type: algorithm.AverageValueTarget, AverageValue: t.Target},
		})
	}
	want := c.controller.Reconcile(input, &c.state)
	result := Step(Input{
		Policy: &c.policy, Record: c.record, Observation: c.obs, Outcomes: outcomes,
		Now: epoch.Add(c.now), Elapsed: c.now - c.record.Clock,
	})
	got := result.Decision
	if got.Err != nil || got.Replicas != want.Replicas || got.Decider != want.Decider ||
		got.Stabilized.Reason != want.Stabilized.Reason || got.Limited.Reason != want.Limited.Reason {
		c.Fatalf("at %v from %d (%d pods), %+v, bounds %+v:\nStep      %d, trigger %d, %+v, %+v: %s\nReconcile %d, metric  %d, %+v, %+v\nbehavior %+v\nrecord %+v",
			c.now, c.obs.Spec, c.obs.Status, outcomes, c.obs.Bounds,
			got.Replicas, got.Decider, got.Stabilized, got.Limited, got.Why(),
			want.Replicas, want.Decider, want.Stabilized, want.Limited, *c.policy.Behavior, c.record)
	}
	seen[got.Stabilized.Reason]++
	seen[got.Limited.Reason]++
	c.record, c.settled = result.Record, got.Replicas == c.obs.Spec
	c.obs.Spec = got.Replicas
}

func randomBehavior(r *rand.Rand) *algorithm.Behavior {
	b := algorithm.DefaultBehavior()
	for _, rules := range []*algorithm.Rules{&b.ScaleUp, &b.ScaleDown} {
		if r.IntN(4) == 0 {
			continue
		}
		rules.Window = time.Second * time.Duration(pick(r, 0, 0, 60, 300, r.IntN(3601)))
		rules.Tolerance = pick(r, 0, 0, 0.05, 0.1, 0.5)
		rules.Select = pick(r, algorithm.SelectMax, algorithm.SelectMax, algorithm.SelectMin, algorithm.SelectMin, algorithm.SelectDisabled)
		rules.Policies = nil
		for range 1 + r.IntN(3) {
			rules.Policies = append(rules.Policies, algorithm.RatePolicy{
				Type:   pick(r, algorithm.PodsPolicy, algorithm.PercentPolicy),
				Value:  pick(r, 1, 4, 10, 50, 100, 1+r.Int32N(300)),
				Period: time.Second * time.Duration(pick(r, 1, 15, 60, 600, 1+r.IntN(1800))),
			})
		}
	}
	return &b
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
