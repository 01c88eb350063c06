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

// scalePods are so many pods that run, some of them ready.
func scalePods(ready, unready int) []Pod {
	var all []Pod
	for i := range ready + unready {
		status := True
		if i >= ready {
			status = False
		}
		all = append(all, Pod{Phase: Running, Ready: status})
	}
	return all
}

// One value for the whole workload: Object and External. Usage and target are in milli.
func TestRecommendOneValue(t *testing.T) {
	value, average := Target{Type: ValueTarget, Value: 10_000}, Target{Type: AverageValueTarget, AverageValue: 10_000}
	both := Target{Type: ValueTarget, Value: 10_000, AverageValue: 1000}
	none := []Pod(nil)
	for _, tt := range []struct {
		name   string
		source MetricSource
		target Target
		series []Milli
		scale  Scale
		pods   []Pod
		want   Calculation
	}{
		{"the ratio times the ready pods", ObjectSource, value, []Milli{30_000}, Scale{4, 4}, scalePods(4, 2), Calculation{Replicas: 12, Average: 30_000}},
		{"rounded up", ObjectSource, value, []Milli{12_000}, Scale{4, 4}, scalePods(4, 0), Calculation{Replicas: 5, Average: 12_000}},
		{"inside the tolerance it is spec.replicas, pods or not", ObjectSource, value, []Milli{11_000}, Scale{4, 7}, none,
			Calculation{Replicas: 4, Average: 11_000, WithinTolerance: true}},
		{"no pod ready asks for none", ObjectSource, value, []Milli{21_000}, Scale{4, 4}, scalePods(0, 4), Calculation{Average: 21_000}},
		{"without replicas the ratio is the count", ObjectSource, value, []Milli{31_000}, Scale{0, 0}, none, Calculation{Replicas: 4, Average: 31_000}},
		{"without replicas there is no tolerance", ObjectSource, value, []Milli{10_100}, Scale{0, 0}, none, Calculation{Replicas: 2, Average: 10_100}},
		{"one replica is not none", ObjectSource, value, []Milli{30_000}, Scale{1, 1}, scalePods(2, 0), Calculation{Replicas: 6, Average: 30_000}},
		{"saturates", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{math.MaxInt32 * 1000}, Scale{1, 1}, scalePods(3, 0),
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt32 * 1000}},
		{"the largest count without replicas", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{math.MaxInt32}, Scale{0, 0}, none,
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt32}},
		{"the smallest count", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{math.MinInt32}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MinInt32, Average: math.MinInt32}},
		{"the smallest count without replicas", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{math.MinInt32}, Scale{0, 0}, none,
			Calculation{Replicas: math.MinInt32, Average: math.MinInt32}},
		{"a target of 1m", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{3}, Scale{1, 1}, scalePods(1, 0), Calculation{Replicas: 3, Average: 3}},

		{"per pod", ObjectSource, average, []Milli{42_000}, Scale{3, 3}, none, Calculation{Replicas: 5, Average: 14_000}},
		{"per pod, inside the tolerance it is status.replicas", ObjectSource, average, []Milli{43_000}, Scale{3, 4}, none,
			Calculation{Replicas: 4, Average: 10_750, WithinTolerance: true}},
		{"the average is rounded up", ObjectSource, average, []Milli{70_000}, Scale{3, 3}, none, Calculation{Replicas: 7, Average: 23_334}},
		{"of nobody there is no average", ObjectSource, average, []Milli{41_000}, Scale{0, 0}, none, Calculation{Replicas: 5}},
		{"one pod's average", ObjectSource, average, []Milli{41_000}, Scale{1, 1}, none, Calculation{Replicas: 5, Average: 41_000}},
		{"an average target of 1m", ObjectSource, Target{Type: AverageValueTarget, AverageValue: 1}, []Milli{3}, Scale{1, 1}, none, Calculation{Replicas: 3, Average: 3}},
		{"the largest count per pod", ObjectSource, Target{Type: AverageValueTarget, AverageValue: 1}, []Milli{math.MaxInt32}, Scale{1, 1}, none,
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt32}},
		{"a count that fits, of numbers whose product would not", ObjectSource, average, []Milli{10_000_000}, Scale{1, 1}, none,
			Calculation{Replicas: 1000, Average: 10_000_000}},
		{"one below the largest count", ExternalSource, Target{AverageValue: 1}, []Milli{math.MaxInt32 - 1}, Scale{1, 1}, none,
			Calculation{Replicas: math.MaxInt32 - 1, Average: math.MaxInt32 - 1}},
		{"one above the smallest count", ObjectSource, Target{Type: ValueTarget, Value: 1}, []Milli{math.MinInt32 + 1}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MinInt32 + 1, Average: math.MinInt32 + 1}},
		{"the type decides for Object", ObjectSource, both, []Milli{30_000}, Scale{4, 4}, scalePods(4, 0), Calculation{Replicas: 12, Average: 30_000}},

		{"the average goes first for External", ExternalSource, both, []Milli{30_000}, Scale{4, 4}, scalePods(4, 0), Calculation{Replicas: 30, Average: 7500}},
		{"series add up", ExternalSource, Target{Value: 10_000}, []Milli{10_000, 20_000}, Scale{4, 4}, scalePods(4, 0), Calculation{Replicas: 12, Average: 30_000}},
		{"a negative series takes away", ExternalSource, Target{Value: 10_000}, []Milli{50_000, -20_000}, Scale{4, 4}, scalePods(4, 0), Calculation{Replicas: 12, Average: 30_000}},
		{"a sum beyond int64 stays at its end", ExternalSource, Target{Value: 1}, []Milli{math.MaxInt64, 1}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64}},
		{"a sum of exactly the end of int64", ExternalSource, Target{Value: 1}, []Milli{math.MaxInt64 - 1, 1}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64}},
		{"an end that is passed and come back from", ExternalSource, Target{Value: 1}, []Milli{math.MaxInt64, 1, -5}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64}},
		{"nothing added at the end of int64", ExternalSource, Target{Value: 1}, []Milli{math.MaxInt64, 0, -5}, Scale{1, 1}, scalePods(1, 0),
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64 - 5}},
		{"a value target of 1m", ExternalSource, Target{Value: 1}, []Milli{3}, Scale{1, 1}, scalePods(1, 0), Calculation{Replicas: 3, Average: 3}},
		{"an average target of 1m, External", ExternalSource, Target{AverageValue: 1}, []Milli{3}, Scale{1, 1}, none, Calculation{Replicas: 3, Average: 3}},
		{"nothing is no negative sum", ExternalSource, Target{AverageValue: 10_000}, []Milli{0}, Scale{3, 3}, none, Calculation{}},
		{"-1m is one", ExternalSource, Target{AverageValue: 10_000}, []Milli{-1}, Scale{1, 1}, none,
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Metric{Source: tt.source, Target: tt.target}
			w := Workload{Scale: tt.scale, Pods: tt.pods}
			got, err := Recommend(m, Reading{Series: tt.series}, w, Tolerance{0.1, 0.1}, DefaultWarmup())
			if err != nil || got != tt.want {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

// What has no answer says why, and names what would help.
func TestRecommendRefuses(t *testing.T) {
	down := errors.New("the API is down")
	one := Reading{Series: []Milli{1}}
	of := func(value Milli) Reading { return Reading{Series: []Milli{value}} }
	tooMany := "outside of -2147483648 to 2147483647"
	tiny := Target{Type: ValueTarget, Value: 1}
	tinyAverage := Target{Type: AverageValueTarget, AverageValue: 1}
	wrongType := "value or averageValue, the one that its type names"
	for _, tt := range []struct {
		name   string
		metric Metric
		r      Reading
		scale  Scale
		want   string
	}{
		{"the reading's own error", Metric{Source: ExternalSource, Target: tiny}, Reading{Err: down, Series: []Milli{1}}, Scale{1, 1}, "the API is down"},
		{"no series", Metric{Source: ExternalSource, Target: tiny}, Reading{}, Scale{1, 1}, "no data"},
		{"no value", Metric{Source: ObjectSource, Target: tiny}, Reading{}, Scale{1, 1}, "one value, not 0"},
		{"two values", Metric{Source: ObjectSource, Target: tiny}, Reading{Series: []Milli{1, 2}}, Scale{1, 1}, "one value, not 2"},
		{"Object without a target", Metric{Source: ObjectSource, Target: Target{Type: ValueTarget}}, one, Scale{0, 0}, wrongType},
		{"Object with the other target only", Metric{Source: ObjectSource, Target: Target{Type: ValueTarget, AverageValue: 1}}, one, Scale{0, 0}, wrongType},
		{"Object with the other target only, average", Metric{Source: ObjectSource, Target: Target{Type: AverageValueTarget, Value: 1}}, one, Scale{0, 0}, wrongType},
		{"Object with a target of no type", Metric{Source: ObjectSource, Target: Target{Type: UtilizationTarget, Value: 1, AverageValue: 1}}, one, Scale{0, 0}, wrongType},
		{"External without a target", Metric{Source: ExternalSource}, one, Scale{0, 0}, "averageValue or value"},
		{"Resource without a target", Metric{Source: ResourceSource}, one, Scale{1, 1}, "averageValue or averageUtilization"},
		{"Pods without a target", Metric{Source: PodsSource}, one, Scale{1, 1}, "needs the target averageValue,"},
		{"no source", Metric{Target: tiny}, one, Scale{1, 1}, `"" is none of`},

		{"one more than int32 without replicas", Metric{Source: ObjectSource, Target: tiny}, of(math.MaxInt32 + 1), Scale{0, 0}, tooMany},
		{"one less than int32 without replicas", Metric{Source: ObjectSource, Target: tiny}, of(math.MinInt32 - 1), Scale{0, 0}, tooMany},
		{"one less than int32", Metric{Source: ObjectSource, Target: tiny}, of(math.MinInt32 - 1), Scale{1, 1}, tooMany},
		{"a quarter more than int32 per pod", Metric{Source: ObjectSource, Target: Target{Type: AverageValueTarget, AverageValue: 4}},
			of(4*math.MaxInt32 + 1), Scale{1, 1}, tooMany},
		{"one more than int32 per pod", Metric{Source: ObjectSource, Target: tinyAverage}, of(math.MaxInt32 + 1), Scale{1, 1}, tooMany},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Recommend(tt.metric, tt.r, Workload{Scale: tt.scale, Pods: scalePods(1, 0)}, Tolerance{0.1, 0.1}, DefaultWarmup())
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != (Calculation{}) {
				t.Errorf("%+v, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
	if _, err := Recommend(Metric{Source: ObjectSource, Target: tiny}, Reading{}, Workload{}, Tolerance{}, Warmup{}); !errors.Is(err, ErrNoData) {
		t.Errorf("%v is not ErrNoData", err)
	}
}

// A target of 1m or 1 % is one, however small.
func TestRecommendTakesTheSmallestTarget(t *testing.T) {
	pod := Pod{Name: "a", Phase: Running, Ready: True, Requests: map[string]Milli{"memory": 100}}
	r := Reading{Pods: map[string]PodReading{"a": {Value: 3}}}
	for _, m := range []Metric{
		{Source: ResourceSource, Resource: "memory", Target: Target{AverageValue: 1}},
		{Source: ResourceSource, Resource: "memory", Target: Target{Utilization: 1}},
		{Source: PodsSource, Target: Target{AverageValue: 1}},
	} {
		got, err := Recommend(m, r, Workload{Scale: Scale{1, 1}, Pods: []Pod{pod}}, Tolerance{}, Warmup{})
		if err != nil || got.Replicas != 3 {
			t.Errorf("%+v: %+v, %v; want 3 replicas", m, got, err)
		}
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
