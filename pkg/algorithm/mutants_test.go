package algorithm

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// What mutants showed that no other test looks at. Each case says what would go wrong.

// The names are those of Kubernetes' API and of its controller: other programs and
// people's alerts look for them.
func TestNamesAreKubernetes(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{join(ResourceSource, ContainerResourceSource, PodsSource, ObjectSource, ExternalSource),
			"Resource ContainerResource Pods Object External"},
		{join(ValueTarget, AverageValueTarget, UtilizationTarget), "Value AverageValue Utilization"},
		{join(Pending, Running, Succeeded, Failed, Unknown), "Pending Running Succeeded Failed Unknown"},
		{join(True, False, Uncertain), "True False Unknown"},
		{join(PodsPolicy, PercentPolicy), "Pods Percent"},
		{join(SelectMax, SelectMin, SelectDisabled), "Max Min Disabled"},
		{join(DesiredWithinRange, TooFewReplicas, TooManyReplicas, ScaleUpLimit, ScaleDownLimit),
			"DesiredWithinRange TooFewReplicas TooManyReplicas ScaleUpLimit ScaleDownLimit"},
		{join(ReadyForNewScale, ScaleUpStabilized, ScaleDownStabilized),
			"ReadyForNewScale ScaleUpStabilized ScaleDownStabilized"},
		{join(FailedGetScale, SucceededGetScale, FailedUpdateScale, SucceededRescale),
			"FailedGetScale SucceededGetScale FailedUpdateScale SucceededRescale"},
		{join(ValidMetricFound, ScalingDisabled, InvalidSelector, AmbiguousSelector, InvalidMetricSourceType),
			"ValidMetricFound ScalingDisabled InvalidSelector AmbiguousSelector InvalidMetricSourceType"},
		{join(ScaledToZero, NotScaledToZero), "ScaledToZero NotScaledToZero"},
		{CPU, "cpu"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

func join[T ~string](names ...T) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	return strings.Join(all, " ")
}

// A default is a promise, to the second.
func TestDefaultsAreKubernetes(t *testing.T) {
	behavior := Behavior{
		ScaleUp: Rules{Select: "Max", Tolerance: 0.1, Policies: []RatePolicy{
			{Type: "Pods", Value: 4, Period: 15e9}, {Type: "Percent", Value: 100, Period: 15e9}}},
		ScaleDown: Rules{Select: "Max", Tolerance: 0.1, Window: 300e9, Policies: []RatePolicy{
			{Type: "Percent", Value: 100, Period: 15e9}}},
	}
	if got := DefaultBehavior(); !reflect.DeepEqual(got, behavior) {
		t.Errorf("behavior %+v, want %+v", got, behavior)
	}
	controller := Controller{
		Tolerance: 0.1, DownscaleStabilization: 300e9, ScaleToZero: true,
		Warmup: Warmup{CPUInitialization: 300e9, InitialReadiness: 30e9},
	}
	if got := DefaultController(); got != controller {
		t.Errorf("controller %+v, want %+v", got, controller)
	}
	if MaxWindow != 3600e9 || MaxPeriod != 1800e9 {
		t.Errorf("a window is at most %v, want 1h; a period %v, want 30m", MaxWindow, MaxPeriod)
	}
}

func TestQuantitiesAtTheirEdges(t *testing.T) {
	for value, want := range map[float64]Milli{
		// A millionth of a thousandth is no noise, what is below is.
		9.999999999999999e-10: 1,
		9.999999999999997e-10: 0,
		// The last binary digit of 8589934600.000002 is noise, two of them are not.
		8589934.600000001: 8_589_934_600,
		8589934.600000003: 8_589_934_601,
	} {
		if got, err := ToMilli(value); err != nil || got != want {
			t.Errorf("ToMilli(%v) = %d, %v, want %d", value, got, err, want)
		}
	}
	for _, tt := range []struct {
		m    Milli
		n    int32
		want Milli
	}{
		{MaxMilli + 1, 1, MaxMilli},
		{MaxMilli / 7, 7, MaxMilli - 5},       // 1285714285714285.71 * 7, cut
		{MaxMilli/7 + 1, 7, MaxMilli},         // would be 2 above
		{MaxMilli / 9, 9, MaxMilli},           // exactly
		{(MaxMilli - 1) / 9, 9, MaxMilli - 9}, // one step below
	} {
		if got := tt.m.Times(tt.n); got != tt.want {
			t.Errorf("%d times %d = %d, want %d", tt.m, tt.n, got, tt.want)
		}
	}
}

// The ends of int32, where a limit must neither wrap around nor stop one short.
func TestLimitsAtTheirEdges(t *testing.T) {
	for _, tt := range []struct {
		name             string
		current, desired int32
		most             int32
		up               Rules
		events           []Event
		want             Limited
	}{
		{"no policies, Min: no limit up to the last replica", 0, math.MaxInt32, math.MaxInt32, rules(SelectMin), nil,
			Limited{math.MaxInt32, DesiredWithinRange, 0}},
		{"a person took away what the policy had added", 3, 9, 99, rules(SelectMax, pods(4, 60)), []Event{change(0, 10)},
			Limited{3, ScaleUpLimit, seconds(60)}},
		{"of two that allow the same the first says until when, Max", 5, 20, 99, rules(SelectMax, pods(4, 60), percent(100, 90)), []Event{change(0, 1)},
			Limited{8, ScaleUpLimit, seconds(60)}},
		{"of two that allow the same the first says until when, Min", 4, 20, 99, rules(SelectMin, pods(4, 60), pods(4, 90)), []Event{change(0, 1)},
			Limited{7, ScaleUpLimit, seconds(60)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := Behavior{ScaleUp: tt.up}
			if got := Limit(tt.current, tt.desired, Bounds{Max: tt.most}, b, tt.events, seconds(30)); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// The rules without a behavior: until when a count is held, to the nanosecond.
func TestOlderRulesAtTheirEdges(t *testing.T) {
	h := History{}.Add(0, 9)
	for _, tt := range []struct {
		now  time.Duration
		want Stabilized
	}{
		{time.Minute, Stabilized{9, ScaleDownStabilized, time.Minute}},
		{time.Minute + 1, Stabilized{4, ReadyForNewScale, 0}},
	} {
		if got := stabilizeDown(4, h, tt.now, time.Minute); got != tt.want {
			t.Errorf("after %v: %+v, want %+v", tt.now, got, tt.want)
		}
	}
	for _, tt := range []struct {
		desired int32
		bounds  Bounds
		want    Limited
	}{
		{9, Bounds{1, 5}, Limited{5, TooManyReplicas, 0}},
		{9, Bounds{1, 20}, Limited{6, ScaleUpLimit, 0}},
		{0, Bounds{1, 20}, Limited{1, TooFewReplicas, 0}},
		{6, Bounds{1, 20}, Limited{6, DesiredWithinRange, 0}},
	} {
		if got := limitDoubling(3, tt.desired, tt.bounds); got != tt.want {
			t.Errorf("from 3 to %d within %v: %+v, want %+v", tt.desired, tt.bounds, got, tt.want)
		}
	}
}

// What a new memory starts from, and how long Dashpot's keeps a change.
func TestMemoryOfEachDifference(t *testing.T) {
	first := []Sample{at(0, 7)}
	for _, tt := range []struct {
		d           Differences
		highs, lows []Sample
	}{
		{Differences{}, first, first},
		{Differences{LongMemory: true}, first, first},
		{Differences{LongMemory: true, SeedDown: true}, first, nil},
	} {
		var m Memory
		tt.d.seed(&m, 0, 7)
		tt.d.seed(&m, seconds(15), 8) // has begun
		if got, _ := tt.d.pastOf(&m); !slices.Equal(got.Highs, tt.highs) || !slices.Equal(got.Lows, tt.lows) {
			t.Errorf("%+v starts from %+v", tt.d, got)
		}
	}

	var m Memory
	long, b := Differences{LongMemory: true}, Behavior{}
	for _, e := range []Event{{0, 1}, {1, 2}, {MaxPeriod, 3}} {
		long.change(&m, e, &b)
	}
	if want := []Event{{1, 2}, {MaxPeriod, 3}}; !slices.Equal(m.events, want) { // as old as the longest period is outside
		t.Errorf("after 30 minutes it remembers %v, want %v", m.events, want)
	}
}

// Which metrics can be read while nothing runs decides who may sleep and who wakes.
func TestReconcileSleepsWithWhatCanWakeIt(t *testing.T) {
	asleep := Condition{True, ScaledToZero}
	spec := func(m Metric) Spec { return Spec{Bounds: Bounds{Min: 0, Max: 10}, Metrics: []Metric{m}} }
	object := spec(Metric{Source: ObjectSource, Target: Target{Type: AverageValueTarget, AverageValue: 1000}})
	onlyPods := spec(Metric{Source: PodsSource, Target: Target{AverageValue: 1000}})
	resource := spec(Metric{Source: ResourceSource, Resource: CPU, Target: Target{Utilization: 50}})
	for _, tt := range []struct {
		name   string
		in     Input
		want   int32
		active Reason
		toZero Condition
	}{
		{"Object wakes", at0(object, 0, 3), 3, ValidMetricFound, Condition{False, NotScaledToZero}},
		{"Object sleeps", at0(object, 3, 0), 0, ValidMetricFound, asleep},
		{"pods cannot be read at 0", at0(onlyPods, 0, 3), 0, ScalingDisabled, asleep},
		{"a resource of no pods fails", at0(resource, 3, 3), 3, "FailedGetResourceMetric", asleep},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Conditions: Conditions{ScaledToZero: asleep}, Memory: NewMemory(nil, nil)}
			out := DefaultController().Reconcile(tt.in, &s)
			if out.Replicas != tt.want || s.Conditions.ScalingActive.Reason != tt.active || s.Conditions.ScaledToZero != tt.toZero {
				t.Errorf("%d replicas, %+v; want %d, %s, %+v", out.Replicas, s.Conditions, tt.want, tt.active, tt.toZero)
			}
		})
	}
}

// One pod is as much of a wish as any other: half of one replica is one, of none it is none.
func TestReconcileWakesOnePodFromOne(t *testing.T) {
	half := DefaultBehavior()
	half.ScaleUp.Policies = []RatePolicy{percent(50, 15)}
	for fromOne, want := range map[bool]int32{true: 1, false: 0} {
		c := DefaultController()
		c.Differences.FromOne = fromOne
		s := State{Conditions: Conditions{ScaledToZero: Condition{True, ScaledToZero}}, Memory: NewMemory(nil, nil)}
		if out := c.Reconcile(at0(externalHPA(0, 10, &half), 0, 1), &s); out.Replicas != want {
			t.Errorf("FromOne %v: %d replicas, want %d", fromOne, out.Replicas, want)
		}
	}
}

// Every reconcile has its own calculations, one for each metric in their order.
func TestReconcileShowsItsCalculations(t *testing.T) {
	spec := externalHPA(1, 10, nil)
	spec.Metrics = append(spec.Metrics, spec.Metrics[0], spec.Metrics[0])
	in := at0(spec, 4, 4, 6, 0)
	in.Readings[2] = Reading{}
	s := State{}
	for range 2 {
		out := DefaultController().Reconcile(in, &s)
		want := []Calculation{{Replicas: 4, Average: 1000, WithinTolerance: true}, {Replicas: 6, Average: 1500}, {Failed: true}}
		if !slices.Equal(out.Calculations, want) || out.Decider != 1 || out.Recommended != 6 || !errors.Is(out.Err, ErrNoData) {
			t.Errorf("%+v", out)
		}
	}
}
