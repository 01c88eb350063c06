package algorithm

import (
	"errors"
	"fmt"
	"math"
	"time"
)

var errNoPods = errors.New("the scale target's selector finds no pods: check that they exist and carry its labels")

// podsAverageValue calculates a metric that is read pod by pod against an averageValue.
// The ratio is the average of the readings over the target. The average is in whole
// milli, cut toward zero: readings of 10m, 11m and 11m are 10m on average.
// census.calculate is the rest of the formula. Errors: no pods, no reading that counts,
// a count that leaves int32.
//
// Source: replica_calculator.go, calcPlainMetricReplicas; metrics/utilization.go,
// GetMetricUsageRatio.
func podsAverageValue(m Metric, r Reading, w Workload, tol Tolerance, warmup Warmup) (Calculation, error) {
	target := m.Target.AverageValue
	c, err := takeCensus(m, r, w, warmup, func(*Pod) (need, error) { return need{atTarget: target}, nil })
	if err != nil {
		return Calculation{}, err
	}
	// Without requests to look up, readings of pods that the selector does not find count
	// like any other, except that they make no pod ready.
	c.measured, c.unmeasured = c.measured.plus(c.strangers(r)), 0
	return c.calculate(w.Scale.Spec, tol, func(s sums) (float64, Calculation, error) {
		average := s.used / Milli(s.pods)
		return float64(average) / float64(target), Calculation{Average: average}, nil
	})
}

// podsUtilization calculates a Resource or ContainerResource metric against a percentage
// of what the pods request. The ratio is the utilization over the target, and the
// utilization is in whole percent, cut toward zero: 999m used of 3 x 500m are 66 %.
// Beyond 84 TiB of memory in sum, a hundred times the usage leaves int64 and wraps around.
//
// A single pod without a request fails the metric, even one that is pending or being
// deleted. Readings of pods that the selector does not find are not in the utilization,
// as nobody knows their requests, but are counted in a second pass. census.calculate is
// the rest of the formula. Errors: those of podsAverageValue, a request that is missing,
// requests that add up to 0.
//
// Source: replica_calculator.go, GetResourceReplicas; metrics/utilization.go,
// GetResourceUtilizationRatio.
func podsUtilization(m Metric, r Reading, w Workload, tol Tolerance, warmup Warmup) (Calculation, error) {
	target := m.Target.Utilization
	c, err := takeCensus(m, r, w, warmup, func(pod *Pod) (need, error) {
		requested, err := request(pod, m.Container, m.Resource)
		// A target of 80 % takes a missing pod for 100 %, one of 150 % for 150 %.
		return need{requested, requested * Milli(max(100, target)) / 100}, err
	})
	if err != nil {
		return Calculation{}, err
	}
	return c.calculate(w.Scale.Spec, tol, func(s sums) (float64, Calculation, error) {
		if s.requested == 0 {
			return 0, Calculation{}, noRequests(m, s)
		}
		utilization := int32(s.used * 100 / s.requested) //nolint:gosec // cut as upstream does
		shown := Calculation{Average: s.used / Milli(s.pods), Utilization: utilization}
		return float64(utilization) / float64(target), shown, nil
	})
}

func noRequests(m Metric, s sums) error {
	if s.pods == 0 {
		return fmt.Errorf("%w of the pods that the scale target's selector finds, only of others", ErrNoData)
	}
	return fmt.Errorf("the requests for %s of the %d pods that count add up to 0: set some, or use an averageValue target", m.Resource, s.pods)
}

// readyRunning counts the pods that a Value target multiplies its ratio with: Running
// and Ready, those that are being deleted too. A workload without any pod is an error; one
// whose pods are all unready has 0.
//
// Source: replica_calculator.go, getReadyPodsCount.
func readyRunning(pods []Pod) (int, error) {
	if len(pods) == 0 {
		return 0, errNoPods
	}
	ready := 0
	for i := range pods {
		if pods[i].Phase == Running && pods[i].Ready == True {
			ready++
		}
	}
	return ready, nil
}

// measure is the ratio of usage to target of some pods, and what the status shows of it.
type measure func(sums) (ratio float64, shown Calculation, err error)

// calculate takes the readings at their word first, and that is what the status shows:
//
//	25 pods ready, utilization 22 %, target 10 % -> 56
//	because 2.2 * 25 is 55.00000000000001 in binary, of which the ceiling is taken
//
// If a pod's reading is missing, or pods are unready while the others ask for more, then
// a second pass fills in for them, always against the direction of the first (see
// refilled), and multiplies with every pod that it looked at:
//
//	20, 20 and nothing, target 10: ratio 2, up     -> (20 + 20 + 0) / 3 = 13.333, 1.3333 * 3 -> 4
//	 4,  4 and nothing, target 10: ratio 0.4, down -> (4 + 4 + 10) / 3 = 6, 0.6 * 3 -> 2
//
// What is filled in may stop a move but not turn it: if the second pass asks for the other
// direction, by its ratio or by its count, current stays. The first pass alone has no such
// guard: with 5 replicas and only 2 pods, a ratio of 2 asks for 4.
//
// Source: replica_calculator.go, calcPlainMetricReplicas and GetResourceReplicas, which
// agree in all of this.
func (c census) calculate(current int32, tol Tolerance, of measure) (Calculation, error) {
	first, shown, err := of(c.measured)
	if err != nil {
		return Calculation{}, err
	}
	ratio, pods := first, c.ready
	upWithUnready := c.unready.pods > 0 && first > 1
	again := upWithUnready || c.missing.pods > 0
	if again {
		refilled := c.refilled(first)
		if ratio, _, err = of(refilled); err != nil {
			return Calculation{}, err
		}
		pods = refilled.pods + c.unmeasured
	}

	shown.Replicas = current
	if tol.Contains(ratio) {
		shown.WithinTolerance = true
		return shown, nil
	}
	if (first < 1 && ratio > 1) || (first > 1 && ratio < 1) {
		return shown, nil
	}
	count := math.Ceil(ratio * float64(pods))
	if !fits(count) {
		return Calculation{}, leavesInt32(count)
	}
	n := int32(count)
	if again && ((ratio < 1 && n > current) || (ratio > 1 && n < current)) {
		return shown, nil
	}
	shown.Replicas = n
	return shown, nil
}

// census is what the readings of a workload's pods come to, group by group.
type census struct {
	// measured are the readings that count: what a first pass looks at.
	measured sums
	// ready is how many pods have such a reading.
	ready int
	// unready use nothing in these sums, missing what they would use at exactly the target.
	unready, missing sums
	ignored          int
	// unmeasured is how many readings are of pods that the selector does not find, known
	// what the readings of all others add up to.
	unmeasured int
	known      Milli
}

// sums add up some pods: how many, what they use, and what they request where the target
// is a utilization. Milli beyond int64 wrap around, as upstream's do.
type sums struct {
	pods            int
	used, requested Milli
}

func (s sums) plus(o sums) sums {
	return sums{s.pods + o.pods, s.used + o.used, s.requested + o.requested}
}

// idle is the same pods using nothing.
func (s sums) idle() sums {
	s.used = 0
	return s
}

// need is what one pod requests and what it would use at exactly the target.
type need struct{ requested, atTarget Milli }

// takeCensus groups the pods, whose names have to differ. needOf is asked about every one
// of them, the ignored too.
func takeCensus(m Metric, r Reading, w Workload, warmup Warmup, needOf func(*Pod) (need, error)) (census, error) {
	if len(w.Pods) == 0 {
		return census{}, errNoPods
	}
	waits := m.Resource == CPU && m.Source != PodsSource
	c := census{unmeasured: len(r.Pods)}
	for i := range w.Pods {
		pod := &w.Pods[i]
		its, err := needOf(pod)
		if err != nil {
			return census{}, err
		}
		reading, found := r.Pods[pod.Name]
		if found {
			c.unmeasured--
			c.known += reading.Value
		}
		young := waits && warmup.distrusts(pod, reading, w.Now)
		switch groupOf(pod, found, young) {
		case readyGroup:
			c.ready++
			c.measured = c.measured.plus(sums{1, reading.Value, its.requested})
		case unreadyGroup:
			c.unready = c.unready.plus(sums{1, 0, its.requested})
		case missingGroup:
			c.missing = c.missing.plus(sums{1, its.atTarget, its.requested})
		case ignoredGroup:
			c.ignored++
		}
	}
	if c.ready+c.unmeasured == 0 {
		return census{}, fmt.Errorf("%w that counts, pods: %d, pending or starting: %d, without a reading: %d, failed or being deleted: %d",
			ErrNoData, len(w.Pods), c.unready.pods, c.missing.pods, c.ignored)
	}
	return c, nil
}

// strangers are the readings of pods that the selector does not find: all without the
// known ones.
func (c census) strangers(r Reading) sums {
	if c.unmeasured == 0 {
		return sums{}
	}
	s := sums{pods: c.unmeasured, used: -c.known}
	for _, reading := range r.Pods {
		s.used += reading.Value
	}
	return s
}

// refilled is what a second pass looks at. What a pod without a reading uses is assumed so
// that it damps: on the way down the missing use exactly the target, on the way up
// nothing. Unready pods are idle on the way up, as they will take their share of the load
// soon, and left out on the way down. A ratio of exactly 1 has no direction and leaves both
// out.
func (c census) refilled(ratio float64) sums {
	switch {
	case ratio < 1:
		return c.measured.plus(c.missing)
	case ratio > 1:
		return c.measured.plus(c.missing.idle()).plus(c.unready)
	}
	return c.measured
}

// group is what a pod's reading is worth.
type group int

const (
	readyGroup   group = iota // it counts
	unreadyGroup              // it is not trusted, or not expected yet
	missingGroup              // there should be one
	ignoredGroup              // the pod is on its way out
)

// groupOf sorts one pod; the first rule that applies wins. A pod that is done, Succeeded,
// is not on its way out: without a reading it is missing. young is what Warmup.distrusts
// says of its reading.
//
// Source: replica_calculator.go, groupPods.
func groupOf(pod *Pod, found, young bool) group {
	switch {
	case pod.Deleting || pod.Phase == Failed:
		return ignoredGroup
	case pod.Phase == Pending:
		return unreadyGroup
	case !found:
		return missingGroup
	case young:
		return unreadyGroup
	}
	return readyGroup
}

// distrusts reports whether a pod's CPU reading tells of its start and not of its work.
// With the defaults, 5 minutes and 30 seconds:
//
//	started 4:59 ago, not ready                                       -> distrusted
//	started 4:59 ago, ready for 39 s, read 10 s ago over 30 s         -> distrusted
//	started 4:59 ago, ready for 40 s, read 10 s ago over 30 s         -> trusted
//	started 5:00 ago, not ready since 29 s after its start, so never  -> distrusted
//	started 5:00 ago, not ready since 30 s after its start            -> trusted
//
// Unknown is not False: a node that is out of touch does not make its pods young.
func (w Warmup) distrusts(pod *Pod, reading PodReading, now time.Duration) bool {
	if pod.Ready == "" || !pod.HasStarted {
		return true
	}
	if pod.Started+w.CPUInitialization > now {
		return pod.Ready == False || reading.At < pod.ReadySince+reading.Window
	}
	neverReady := pod.Started+w.InitialReadiness > pod.ReadySince
	return pod.Ready == False && neverReady
}
