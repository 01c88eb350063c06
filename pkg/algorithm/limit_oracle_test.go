package algorithm

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// rateOracle is upstream's memory of scale events: two lists of absolute changes.
type rateOracle struct {
	scaleUpEvents, scaleDownEvents []timestampedChange
}

type timestampedChange struct {
	replicaChange int32
	timestamp     time.Duration
}

// store keeps every event for ever. Upstream forgets those that are older than the
// longest period of their own direction, even where a policy of the other
// direction still counts them.
func (o *rateOracle) store(prevReplicas, newReplicas int32, now time.Duration) {
	switch {
	case newReplicas > prevReplicas:
		o.scaleUpEvents = append(o.scaleUpEvents, timestampedChange{newReplicas - prevReplicas, now})
	case newReplicas < prevReplicas:
		o.scaleDownEvents = append(o.scaleDownEvents, timestampedChange{prevReplicas - newReplicas, now})
	}
}

func changePerPeriod(period time.Duration, events []timestampedChange, now time.Duration) int32 {
	cutoff := now - period
	var replicas int32
	for _, rec := range events {
		if rec.timestamp > cutoff {
			replicas += rec.replicaChange
		}
	}
	return replicas
}

// scaleUpLimit follows calculateScaleUpLimitWithScalingRules.
func (o *rateOracle) scaleUpLimit(currentReplicas int32, r Rules, now time.Duration) int32 {
	if r.Select == SelectDisabled {
		return currentReplicas
	}
	result := int32(math.MinInt32)
	if r.Select == SelectMin {
		result = math.MaxInt32
	}
	for _, policy := range r.Policies {
		added := changePerPeriod(policy.Period, o.scaleUpEvents, now)
		deleted := changePerPeriod(policy.Period, o.scaleDownEvents, now)
		periodStartReplicas := currentReplicas - added + deleted
		var proposed int32
		if policy.Type == PodsPolicy {
			proposed = periodStartReplicas + policy.Value
		} else {
			proposed = int32(math.Ceil(float64(periodStartReplicas) * (1 + float64(policy.Value)/100)))
		}
		if r.Select == SelectMin {
			result = min(result, proposed)
		} else {
			result = max(result, proposed)
		}
	}
	return result
}

// scaleDownLimit follows calculateScaleDownLimitWithBehaviors.
func (o *rateOracle) scaleDownLimit(currentReplicas int32, r Rules, now time.Duration) int32 {
	if r.Select == SelectDisabled {
		return currentReplicas
	}
	result := int32(math.MaxInt32)
	if r.Select == SelectMin {
		result = math.MinInt32
	}
	for _, policy := range r.Policies {
		added := changePerPeriod(policy.Period, o.scaleUpEvents, now)
		deleted := changePerPeriod(policy.Period, o.scaleDownEvents, now)
		periodStartReplicas := currentReplicas - added + deleted
		var proposed int32
		if policy.Type == PodsPolicy {
			proposed = periodStartReplicas - policy.Value
		} else {
			proposed = int32(float64(periodStartReplicas) * (1 - float64(policy.Value)/100))
		}
		if r.Select == SelectMin {
			result = max(result, proposed)
		} else {
			result = min(result, proposed)
		}
	}
	return result
}

// convert follows convertDesiredReplicasWithBehaviorRate.
func (o *rateOracle) convert(currentReplicas, desiredReplicas int32, bounds Bounds, b Behavior, now time.Duration) (int32, Reason) {
	var reason Reason
	if desiredReplicas > currentReplicas {
		scaleUpLimit := o.scaleUpLimit(currentReplicas, b.ScaleUp, now)
		if scaleUpLimit < currentReplicas {
			scaleUpLimit = currentReplicas
		}
		maximumAllowedReplicas := bounds.Max
		if maximumAllowedReplicas > scaleUpLimit {
			maximumAllowedReplicas = scaleUpLimit
			reason = "ScaleUpLimit"
		} else {
			reason = "TooManyReplicas"
		}
		if desiredReplicas > maximumAllowedReplicas {
			return maximumAllowedReplicas, reason
		}
	} else if desiredReplicas < currentReplicas {
		scaleDownLimit := o.scaleDownLimit(currentReplicas, b.ScaleDown, now)
		if scaleDownLimit > currentReplicas {
			scaleDownLimit = currentReplicas
		}
		minimumAllowedReplicas := bounds.Min
		if minimumAllowedReplicas < scaleDownLimit {
			minimumAllowedReplicas = scaleDownLimit
			reason = "ScaleDownLimit"
		} else {
			reason = "TooFewReplicas"
		}
		if desiredReplicas < minimumAllowedReplicas {
			return minimumAllowedReplicas, reason
		}
	}
	return desiredReplicas, "DesiredWithinRange"
}

func TestLimitIsUpstreams(t *testing.T) {
	r := newRandom(t)
	for done := 0; done < propertyCases; {
		var oracle rateOracle
		var events []Event
		now, current := time.Duration(0), r.Int32N(30)
		b := Behavior{ScaleUp: randomRules(r), ScaleDown: randomRules(r)}
		bounds := Bounds{Min: r.Int32N(10), Max: 10 + r.Int32N(200)}
		for range 1 + r.IntN(40) {
			done++
			now += pick(r, 0, 1, seconds(5), seconds(15), seconds(15*r.IntN(10)))
			desired := pick(r, current, r.Int32N(250), max(0, current+r.Int32N(9)-4))
			got := Limit(current, desired, bounds, b, events, now)
			replicas, reason := oracle.convert(current, desired, bounds, b, now)
			if got.Replicas != replicas || got.Reason != reason {
				t.Fatalf("Limit(%d, %d, %+v) at %v = %+v, upstream %d %s\nbehavior %+v\nevents %v",
					current, desired, bounds, now, got, replicas, reason, b, events)
			}
			moved := pick(r, replicas, replicas, r.Int32N(250)) // sometimes somebody else moves it
			events = AddEvent(events, Event{now, moved - current}, b.LongestPeriod())
			oracle.store(current, moved, now)
			current = moved
		}
	}
}

func randomRules(r *rand.Rand) Rules {
	policies := make([]RatePolicy, 1+r.IntN(4))
	for i := range policies {
		policies[i] = RatePolicy{
			Type:   pick(r, PodsPolicy, PercentPolicy),
			Value:  1 + r.Int32N(pick[int32](r, 5, 100, 1000)),
			Period: seconds(pick(r, 1, 15, 60, 180, 1800, 1+r.IntN(1800))),
		}
	}
	return rules(pick(r, SelectMax, SelectMax, SelectMin, SelectMin, SelectDisabled), policies...)
}

// Until is when a limited step may go further. With one policy of pods and steps in
// one direction that is exact: a moment before it nothing has changed, and then
// something has, unless so much was done that one leaving event frees nothing yet.
func TestLimitSaysUntilWhen(t *testing.T) {
	r := newRandom(t)
	limited := 0
	for range propertyCases {
		one := rules(pick(r, SelectMax, SelectMin), pods(1+r.IntN(10), 1+r.IntN(1800)))
		sign := pick[int32](r, 1, -1)
		var events []Event
		for range r.IntN(5) {
			events = append(events, Event{seconds(r.IntN(120)), sign * (1 + r.Int32N(3))})
		}
		const current = 500
		limit := func(now time.Duration) Limited {
			return Limit(current, current+sign*400, Bounds{Max: 1000}, Behavior{ScaleUp: one, ScaleDown: one}, events, now)
		}
		first := limit(seconds(120))
		if first.Until == 0 {
			continue
		}
		limited++
		if before := limit(first.Until - 1); before != first {
			t.Fatalf("%+v, but a moment before %v: %+v\n%+v %v", first, first.Until, before, one, events)
		}
		after := limit(first.Until)
		further := (after.Replicas - first.Replicas) * sign
		if further < 0 || (further == 0 && after.Replicas != current) {
			t.Fatalf("%+v, then %+v\n%+v %v", first, after, one, events)
		}
	}
	if limited < propertyCases/10 {
		t.Errorf("only %d of %d cases were limited by an event", limited, propertyCases)
	}
}
