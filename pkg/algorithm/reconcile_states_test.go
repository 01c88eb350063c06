package algorithm

import (
	"errors"
	"testing"
	"time"
)

// externalHPA is an HPA with one External metric of target 1.
func externalHPA(least, most int32, behavior *Behavior) Spec {
	return Spec{
		Bounds:   Bounds{Min: least, Max: most},
		Metrics:  []Metric{{Source: ExternalSource, Target: Target{AverageValue: 1000}}},
		Behavior: behavior,
	}
}

// at0 is an input of the first moment: spec and status, and what External metrics read.
func at0(spec Spec, replicas int32, values ...Milli) Input {
	in := Input{Spec: spec, Workload: Workload{Scale: Scale{replicas, replicas}}}
	for _, v := range values {
		in.Readings = append(in.Readings, Reading{Series: []Milli{v * 1000}})
	}
	return in
}

// Zero replicas: who put the workload to sleep decides whether anybody wakes it.
func TestReconcileAtZero(t *testing.T) {
	asleep := Conditions{ScaledToZero: Condition{True, ScaledToZero}}
	awake := Conditions{ScaledToZero: Condition{False, NotScaledToZero}}
	podsOnly := externalHPA(1, 10, nil)
	podsOnly.Metrics = []Metric{{Source: PodsSource, Target: Target{AverageValue: 1000}}}
	noGate := DefaultController()
	noGate.ScaleToZero = false
	lifted := DefaultBehavior() // its limit upward from 0 is 4

	for _, tt := range []struct {
		name       string
		controller Controller
		before     Conditions
		in         Input
		want       int32
		active     Condition
		toZero     Condition
	}{
		{"a zero that nobody accounts for", DefaultController(), Conditions{}, at0(externalHPA(0, 10, nil), 0, 7), 0,
			Condition{False, ScalingDisabled}, Condition{}},
		{"somebody's zero after the HPA scaled", DefaultController(), awake, at0(externalHPA(0, 10, nil), 0, 7), 0,
			Condition{False, ScalingDisabled}, awake.ScaledToZero},
		{"its own zero, no work", DefaultController(), asleep, at0(externalHPA(0, 10, nil), 0, 0), 0,
			Condition{True, ValidMetricFound}, asleep.ScaledToZero},
		{"its own zero, work", DefaultController(), asleep, at0(externalHPA(0, 10, nil), 0, 7), 4,
			Condition{True, ValidMetricFound}, Condition{False, NotScaledToZero}},
		{"min raised while asleep, by the older rules", DefaultController(), asleep, at0(externalHPA(3, 10, nil), 0, 0), 3,
			Condition{True, ValidMetricFound}, Condition{False, NotScaledToZero}},
		{"min raised beyond the first step, with a behavior", DefaultController(), asleep, at0(externalHPA(6, 10, &lifted), 0, 9), 6,
			Condition{True, ValidMetricFound}, Condition{False, NotScaledToZero}},
		{"asleep with nothing but pods to measure", DefaultController(), asleep, at0(podsOnly, 0, 0), 0,
			Condition{False, "FailedGetPodsMetric"}, asleep.ScaledToZero},
		{"without the feature gate", noGate, asleep, at0(externalHPA(0, 10, nil), 0, 7), 0,
			Condition{False, ScalingDisabled}, Condition{}},
		{"without the feature gate to zero", noGate, Conditions{}, at0(externalHPA(0, 10, nil), 3, 0), 0,
			Condition{True, ValidMetricFound}, Condition{}},
		{"to zero", DefaultController(), awake, at0(externalHPA(0, 10, nil), 3, 0), 0,
			Condition{True, ValidMetricFound}, asleep.ScaledToZero},
		{"to one, as min asks", DefaultController(), asleep, at0(externalHPA(1, 10, nil), 3, 0), 1,
			Condition{True, ValidMetricFound}, awake.ScaledToZero},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Memory: NewMemory(nil, nil), Conditions: tt.before}
			out := tt.controller.Reconcile(tt.in, &s)
			if out.Replicas != tt.want || out.Rescaled != (tt.want != tt.in.Workload.Scale.Spec) {
				t.Errorf("%d replicas, rescaled %v, want %d", out.Replicas, out.Rescaled, tt.want)
			}
			if s.Conditions.ScalingActive != tt.active || s.Conditions.ScaledToZero != tt.toZero {
				t.Errorf("conditions %+v", s.Conditions)
			}
		})
	}
}

// Every condition and reason, at replicas above zero. stale stands for what an earlier
// reconcile left behind: a condition that a reconcile does not touch stays.
func TestReconcileConditions(t *testing.T) {
	stale := Condition{True, "Stale"}
	before := Conditions{stale, stale, stale, Condition{False, NotScaledToZero}}
	fails := Reading{Err: errors.New("no answer")}
	two := externalHPA(1, 10, nil)
	two.Metrics = append(two.Metrics, Metric{Source: ObjectSource, Target: Target{Type: ValueTarget, Value: 1000}})
	slow, waiting := DefaultBehavior(), DefaultBehavior()
	slow.ScaleDown.Policies = []RatePolicy{{PodsPolicy, 1, MaxPeriod}}
	waiting.ScaleUp.Window = MaxWindow

	with := func(in Input, change func(*Input)) Input { change(&in); return in }
	for _, tt := range []struct {
		name   string
		memory Memory
		in     Input
		want   int32
		able   Condition
		active Condition
		limit  Condition
	}{
		{"the scale cannot be read", Memory{}, with(at0(externalHPA(1, 10, nil), 4, 9), func(in *Input) { in.NoScale = true }),
			4, Condition{False, FailedGetScale}, stale, stale},
		{"no change", Memory{}, at0(externalHPA(1, 10, nil), 4, 4),
			4, Condition{True, ReadyForNewScale}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"up", Memory{}, at0(externalHPA(1, 10, nil), 4, 6),
			6, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"up, refused", Memory{}, with(at0(externalHPA(1, 10, nil), 4, 6), func(in *Input) { in.Refused = true }),
			4, Condition{False, FailedUpdateScale}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"up beyond double", Memory{}, at0(externalHPA(1, 30, nil), 4, 20),
			8, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{True, ScaleUpLimit}},
		{"up beyond max", Memory{}, at0(externalHPA(1, 7, nil), 4, 20),
			7, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{True, TooManyReplicas}},
		{"down, held by the window", Memory{}, at0(externalHPA(1, 10, nil), 4, 1),
			4, Condition{True, ScaleDownStabilized}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"down below min", NewMemory(nil, nil), at0(externalHPA(3, 10, nil), 4, 1),
			3, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{True, TooFewReplicas}},
		{"down by a policy", NewMemory(nil, nil), at0(externalHPA(1, 10, &slow), 4, 1),
			3, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{True, ScaleDownLimit}},
		{"down by a policy that is used up", NewMemory(nil, []Event{change(-1, -1)}), at0(externalHPA(1, 10, &slow), 4, 1),
			4, Condition{True, ReadyForNewScale}, Condition{True, ValidMetricFound}, Condition{True, ScaleDownLimit}},
		{"up, held by the window", Memory{}, at0(externalHPA(1, 10, &waiting), 4, 9),
			4, Condition{True, ScaleUpStabilized}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"above max", Memory{}, at0(externalHPA(1, 3, nil), 4),
			3, Condition{True, SucceededRescale}, stale, stale},
		{"below min", Memory{}, at0(externalHPA(5, 9, nil), 4),
			5, Condition{True, SucceededRescale}, stale, stale},
		{"pods that cannot be told", Memory{}, with(at0(externalHPA(1, 9, nil), 4, 9), func(in *Input) { in.Selector = AmbiguousSelector }),
			4, Condition{True, SucceededGetScale}, Condition{False, AmbiguousSelector}, stale},
		{"the only metric fails", Memory{}, with(at0(externalHPA(1, 9, nil), 4), func(in *Input) { in.Readings = []Reading{fails} }),
			4, Condition{True, SucceededGetScale}, Condition{False, "FailedGetExternalMetric"}, stale},
		{"one of two fails, the other wants less", Memory{}, with(at0(two, 4), func(in *Input) { in.Readings = []Reading{{Series: []Milli{2000}}, fails} }),
			4, Condition{True, SucceededGetScale}, Condition{False, "FailedGetObjectMetric"}, stale},
		{"one of two fails, the other wants more", Memory{}, with(at0(two, 4), func(in *Input) { in.Readings = []Reading{{Series: []Milli{6000}}, fails} }),
			6, Condition{True, SucceededRescale}, Condition{True, ValidMetricFound}, Condition{False, DesiredWithinRange}},
		{"both fail: the first one's reason", Memory{}, with(at0(two, 4), func(in *Input) { in.Readings = []Reading{fails, fails} }),
			4, Condition{True, SucceededGetScale}, Condition{False, "FailedGetExternalMetric"}, stale},
		{"a reading that is missing", Memory{}, at0(externalHPA(1, 9, nil), 4),
			4, Condition{True, SucceededGetScale}, Condition{False, "FailedGetExternalMetric"}, stale},
		{"a source that there is not", Memory{}, with(at0(externalHPA(1, 9, nil), 4, 4), func(in *Input) { in.Spec.Metrics = []Metric{{Source: "Weather"}} }),
			4, Condition{True, SucceededGetScale}, Condition{False, InvalidMetricSourceType}, stale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Memory: tt.memory, Conditions: before}
			out := DefaultController().Reconcile(tt.in, &s)
			if out.Replicas != tt.want || out.Rescaled != (tt.want != 4) {
				t.Errorf("%d replicas, rescaled %v, want %d", out.Replicas, out.Rescaled, tt.want)
			}
			got := [3]Condition{s.Conditions.AbleToScale, s.Conditions.ScalingActive, s.Conditions.ScalingLimited}
			if want := [3]Condition{tt.able, tt.active, tt.limit}; got != want {
				t.Errorf("conditions %v, want %v", got, want)
			}
		})
	}
}

// Each deliberate difference alone: what the HPA does, and what we do.
func TestDifferences(t *testing.T) {
	percent := DefaultBehavior()
	percent.ScaleUp.Policies = []RatePolicy{{PercentPolicy, 100, MaxPeriod}}
	waiting := DefaultBehavior()
	waiting.ScaleUp.Window = MaxWindow
	asleep := Conditions{ScaledToZero: Condition{True, ScaledToZero}}

	ours := DefaultController()
	ours.Differences.FromOne = true
	for c, want := range map[*Controller]int32{{Tolerance: 0.1, ScaleToZero: true}: 0, &ours: 2} {
		s := State{Memory: NewMemory(nil, nil), Conditions: asleep}
		if out := c.Reconcile(at0(externalHPA(0, 10, &percent), 0, 9), &s); out.Replicas != want {
			t.Errorf("%+v: +100 %% wakes %d replicas, want %d", c.Differences, out.Replicas, want)
		}
	}

	// Without work nothing wakes, whatever limits the way down: 0 is no step from one.
	slow := DefaultBehavior()
	slow.ScaleDown.Window = 0
	slow.ScaleDown.Policies = []RatePolicy{{PodsPolicy, 1, time.Minute}}
	s := State{Memory: NewMemory(nil, nil)}
	in := at0(externalHPA(0, 10, &slow), 2, 0)
	for range 12 {
		in.Workload.Now += seconds(15)
		in.Workload.Scale.Spec = ours.Reconcile(in, &s).Replicas
		if in.Workload.Now >= seconds(75) && in.Workload.Scale.Spec != 0 {
			t.Errorf("%d replicas after %v without work", in.Workload.Scale.Spec, in.Workload.Now)
		}
	}

	ours.Differences = Differences{LongMemory: true, SeedDown: true}
	for c, want := range map[*Controller]int32{{Tolerance: 0.1}: 2, &ours: 6} {
		var s State
		if out := c.Reconcile(at0(externalHPA(1, 10, &waiting), 2, 9), &s); out.Replicas != want {
			t.Errorf("%+v: a new memory lets it go to %d, want %d", c.Differences, out.Replicas, want)
		}
	}

	// 9 was recommended two minutes ago under a window of one. The HPA has used the slot
	// again; when the window is made longer, we still know.
	ours.Differences = Differences{LongMemory: true}
	short, long := windows(0, 60), windows(0, 600)
	for _, b := range []*Behavior{&short, &long} {
		b.ScaleDown.Policies, b.ScaleUp.Policies = DefaultBehavior().ScaleDown.Policies, DefaultBehavior().ScaleUp.Policies
	}
	for c, want := range map[*Controller]int32{{}: 1, &ours: 9} {
		s := State{Memory: NewMemory(nil, nil)}
		for second, wants := range []Milli{9, 1, 1, 1} {
			in := at0(externalHPA(1, 10, &short), 9, wants)
			in.Workload.Now = seconds(second * 40)
			c.Reconcile(in, &s)
		}
		in := at0(externalHPA(1, 10, &long), 9, 1)
		in.Workload.Now = seconds(135)
		if out := c.Reconcile(in, &s); out.Replicas != want {
			t.Errorf("%+v: the longer window leaves %d, want %d", c.Differences, out.Replicas, want)
		}
	}
}

// A reconcile that only remembers and decides needs no memory of its own, with however
// many samples in the window.
func TestReconcileAllocatesNothing(t *testing.T) {
	behavior := windows(60, 600)
	behavior.ScaleUp.Policies = DefaultBehavior().ScaleUp.Policies
	behavior.ScaleDown.Policies = DefaultBehavior().ScaleDown.Policies
	c := DefaultController()
	c.Differences.LongMemory = true
	var s State
	in := at0(externalHPA(1, 10_000, &behavior), 9_000, 0)
	step := func() {
		in.Workload.Now += seconds(1)
		in.Readings[0].Series[0] = Milli(9_000_000 - in.Workload.Now/seconds(1)) // falls: no sample is outdone
		c.Reconcile(in, &s)
	}
	for range 10_000 { // until the memory is as large as it gets
		step()
	}
	if got := testing.AllocsPerRun(10_000, step); got != 0 {
		t.Errorf("%g allocations per reconcile", got)
	}
}
