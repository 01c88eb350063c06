package algorithm

import (
	"math"
	"time"
)

// The reasons of ScalingLimited.
const (
	DesiredWithinRange Reason = "DesiredWithinRange"
	TooFewReplicas     Reason = "TooFewReplicas"
	TooManyReplicas    Reason = "TooManyReplicas"
	ScaleUpLimit       Reason = "ScaleUpLimit"
	ScaleDownLimit     Reason = "ScaleDownLimit"
)

// PolicyType is the unit of a rate policy's value.
type PolicyType string

// The policy types of autoscaling/v2.
const (
	PodsPolicy    PolicyType = "Pods"
	PercentPolicy PolicyType = "Percent"
)

// MaxPeriod is the longest periodSeconds that Kubernetes accepts.
const MaxPeriod = 30 * time.Minute

// RatePolicy allows a change of Value pods or percent per Period.
type RatePolicy struct {
	Type   PolicyType    `json:"type"`
	Value  int32         `json:"value"`
	Period time.Duration `json:"period"`
}

// SelectPolicy chooses among the limits of several policies.
type SelectPolicy string

// The selectPolicy values of autoscaling/v2. Max allows the largest change.
const (
	SelectMax      SelectPolicy = "Max"
	SelectMin      SelectPolicy = "Min"
	SelectDisabled SelectPolicy = "Disabled"
)

// Rules say how one direction may scale.
type Rules struct {
	Window    time.Duration `json:"window"`
	Select    SelectPolicy  `json:"selectPolicy"`
	Policies  []RatePolicy  `json:"policies"`
	Tolerance float64       `json:"tolerance"`
}

// Behavior is spec.behavior of autoscaling/v2 with every default filled in.
type Behavior struct {
	ScaleUp   Rules `json:"scaleUp"`
	ScaleDown Rules `json:"scaleDown"`
}

// DefaultBehavior is what the API server makes of an empty behavior: up without a
// window by 4 pods or 100 % per 15 s, down by 100 % per 15 s after 5 minutes.
func DefaultBehavior() Behavior {
	return Behavior{
		ScaleUp: Rules{
			Select:    SelectMax,
			Policies:  []RatePolicy{{PodsPolicy, 4, 15 * time.Second}, {PercentPolicy, 100, 15 * time.Second}},
			Tolerance: DefaultTolerance,
		},
		ScaleDown: Rules{
			Window:    5 * time.Minute,
			Select:    SelectMax,
			Policies:  []RatePolicy{{PercentPolicy, 100, 15 * time.Second}},
			Tolerance: DefaultTolerance,
		},
	}
}

// Tolerance gives the behavior's tolerances as one value.
func (b Behavior) Tolerance() Tolerance {
	return Tolerance{Down: b.ScaleDown.Tolerance, Up: b.ScaleUp.Tolerance}
}

// LongestPeriod is the longest policy period of either direction: no event older
// than that can matter.
func (b Behavior) LongestPeriod() time.Duration {
	return max(b.ScaleUp.longestPeriod(), b.ScaleDown.longestPeriod())
}

func (r Rules) longestPeriod() time.Duration {
	var longest time.Duration
	for _, p := range r.Policies {
		longest = max(longest, p.Period)
	}
	return longest
}

// Event is a change of the replica count: positive up, negative down.
type Event struct {
	At     time.Duration `json:"at"`
	Change int32         `json:"change"`
}

// Bounds are minReplicas and maxReplicas.
type Bounds struct {
	Min int32 `json:"min"`
	Max int32 `json:"max"`
}

// Limited is the count that policies and bounds allow.
type Limited struct {
	Replicas int32
	Reason   Reason
	// Until is when the policy that limits allows another step, because a step in
	// the same direction leaves its period; zero unless a policy limited the count
	// and such a step is the cause.
	Until time.Duration
}

// Limit cuts a stabilised count to what the rate policies and the bounds allow
// from current. Up is not subject to Min and down not to Max, as upstream.
//
// Source: horizontal.go, convertDesiredReplicasWithBehaviorRate.
func Limit(current, desired int32, bounds Bounds, b Behavior, events []Event, now time.Duration) Limited {
	switch {
	case desired > current:
		limit, until := upLimit(current, b.ScaleUp, events, now)
		limit = max(limit, current)
		allowed := Limited{bounds.Max, TooManyReplicas, 0}
		if bounds.Max > limit {
			allowed = Limited{limit, ScaleUpLimit, until}
		}
		if desired > allowed.Replicas {
			return allowed
		}
	case desired < current:
		limit, until := downLimit(current, b.ScaleDown, events, now)
		limit = min(limit, current)
		allowed := Limited{bounds.Min, TooFewReplicas, 0}
		if bounds.Min < limit {
			allowed = Limited{limit, ScaleDownLimit, until}
		}
		if desired < allowed.Replicas {
			return allowed
		}
	}
	return Limited{desired, DesiredWithinRange, 0}
}

// direction is the sign of a change of the replica count.
type direction int32

const (
	upward   direction = 1
	downward direction = -1
)

// target is the furthest count that one policy allows from start.
func (d direction) target(start int64, p RatePolicy) int32 {
	if d == upward {
		return upTarget(start, p)
	}
	return downTarget(start, p)
}

func upLimit(current int32, rules Rules, events []Event, now time.Duration) (int32, time.Duration) {
	return selectLimit(current, rules, events, now, upward, rules.Select != SelectMin)
}

func downLimit(current int32, rules Rules, events []Event, now time.Duration) (int32, time.Duration) {
	return selectLimit(current, rules, events, now, downward, rules.Select == SelectMin)
}

// selectLimit evaluates every policy and keeps the highest or the lowest result.
func selectLimit(current int32, rules Rules, events []Event, now time.Duration, d direction, highest bool) (int32, time.Duration) {
	if rules.Select == SelectDisabled {
		return current, 0
	}
	limit, until := int32(math.MaxInt32), time.Duration(0)
	if highest {
		limit = math.MinInt32
	}
	for _, p := range rules.Policies {
		start, oldest := periodStart(current, events, now, p.Period, d)
		n := d.target(start, p)
		if (highest && n > limit) || (!highest && n < limit) {
			limit, until = n, 0
			if oldest != nil {
				until = oldest.At + p.Period
			}
		}
	}
	return limit, until
}

// periodStart is the count at the start of a policy's period: current without
// what the events inside the period changed. An event exactly as old as the
// period is outside. oldest is the first event inside that went the same way, and
// whose leaving allows more; nil if there is none.
func periodStart(current int32, events []Event, now, period time.Duration, d direction) (start int64, oldest *Event) {
	start = int64(current)
	for i := range events {
		e := &events[i]
		if e.At <= now-period {
			continue
		}
		start -= int64(e.Change)
		sameWay := (e.Change > 0) == (d == upward)
		if sameWay && (oldest == nil || e.At < oldest.At) {
			oldest = e
		}
	}
	return start, oldest
}

// upTarget is the highest count that one policy allows. The order of the float
// operations is upstream's and visible: +10 % of 50 allows 56, not 55.
func upTarget(start int64, p RatePolicy) int32 {
	if p.Type == PodsPolicy {
		return saturate(float64(start + int64(p.Value)))
	}
	return saturate(math.Ceil(float64(start) * (1 + float64(p.Value)/100)))
}

// downTarget is the lowest count that one policy allows, truncated toward zero:
// -30 % of 90 allows 62, not 63.
func downTarget(start int64, p RatePolicy) int32 {
	if p.Type == PodsPolicy {
		return saturate(float64(start - int64(p.Value)))
	}
	return saturate(math.Trunc(float64(start) * (1 - float64(p.Value)/100)))
}

// AddEvent returns the events with a change made at now, without those that no
// policy reaches any more. A change of 0 only drops the old ones.
func AddEvent(events []Event, change Event, keep time.Duration) []Event {
	return pushEvent(append(make([]Event, 0, len(events)+1), events...), change, keep)
}

// pushEvent is AddEvent in place.
func pushEvent(events []Event, change Event, keep time.Duration) []Event {
	kept := events[:0]
	for _, e := range events {
		if e.At > change.At-keep {
			kept = append(kept, e)
		}
	}
	if change.Change != 0 {
		kept = append(kept, change)
	}
	return kept
}
