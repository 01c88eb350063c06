package scaling

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// TestShadowSendsAsPassThrough: through random lives of a workload, what a shadow sends at
// each request is what pass-through sends, though it decides and remembers something else.
func TestShadowSendsAsPassThrough(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 7))
	differ := 0
	for range 300 {
		shadow, plain, obs := shadowed(random)
		var shadowRecord, plainRecord Record
		for now := epoch; now.Before(epoch.Add(20 * time.Minute)); now = now.Add(15 * time.Second) {
			if random.IntN(3) == 0 {
				obs.Spec = random.Int32N(25)
				obs.Status = max(0, obs.Spec+random.Int32N(3)-1)
			}
			in := Input{Observation: obs, Now: now, Elapsed: 15 * time.Second, Outcomes: outcomesFor(random, shadow)}
			in.Degraded = random.IntN(20) == 0
			in.Policy, in.Record = shadow, shadowRecord
			got := Step(in)
			in.Policy, in.Record = plain, plainRecord
			want := Step(in)
			shadowRecord, plainRecord = got.Record, want.Record
			if g, w := got.Decision, want.Decision; g.Value != w.Value || g.Active != w.Active || g.Swallowed != w.Swallowed || (g.Err == nil) != (w.Err == nil) {
				t.Fatalf("%+v, P = %d: a shadow sends %v %v %v, pass-through %v %v %v", obs, obs.Spec, g.Value, g.Active, g.Err, w.Value, w.Active, w.Err)
			}
			if got.Decision.Replicas != want.Decision.Replicas {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("a shadow never decided otherwise: this has shown nothing")
	}
}

// shadowed is a policy twice, in shadow and passed on, and a workload.
func shadowed(random *rand.Rand) (shadow, plain *Policy, obs Observation) {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleDown.Tolerance, behavior.ScaleUp.Tolerance = 0.3, 0.02
	shadow = &Policy{Metric: "m", Target: 2000, Behavior: &behavior, Shadow: true, Cooldown: 5 * time.Minute, Interval: 5 * time.Second}
	for i := range 1 + random.IntN(3) {
		trigger := Trigger{Type: "fake", Target: 5000, Activation: float64(random.IntN(3)), Query: fakeQuery{"s", string(rune('a' + i))}}
		if random.IntN(2) == 0 {
			trigger.Target, trigger.Counts = 1000, true
		}
		shadow.Triggers = append(shadow.Triggers, trigger)
	}
	if len(shadow.Triggers) == 1 {
		shadow.Target = shadow.Triggers[0].Target
	}
	if random.IntN(2) == 0 {
		shadow.Fallback = &Fallback{After: 30 * time.Second, Replicas: random.Int32N(9), Static: random.IntN(2) == 0}
	}
	passed := *shadow
	passed.Behavior, passed.Shadow = nil, false
	obs = Observation{
		Target: "apps/Deployment/worker", Bounds: algorithm.Bounds{Min: random.Int32N(3), Max: 20},
		ToZero: random.IntN(2) == 0, Native: random.IntN(2) == 0, Spec: 5, Status: 5,
	}
	if obs.Native || random.IntN(2) == 0 {
		obs.HPA = HPA{Name: "worker", Target: shadow.Target, Tolerance: algorithm.Tolerance{Down: 0.1, Up: 0.1}}
	}
	return shadow, &passed, obs
}

func outcomesFor(random *rand.Rand, p *Policy) []Outcome {
	outcomes := make([]Outcome, len(p.Triggers))
	for i, t := range p.Triggers {
		outcomes[i].Value = float64(random.IntN(40)) * t.Target.Float()
		switch random.IntN(6) {
		case 0:
			outcomes[i].Value = 0
		case 1:
			outcomes[i] = Outcome{Err: errors.New("timeout")}
		}
	}
	return outcomes
}

// TestACountIsReadAsItIsSent: what pods use is set in relation to what runs by the tolerance
// of whoever gets the count: ours where we decide, in shadow the HPA's.
func TestACountIsReadAsItIsSent(t *testing.T) {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleDown.Tolerance, behavior.ScaleUp.Tolerance = 0.3, 0.3
	hpa := HPA{Target: 1000, Tolerance: algorithm.Tolerance{Down: 0.1, Up: 0.2}}
	for name, tt := range map[string]struct {
		policy Policy
		want   algorithm.Tolerance
	}{
		"stabilised":   {Policy{Behavior: &behavior}, algorithm.Tolerance{Down: 0.3, Up: 0.3}},
		"shadow":       {Policy{Behavior: &behavior, Shadow: true}, hpa.Tolerance},
		"pass-through": {Policy{}, hpa.Tolerance},
	} {
		q := question{policy: &tt.policy, obs: Observation{Target: "apps/Deployment/worker", HPA: hpa}}
		if got := scopeOf(&q).Tolerance; got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

// A native shadow that fails to read one trigger keeps its own count, whatever passing
// through would make of the other trigger; and where passing through fails, the shadow
// goes on with its own.
func TestAShadowsOwnCount(t *testing.T) {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleDown.Window = 0
	in := Input{
		Policy: &Policy{
			Metric: "m", Target: 1000, Behavior: &behavior, Shadow: true, Interval: 5 * time.Second,
			Triggers: []Trigger{
				{Type: "fake", Target: 1000, Query: fakeQuery{"s", "a"}}, {Type: "fake", Target: 1000, Query: fakeQuery{"s", "b"}},
			},
		},
		Observation: Observation{
			Target: "apps/Deployment/worker", Native: true, Bounds: algorithm.Bounds{Min: 1, Max: 100},
			HPA: HPA{Name: "worker", Target: 1000},
		},
		Now: epoch,
	}
	failed := Outcome{Err: errors.New("timeout")}
	for _, test := range []struct {
		name  string
		steps []shadowStep
	}{
		{"its own read fails", []shadowStep{
			{10, []Outcome{{Value: 10}, {Value: 3}}, 10}, {10, []Outcome{{Value: 10}, {Value: 3}}, 10},
			{2, []Outcome{failed, {Value: 3}}, 10}, {2, []Outcome{failed, {Value: 3}}, 10}, {2, []Outcome{{Value: 10}, {Value: 3}}, 10},
		}},
		{"passing through fails", []shadowStep{
			{3, []Outcome{{Value: 3}, {Value: 3}}, 3},
			{10, []Outcome{failed, {Value: 6}}, 6}, {10, []Outcome{failed, {Value: 8}}, 8},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			next := in
			for i, step := range test.steps {
				next.Observation.Spec, next.Observation.Status = step.running, step.running
				next.Outcomes, next.Elapsed, next.Now = step.outcomes, 15*time.Second, next.Now.Add(15*time.Second)
				result := Step(next)
				if got := result.Decision.Replicas; got != step.want || result.Record.Served != step.want {
					t.Errorf("step %d: %d decided, %d served, want %d: %s", i, got, result.Record.Served, step.want, result.Decision.Why())
				}
				next.Record = result.Record
			}
		})
	}
}

type shadowStep struct {
	running  int32
	outcomes []Outcome
	want     int32
}
