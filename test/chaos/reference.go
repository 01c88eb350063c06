package main

import (
	"fmt"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// tick is how often the reference is evaluated: more often than anybody asks, so that it
// has decided what the replicas decide before the workload moves.
const tick = 20 * time.Millisecond

// decision is what the reference decides at one tick. Where two references differ it is
// neither active nor asleep.
type decision struct {
	replicas       int32
	active, asleep bool
}

// lower is what both references agree on, and the lower count.
func (r reference) lower(other reference) reference {
	merged := make(reference, len(r))
	for i, d := range r {
		o := other[i]
		merged[i] = decision{min(d.replicas, o.replicas), d.active && o.active, d.asleep && o.asleep}
	}
	return merged
}

// reference is the decision of every tick from the beginning.
type reference []decision

// maxReplicas is the ceiling of every workload.
const maxReplicas = 20

// history is what the reference runs over: what was read, what the workload really was,
// and the script, where for longer than an interval nobody read although somebody could.
type history struct {
	readings []reading
	replicas *timeline
	load     script
	// blind is a time in which nobody could read. What the source had then, nobody knows.
	blind  span
	native bool
	length time.Duration
}

// reads is what the source answered between two moments or, if that is nothing for long,
// would have answered; nil if nothing is due.
func (h *history) reads(last, now time.Duration) *reading {
	var found *reading
	for len(h.readings) > 0 && h.readings[0].at <= now {
		found, h.readings = &h.readings[0], h.readings[1:]
	}
	unknowable := last < h.blind.to && now >= h.blind.from
	if found == nil && now-last >= interval+interval/2 && !unknowable {
		return &reading{now, h.load.at(now)}
	}
	return found
}

// newReference runs the pure core. It forgets nothing and is never interrupted.
func newReference(p *scaling.Policy, h history) (reference, error) {
	var (
		decisions reference
		record    scaling.Record
		last      time.Duration
		readAt    = time.Duration(0)
		epoch     = time.Unix(0, 0)
	)
	for t := time.Duration(0); t <= h.length; t += tick {
		current := h.replicas.at(t)
		in := scaling.Input{
			Policy: p, Record: record, Now: epoch.Add(t), Elapsed: t - last,
			Observation: scaling.Observation{
				Target: "apps/Deployment/worker", Spec: current, Native: h.native,
				Bounds: algorithm.Bounds{Min: 1, Max: maxReplicas}, ToZero: true,
			},
		}
		if read := h.reads(readAt, t); read != nil {
			in.Outcomes, readAt = []scaling.Outcome{{Value: read.value}}, t
		}
		result := scaling.Step(in)
		if err := result.Decision.Err; err != nil && readAt > 0 {
			return nil, fmt.Errorf("the reference at %v: %w", t, err)
		}
		if result.Changed {
			record, last = result.Record, t
		}
		decisions = append(decisions, decision{result.Decision.Replicas, result.Decision.Active, !result.Decision.Active})
	}
	return decisions, nil
}

// within are the decisions of a time, the tick before it included.
func (r reference) within(from, to time.Duration) reference {
	first := min(max(int(from/tick), 0), len(r)-1)
	last := min(max(int(to/tick)+1, first), len(r)-1)
	return r[first : last+1]
}

// lowest is the smallest count, and whether all decisions are active or inactive.
func (r reference) lowest() (replicas int32, allActive, noneActive bool) {
	replicas, allActive, noneActive = r[0].replicas, true, true
	for _, d := range r {
		replicas = min(replicas, d.replicas)
		allActive = allActive && d.active
		noneActive = noneActive && d.asleep
	}
	return replicas, allActive, noneActive
}
