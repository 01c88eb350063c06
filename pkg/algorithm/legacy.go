package algorithm

import (
	"math"
	"time"
)

// stabilizeDown is the only window of an HPA without behavior: the largest
// recommendation of the controller's downscale stabilisation. Unlike the windows of a
// behavior it counts a sample exactly as old as itself, and it also raises: one reading
// of 30 at 3 replicas is followed for five minutes, 6, 12, 24, 30.
//
// Source: horizontal.go, stabilizeRecommendation.
func stabilizeDown(desired int32, h History, now, window time.Duration) Stabilized {
	const closed = time.Nanosecond // what makes a window count a sample as old as itself
	largest, until := extreme(h.Highs, desired, now, window+closed, func(s, d int32) bool { return s > d })
	if largest == desired {
		return Stabilized{Replicas: desired, Reason: ReadyForNewScale}
	}
	return Stabilized{Replicas: largest, Reason: ScaleDownStabilized, Until: until - closed}
}

// limitDoubling are the limits of an HPA without behavior: upward at most twice the
// count, or 4, in one reconcile; downward none. From 3 it allows 6, from 1 and from 0 it
// allows 4. The lower bound comes first and is reached at once.
//
// Source: horizontal.go, convertDesiredReplicasWithRules.
func limitDoubling(current, desired int32, bounds Bounds) Limited {
	allowed := Limited{bounds.Max, TooManyReplicas, 0}
	if limit := saturate(math.Max(2*float64(current), 4)); bounds.Max > limit {
		allowed = Limited{limit, ScaleUpLimit, 0}
	}
	switch {
	case desired < bounds.Min:
		return Limited{bounds.Min, TooFewReplicas, 0}
	case desired > allowed.Replicas:
		return allowed
	}
	return Limited{desired, DesiredWithinRange, 0}
}
