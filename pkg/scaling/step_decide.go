package scaling

import (
	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// stabilise runs the recommendation through windows, policies and bounds, and
// decides whether the workload may sleep.
func (s *step) stabilise() {
	sleep := activation.Policy{CanSleep: s.canSleep, Quiet: s.p.quiet()}
	blind := s.d.Fallback && !s.p.Fallback.Static
	// What an onlooker reads is never work, so that it has no end of work to glide at:
	// it asks for its count as long as the workload runs, and others say whether it does.
	onlooker := s.canSleep && !s.p.canWork()
	s.d.Over = s.canSleep && !onlooker && !s.working && !blind && s.inSight() && (!s.rec.EverActive || sleep.Over(s.rec.LastActive, s.now))
	if s.rec.EverActive {
		s.d.CooldownUntil = s.wall(sleep.Until(s.rec.LastActive))
	}
	decided := s.count()
	s.remember()

	asleep := onlooker || sleep.Asleep(s.d.Over, decided, s.current, s.floor())
	// Without the store, what runs stays awake and what is at zero sleeps until a reading
	// wakes it: this replica's memory may be older than what others have decided.
	if s.in.Degraded {
		decided = max(decided, s.current)
		asleep = s.current == 0 && s.canSleep && !s.working
	}
	s.d.Awake = !asleep
	switch {
	case !asleep, onlooker && s.obs.Spec > 0:
		s.d.Replicas = max(decided, s.floor())
	case s.current > 0 && !s.simulated() && !s.obs.Native: // waiting for KEDA's own cooldown
		s.d.Replicas = s.floor()
	}
}

// inSight: a scale-down window has been seen since the last time without sight.
// What has come down to its floor has nothing to be held for.
func (s *step) inSight() bool {
	return s.current <= s.floor() || s.now-s.rec.SeenSince >= s.downWindow()
}

// count is the number of replicas after windows, policies and bounds. A count
// outside the bounds is brought back at once, as the HPA does. When work is over,
// the floor is the wish and no window holds it. Limits are computed from at least
// one replica, so that a Percent-only policy can still wake a workload.
func (s *step) count() int32 {
	b, from := *s.p.Behavior, max(1, s.current)
	var wish int32
	switch {
	case s.current > s.bounds.Max:
		s.d.Limited = Checked{Replicas: s.bounds.Max, Reason: algorithm.TooManyReplicas}
		return s.bounds.Max
	case s.current > 0 && s.current < s.bounds.Min:
		s.d.Limited = Checked{Replicas: s.bounds.Min, Reason: algorithm.TooFewReplicas}
		return s.bounds.Min
	case s.d.Over:
		wish = s.floor()
		s.d.Stabilized = Checked{Replicas: wish, Reason: algorithm.ReadyForNewScale}
	default:
		held := algorithm.Stabilize(s.reached(), s.desired, s.rec.History, s.now, b)
		s.d.Stabilized = Checked{Replicas: held.Replicas, Reason: held.Reason}
		if held.Until > 0 {
			s.d.Stabilized.Until = s.wall(held.Until)
		}
		wish = held.Replicas
	}
	limited := algorithm.Limit(from, wish, s.bounds, b, s.rec.Events, s.now)
	s.d.Limited = Checked{Replicas: limited.Replicas, Reason: limited.Reason}
	if limited.Until > 0 {
		s.d.Limited.Until = s.wall(limited.Until)
	}
	return limited.Replicas
}

// reached is the count that the windows hold. What sleeps may long be awake, and at the
// highest count that was served since it fell asleep, where nobody has seen it yet: who
// then served 2 after 4 would have the HPA take two pods away within the window.
func (s *step) reached() int32 {
	if s.current > 0 {
		return s.current
	}
	return max(1, s.rec.Highest)
}

// remember adds a fresh recommendation to the windows. Upstream adds the count
// before windows and limits, after it has used them; so do we. A fallback is
// nothing that was recommended, and is not remembered.
func (s *step) remember() {
	if s.fresh && !s.d.Fallback {
		s.rec.Recommended = s.desired
		s.rec.History = s.rec.History.Add(s.now, s.desired)
	}
}

// passThrough leaves the decision to the HPA. The count is what the HPA's formula
// gives, without the HPA's windows and policies, which are not ours to know. A native
// HPA that may scale to zero is told 0 where there is no work, and one that may not
// is told every reading.
func (s *step) passThrough() {
	s.remember()
	s.d.Awake = s.working || !s.canWork() || s.obs.Native && !s.canSleep
	switch desired := min(s.desired, s.bounds.Max); {
	case s.d.Awake, s.current > 0 && !s.obs.Native:
		s.d.Replicas = max(desired, s.floor())
	case !s.obs.Native:
		s.d.Replicas = desired
	}
	if s.in.Degraded {
		s.d.Replicas = max(s.d.Replicas, s.current)
		s.d.Awake = s.d.Awake || s.current > 0
	}
}

// encode finds the value to send: the count itself where the windows are ours, the
// reading where they are the HPA's.
func (s *step) encode() {
	target := s.hpaTarget()
	s.d.Active = s.d.Awake
	switch {
	case s.as != PassThrough:
		s.encodeFor(s.d.Replicas, target)
	case s.d.Fallback:
		s.d.Value = target.Times(s.desired)
	default:
		s.encodeReading(target)
	}
}

// encodeReading sends the reading of the trigger that decided. KEDA's HPA divides by
// the target of the only trigger, whose reading passes unchanged. Where the target is
// another, because there are several triggers, each in its own unit, or because the
// policy is shared or the HPA has a target of its user's, the reading is expressed in
// its unit: 37 at 5 per replica are 7.4 at 1.
func (s *step) encodeReading(target algorithm.Milli) {
	i := s.d.Decider
	if s.p.Triggers[i].Counts {
		s.encodeFor(s.d.Replicas, target)
		return
	}
	sent := s.rec.Readings[i].Value
	if s.obs.Native && !s.d.Awake {
		sent = 0
	}
	if len(s.p.Triggers) > 1 || s.obs.Native || s.p.Target != s.p.Triggers[i].Target {
		sent = sent / s.p.Triggers[i].Target.Float() * target.Float()
	}
	value, err := algorithm.NearestMilli(sent)
	if err != nil { // the reading is sound, so in the metric's unit it is only too large
		value = algorithm.MaxMilli
	}
	if s.in.Degraded {
		if s.encodeFor(s.current, target); s.d.Value >= value {
			return
		}
		s.d.Swallowed = false
	}
	s.d.Value = value
}

// encodeFor encodes a count for the HPA that reads it, as far as it is seen.
func (s *step) encodeFor(replicas int32, target algorithm.Milli) {
	if s.obs.HPA.Target == 0 {
		s.d.Value = target.Times(replicas)
		return
	}
	encoded := algorithm.Encode(replicas, s.obs.Spec, s.obs.Status, target, s.obs.HPA.Tolerance)
	s.d.Value, s.d.Swallowed = encoded.Value, !encoded.Reachable
}
