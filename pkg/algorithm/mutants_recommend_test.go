package algorithm

import (
	"errors"
	"math"
	"strings"
	"testing"
)

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
		{"-1m is one, and no pod has a share of it", ExternalSource, Target{AverageValue: 10_000}, []Milli{-1}, Scale{3, 3}, none,
			Calculation{Replicas: math.MaxInt32, Average: math.MaxInt64}},
		{"an average of the end of int64", ObjectSource, Target{Type: AverageValueTarget, AverageValue: 1 << 53}, []Milli{math.MaxInt64}, Scale{1, 1}, none,
			Calculation{Replicas: 1024, Average: math.MaxInt64}},
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
