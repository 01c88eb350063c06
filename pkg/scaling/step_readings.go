package scaling

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// takeOutcomes files fresh readings, and closes the silence or the blind time
// that they end.
func (s *step) takeOutcomes() {
	if len(s.in.Outcomes) == 0 {
		return
	}
	s.fresh, s.changed = true, true
	wasFailing, wasWorking, hadReadings := s.failing(), s.wasWorking(), len(s.rec.Readings) > 0
	s.rec.Readings = s.filed()
	switch {
	case s.failing():
		if !wasFailing || !hadReadings {
			s.rec.FailingSince = s.now
		}
	default:
		if wasFailing && hadReadings {
			s.endBlindTime()
		} else if hadReadings && s.now-s.rec.ReadAt > s.p.staleLimit() {
			s.endGap(wasWorking)
		}
		s.rec.GoodAt = s.now
	}
	s.rec.ReadAt = s.now
}

// failing reports whether any trigger's last attempt failed.
func (s *step) failing() bool {
	for _, r := range s.rec.Readings {
		if r.Failed() {
			return true
		}
	}
	return false
}

// wasWorking reports whether any reading on file is work.
func (s *step) wasWorking() bool {
	for i, t := range s.p.Triggers {
		if r, ok := s.p.onFile(s.rec.Readings, i, s.obs.Spec); ok && !r.Failed() && activation.IsActive(r.Value, t.Activation) {
			return true
		}
	}
	return false
}

// filed is the record's readings with the outcomes in place. A failure keeps the
// last value, for the trace.
func (s *step) filed() []Reading {
	readings := make([]Reading, len(s.p.Triggers))
	for i, t := range s.p.Triggers {
		query, outcome := t.asks(), s.in.Outcomes[i]
		if outcome.Err == nil {
			_, outcome.Err = algorithm.ToMilli(outcome.Value)
		}
		if outcome.Err == nil {
			readings[i] = Reading{Query: query, Value: outcome.Value, Spec: outcome.Spec, At: s.now, Known: true, Note: outcome.Note}
			continue
		}
		if old, ok := s.p.onFile(s.rec.Readings, i, s.obs.Spec); ok {
			readings[i] = old
		}
		readings[i].Query, readings[i].Spec, readings[i].Error = query, outcome.Spec, outcome.Err.Error()
	}
	return readings
}

// endBlindTime: readings failed while somebody asked, and now they answer again.
// That time is no quiet time, and unless it was short the present count stands as
// a recommendation, so that nothing falls before a window of seeing has passed.
// Short is less than the window and less than three failures in a row take, so that
// one failed read now and then does not keep a long window full for ever.
func (s *step) endBlindTime() {
	blind := s.now - s.rec.GoodAt
	if s.rec.EverActive {
		s.rec.LastActive = min(s.now, s.rec.LastActive+blind)
	}
	if blind >= max(min(GapLimit, s.downWindow()), 4*s.p.Interval) {
		s.sighted(s.current)
	}
}

// endGap: nobody asked for a while, or another replica answered that could not reach
// the store. The last recommendation and the last activity are taken to have lasted
// until now; what was scaled up meanwhile counts as both.
func (s *step) endGap(wasWorking bool) {
	lasted, rose := s.rec.Recommended, s.current > s.rec.Replicas
	if rose {
		lasted = max(lasted, s.current)
	}
	s.sighted(lasted)
	if wasWorking || rose {
		s.rec.LastActive, s.rec.EverActive = s.now, true
	}
}

func (s *step) downWindow() time.Duration {
	if s.p.Stabilised() {
		return s.p.Behavior.ScaleDown.Window
	}
	return algorithm.DefaultBehavior().ScaleDown.Window
}

// recommend asks the formula for every trigger and takes the largest. It returns
// why nothing can be recommended: no trigger could be read, or one could not and
// the others ask for less than there is.
func (s *step) recommend() error {
	s.d.Basis = Basis{Policy: s.p, Readings: s.rec.Readings, Clock: s.now, Spec: s.obs.Spec, Status: s.status, Tolerance: s.p.tolerance(s.as, s.obs.HPA)}
	var all algorithm.Combination
	for i := range s.p.Triggers {
		reading, ok := s.d.Basis.usable(i)
		proposal := algorithm.Proposal{Failed: !ok}
		if ok {
			proposal.Replicas, _ = s.d.Basis.recommended(i, reading.Value)
		}
		all.Add(proposal)
	}
	desired, decider, ok := all.Result(s.current)
	if !ok {
		return s.fallBack()
	}
	s.desired, s.d.Recommended, s.d.Decider = desired, desired, decider
	return nil
}

// tolerance is ours when the windows are ours, else the HPA's as far as it is
// known.
func (p *Policy) tolerance(as Mode, hpa HPA) algorithm.Tolerance {
	switch {
	case as != PassThrough:
		return p.Behavior.Tolerance()
	case hpa.Target > 0:
		return hpa.Tolerance
	}
	return algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}
}

// fallBack replaces the recommendation once readings have failed for long enough,
// if the policy asks for it; otherwise it returns the failure.
func (s *step) fallBack() error {
	f := s.p.Fallback
	if f == nil || !s.failing() || s.now-s.rec.FailingSince < f.After {
		return &notReadError{s.d.Basis}
	}
	s.desired = f.Replicas
	if !f.Static {
		s.desired = max(s.desired, s.current)
	}
	s.d.Recommended, s.d.Fallback = s.desired, true
	s.working = f.Replicas > 0
	return nil
}
