package algorithm

import (
	"fmt"
	"time"
)

// reading is one metric at one sync.
type reading struct {
	value Milli
	fails bool
}

// workload is a scale target and what a controller remembers of it. Every pod
// starts at once: status.replicas is spec.replicas.
type workload struct {
	bounds   Bounds
	targets  []Milli
	behavior Behavior
	replicas int32

	seeded  bool
	history History
	events  []Event
}

// reconciled is what one reconcile did.
type reconciled struct {
	at         time.Duration
	from, to   int32
	wants      int32
	stabilized Stabilized
	limited    Limited
	// unasked says why the metrics did not decide.
	unasked string
}

// reconcile is upstream's reconcileAutoscaler for External AverageValue metrics:
// the same steps in the same order, each of them this package's.
func (w *workload) reconcile(now time.Duration, readings []reading) reconciled {
	s := reconciled{at: now, from: w.replicas, to: w.replicas}
	if !w.seeded {
		w.history, w.seeded = w.history.Add(now, w.replicas), true
	}
	switch {
	case w.replicas > w.bounds.Max:
		s.to, s.unasked = w.bounds.Max, "above max"
	case w.replicas > 0 && w.replicas < w.bounds.Min:
		s.to, s.unasked = w.bounds.Min, "below min"
	default:
		w.decide(&s, readings)
	}
	if s.to != s.from {
		w.events = AddEvent(w.events, Event{now, s.to - s.from}, w.behavior.LongestPeriod())
		w.replicas = s.to
	}
	return s
}

func (w *workload) decide(s *reconciled, readings []reading) {
	proposals := make([]Proposal, len(readings))
	for i, r := range readings {
		n, _ := AverageValue(r.value, w.targets[i], w.replicas, w.behavior.Tolerance())
		proposals[i] = Proposal{Replicas: n, Failed: r.fails}
	}
	wants, _, ok := Combine(w.replicas, proposals)
	if !ok {
		s.unasked = "held, a metric failed"
		return
	}
	s.wants = wants
	s.stabilized = Stabilize(w.replicas, wants, w.history, s.at, w.behavior)
	w.history = w.history.Add(s.at, wants)
	s.limited = Limit(w.replicas, s.stabilized.Replicas, w.bounds, w.behavior, w.events, s.at)
	s.to = s.limited.Replicas
}

// String is what a person would note of the sync, without its time.
func (s reconciled) String() string {
	if s.unasked != "" {
		return fmt.Sprintf("%-72s %3d", s.unasked, s.to)
	}
	return fmt.Sprintf("wants %3d   windows %3d %-30s limits %3d %-30s %3d", s.wants,
		s.stabilized.Replicas, reason(s.stabilized.Reason, s.stabilized.Until),
		s.limited.Replicas, reason(s.limited.Reason, s.limited.Until), s.to)
}

func reason(r Reason, until time.Duration) string {
	if until == 0 {
		return string(r)
	}
	return fmt.Sprintf("%s until %s", r, inSeconds(until))
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
