package algorithm

import (
	"errors"
	"fmt"
	"time"
)

// reading is one metric at one sync.
type reading struct {
	value Milli
	fails bool
}

// workload is a scale target under a controller. Every pod starts at once:
// status.replicas is spec.replicas.
type workload struct {
	controller Controller
	spec       Spec
	behavior   Behavior // the one that settings change; spec has it unless legacy
	replicas   int32
	remembered []Sample
	state      State
}

// reconciled is what one reconcile did.
type reconciled struct {
	at         time.Duration
	from       int32
	outcome    Outcome
	conditions Conditions
}

// reconcile asks External metrics for what they read.
func (w *workload) reconcile(now time.Duration, readings []reading) reconciled {
	if w.remembered != nil {
		w.state.Memory, w.remembered = NewMemory(w.remembered, nil), nil
	}
	in := Input{Spec: w.spec, Workload: Workload{Scale: Scale{w.replicas, w.replicas}, Now: now}}
	for _, r := range readings {
		answer := Reading{Series: []Milli{r.value}}
		if r.fails {
			answer = Reading{Err: errors.New("no answer")}
		}
		in.Readings = append(in.Readings, answer)
	}
	s := reconciled{at: now, from: w.replicas, outcome: w.controller.Reconcile(in, &w.state)}
	s.conditions = w.state.Conditions
	w.replicas = s.outcome.Replicas
	return s
}

// String is what a person would note of the sync, without its time.
func (s reconciled) String() string {
	o := s.outcome
	var why string
	switch {
	case o.Decider >= 0:
		return fmt.Sprintf("wants %3d   windows %3d %-30s limits %3d %-30s %3d", o.Recommended,
			o.Stabilized.Replicas, reason(o.Stabilized.Reason, o.Stabilized.Until),
			o.Limited.Replicas, reason(o.Limited.Reason, o.Limited.Until), o.Replicas)
	case o.Err != nil:
		why = "held, a metric failed"
	case o.Rescaled && o.Replicas < s.from:
		why = "above max"
	case o.Rescaled:
		why = "below min"
	default:
		why = string(s.conditions.ScalingActive.Reason)
	}
	return fmt.Sprintf("%-72s %3d", why, o.Replicas)
}

func reason(r Reason, until time.Duration) string {
	if until == 0 {
		return string(r)
	}
	return fmt.Sprintf("%s until %s", r, inSeconds(until))
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
