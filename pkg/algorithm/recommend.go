package algorithm

import (
	"errors"
	"fmt"
	"math"
)

// DefaultTolerance is the controller's --horizontal-pod-autoscaler-tolerance.
const DefaultTolerance = 0.1

// Tolerance is how far the ratio of usage to target may be off in each direction
// before anything happens. Both are fractions: 0.1 is 10 %.
type Tolerance struct{ Down, Up float64 }

// Contains reports whether the ratio asks for no change. Both ends belong to the
// band: with 0.1, 22 jobs on 20 pods of target 1 hold, 22.001 do not.
func (t Tolerance) Contains(ratio float64) bool {
	return 1.0-t.Down <= ratio && ratio <= 1.0+t.Up
}

// ErrNoData is why a metric does not count whose API answered with nothing in it.
var ErrNoData = errors.New("the metric has no data")

// Recommend computes what one metric asks for. Its error is why the metric does not
// count: it could not be read, it has no data, a pod has no request, or the result
// leaves what an int32 can hold, where the HPA's own depends on the processor.
//
// Which target counts follows from the source, as upstream: a Resource looks at
// averageValue first and then at averageUtilization, External at averageValue and then
// at value, and only Object looks at the target's type.
//
// Source: horizontal.go, computeStatusFor*Metric; replica_calculator.go.
func Recommend(m Metric, r Reading, w Workload, tolerance Tolerance, warmup Warmup) (Calculation, error) {
	if r.Err != nil {
		return Calculation{}, r.Err
	}
	target := m.Target
	switch m.Source {
	case ResourceSource, ContainerResourceSource:
		switch {
		case target.AverageValue > 0:
			return podsAverageValue(m, r, w, tolerance, warmup)
		case target.Utilization > 0:
			return podsUtilization(m, r, w, tolerance, warmup)
		}
		return Calculation{}, noTarget(m, "averageValue or averageUtilization")
	case PodsSource:
		if target.AverageValue > 0 {
			return podsAverageValue(m, r, w, tolerance, warmup)
		}
		return Calculation{}, noTarget(m, "averageValue")
	case ObjectSource:
		return objectReplicas(m, r, w, tolerance)
	case ExternalSource:
		return externalReplicas(m, r, w, tolerance)
	}
	return Calculation{}, fmt.Errorf("metric source %q is none of Resource, ContainerResource, Pods, Object and External", m.Source)
}

func noTarget(m Metric, fields string) error {
	return fmt.Errorf("a metric of source %s needs the target %s, and it has to be positive", m.Source, fields)
}

func objectReplicas(m Metric, r Reading, w Workload, tolerance Tolerance) (Calculation, error) {
	if len(r.Series) != 1 {
		return Calculation{}, fmt.Errorf("an Object metric has one value, not %d: %w", len(r.Series), ErrNoData)
	}
	usage := r.Series[0]
	switch {
	case m.Target.Type == ValueTarget && m.Target.Value > 0:
		return valueReplicas(usage, m.Target.Value, w, tolerance)
	case m.Target.Type == AverageValueTarget && m.Target.AverageValue > 0:
		c := averageReplicas(usage, m.Target.AverageValue, w, tolerance)
		// Without the saturation that an External metric has.
		if f := math.Ceil(float64(usage) / float64(m.Target.AverageValue)); !c.WithinTolerance && !fits(f) {
			return Calculation{}, leavesInt32(f)
		}
		return c, nil
	}
	return Calculation{}, noTarget(m, "value or averageValue, the one that its type names")
}

func externalReplicas(m Metric, r Reading, w Workload, tolerance Tolerance) (Calculation, error) {
	if len(r.Series) == 0 {
		return Calculation{}, ErrNoData
	}
	switch {
	case m.Target.AverageValue > 0:
		usage := sumPerPod(r.Series)
		c := averageReplicas(usage, m.Target.AverageValue, w, tolerance)
		if float64(usage) >= math.MaxInt64 { // what has left int64 is shown as it is
			c.Average = math.MaxInt64
		}
		return c, nil
	case m.Target.Value > 0:
		return valueReplicas(sum(r.Series), m.Target.Value, w, tolerance)
	}
	return Calculation{}, noTarget(m, "averageValue or value")
}

// sum adds the series of a Value target; what would leave int64 upward stays at its end.
func sum(series []Milli) Milli {
	var total Milli
	for _, value := range series {
		if value > 0 && total > math.MaxInt64-value {
			return math.MaxInt64
		}
		total += value
	}
	return total
}

// sumPerPod adds the series of an AverageValue target. A sum below zero is taken for
// one that has left int64, even where a negative value made it: such a metric asks for
// as many pods as there can be.
func sumPerPod(series []Milli) Milli {
	var total Milli
	for _, value := range series {
		if total += value; total < 0 {
			return math.MaxInt64
		}
	}
	return total
}

// averageReplicas is AverageValue with the average that the status shows, 0 while there
// is nobody to divide by.
func averageReplicas(usage, target Milli, w Workload, tolerance Tolerance) Calculation {
	var c Calculation
	c.Replicas, c.WithinTolerance = AverageValue(usage, target, w.Scale.Status, tolerance)
	if w.Scale.Status == 0 {
		return c
	}
	c.Average = math.MaxInt64
	if average := math.Ceil(float64(usage) / float64(w.Scale.Status)); average < math.MaxInt64 {
		c.Average = Milli(average)
	}
	return c
}

// AverageValue is the HPA's formula for an External metric with an AverageValue
// target: ceil(usage/target), unless usage/(target*status) lies inside the
// tolerance, which answers status (status.replicas, not spec.replicas). held
// reports the latter. At status 0 the ratio is infinite or NaN, so the answer is
// exact. A count above MaxInt32 saturates.
//
//	37 jobs, target 5, status 0 -> 8
//	37 jobs, target 5, status 8 -> 8 (37/40 = 0.925 is inside)
//	35 jobs, target 5, status 8 -> 7 (35/40 = 0.875 is not)
//
// target must be positive. Source: replica_calculator.go,
// GetExternalPerPodMetricReplicas.
func AverageValue(usage, target Milli, status int32, tolerance Tolerance) (replicas int32, held bool) {
	ratio := float64(usage) / (float64(target) * float64(status))
	if tolerance.Contains(ratio) {
		return status, true
	}
	return saturate(math.Ceil(float64(usage) / float64(target))), false
}

// valueReplicas is the formula of a Value target, which the whole workload shares: the
// ratio of usage to target times the pods that are ready. Without replicas the ratio
// itself is the count, so the same number means something else.
//
//	30 jobs, target 10, 4 pods ready -> ceil(3 * 4) = 12
//	30 jobs, target 10, no replicas  -> ceil(3) = 3
//	21 jobs, target 10, none of the 4 pods ready -> 0
//
// Source: replica_calculator.go, getUsageRatioReplicaCount.
func valueReplicas(usage, target Milli, w Workload, tolerance Tolerance) (Calculation, error) {
	ratio := float64(usage) / float64(target)
	c := Calculation{Replicas: w.Scale.Spec, Average: usage}
	if w.Scale.Spec == 0 {
		count := math.Ceil(ratio)
		if !fits(count) {
			return Calculation{}, leavesInt32(count)
		}
		c.Replicas = int32(count)
		return c, nil
	}
	if tolerance.Contains(ratio) {
		c.WithinTolerance = true
		return c, nil
	}
	ready, err := readyRunning(w.Pods)
	if err != nil {
		return Calculation{}, err
	}
	count := math.Ceil(ratio * float64(ready))
	if count < math.MinInt32 {
		return Calculation{}, leavesInt32(count)
	}
	c.Replicas = saturate(count)
	return c, nil
}

// fits reports whether an int32 can hold f.
func fits(f float64) bool { return f >= math.MinInt32 && f <= math.MaxInt32 }

func leavesInt32(f float64) error {
	return fmt.Errorf("the metric asks for %g replicas, which is outside of %d to %d", f, math.MinInt32, math.MaxInt32)
}

// saturate converts a float to a replica count without leaving int32.
func saturate(f float64) int32 {
	switch {
	case f >= math.MaxInt32:
		return math.MaxInt32
	case f <= math.MinInt32:
		return math.MinInt32
	}
	return int32(f)
}
