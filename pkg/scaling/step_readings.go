package scaling

import (
	"errors"
	"fmt"
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
		} else if hadReadings && s.now-s.rec.ReadAt > s.staleLimit() {
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
		if r, ok := s.reading(i); ok && !r.Failed() && activation.IsActive(r.Value, t.Activation) {
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
		query := t.Query.String()
		outcome := s.in.Outcomes[i]
		if outcome.Err == nil {
			_, outcome.Err = algorithm.ToMilli(outcome.Value)
		}
		if outcome.Err == nil {
			readings[i] = Reading{Query: query, Value: outcome.Value, At: s.now, Known: true, Note: outcome.Note}
			continue
		}
		if old, ok := s.reading(i); ok {
			readings[i] = old
		}
		readings[i].Query, readings[i].Error = query, outcome.Err.Error()
	}
	return readings
}

// reading is what is on file for a trigger: one that asks the same question.
func (s *step) reading(i int) (Reading, bool) {
	if i >= len(s.rec.Readings) || s.rec.Readings[i].Query != s.p.Triggers[i].Query.String() {
		return Reading{}, false
	}
	return s.rec.Readings[i], true
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
	proposals := make([]algorithm.Proposal, len(s.p.Triggers))
	s.d.Triggers = make([]TriggerTrace, len(s.p.Triggers))
	var failures []error
	for i, t := range s.p.Triggers {
		trace := TriggerTrace{Type: t.Type, Query: t.Query.String(), Target: t.Target.Float(), Activation: t.Activation}
		reading, ok := s.reading(i)
		switch {
		case ok && reading.Error != "":
			trace.Error = reading.Error
		case !ok || !reading.Known:
			trace.Error = "no reading yet of " + trace.Query
		case s.now-reading.At > s.staleLimit():
			trace.Error = fmt.Sprintf("%s: the last reading is older than %v", trace.Query, s.staleLimit())
		}
		if ok && reading.Known {
			trace.Known, trace.Value, trace.AgeSeconds = true, reading.Value, (s.now - reading.At).Seconds()
			trace.Note = reading.Note
		}
		if trace.Error != "" {
			proposals[i].Failed = true
			failures = append(failures, fmt.Errorf("%w: %s", ErrNotRead, trace.Error))
		} else {
			usage, _ := algorithm.ToMilli(reading.Value) // filed checked it
			trace.Recommended, trace.WithinTolerance = algorithm.AverageValue(usage, t.Target, s.status, s.tolerance())
			proposals[i].Replicas = trace.Recommended
		}
		s.d.Triggers[i] = trace
	}
	desired, decider, ok := algorithm.Combine(s.current, proposals)
	if !ok {
		return s.fallBack(errors.Join(failures...))
	}
	s.desired, s.d.Recommended, s.d.Decider = desired, desired, decider
	return nil
}

// staleLimit is how old a reading may be and still be decided on, while a server is too
// slow to be waited for, and how long a silence is no gap. An HPA that asks every 15 s
// about such a server gets readings of that age, and that must do; a server that has
// hung is another matter.
func (s *step) staleLimit() time.Duration { return max(GapLimit, 2*s.p.Interval) }

// tolerance is ours when the windows are ours, else the HPA's as far as it is
// known.
func (s *step) tolerance() algorithm.Tolerance {
	switch {
	case s.p.Stabilised():
		return s.p.Behavior.Tolerance()
	case s.obs.HPA.Target > 0:
		return s.obs.HPA.Tolerance
	}
	return algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}
}

// fallBack replaces the recommendation once readings have failed for long enough,
// if the policy asks for it; otherwise it returns the failure.
func (s *step) fallBack(failure error) error {
	f := s.p.Fallback
	if f == nil || !s.failing() || s.now-s.rec.FailingSince < f.After {
		return failure
	}
	s.desired = f.Replicas
	if !f.Static {
		s.desired = max(s.desired, s.current)
	}
	s.d.Recommended, s.d.Fallback = s.desired, true
	s.working = f.Replicas > 0
	return nil
}
