package scaling

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// GapLimit is how long nobody may ask before the silence counts as a gap: three
// syncs of the HPA controller at its default of 15 s.
const GapLimit = 45 * time.Second

// moveResolution is how exactly the evaluation before a move is dated. Finer would
// only make many callers of one moment compete to store the same.
const moveResolution = 250 * time.Millisecond

// Input is everything a decision depends on.
type Input struct {
	Key         Key
	Policy      *Policy
	Record      Record
	Observation Observation
	// Now is the store's clock. It dates the decision and the next record, and
	// nothing is computed from it.
	Now time.Time
	// Elapsed is what the record's clock has to advance. Never negative.
	Elapsed time.Duration
	// Blind: nobody knows how much time has passed since the record was made.
	Blind bool
	// Lost: the store has lost what this process remembers; others may have known more.
	Lost bool
	// Unsure: others may have decided what the record does not show.
	Unsure bool
	// Outcomes are fresh readings, one per trigger; nil if the record's serve.
	Outcomes []Outcome
	// Unsaved: the record holds something that the store does not have yet.
	Unsaved bool
	// Degraded: the record is what this process remembers, for the store does not
	// answer. Counts then only rise.
	Degraded bool
}

// Result is a decision and what is remembered of it.
type Result struct {
	Decision Decision
	Record   Record
	// Changed: Record differs from the one given and is to be stored.
	Changed bool
}

// Step makes one decision. It is a pure function and never changes its input. Over
// readings on file it allocates nothing but an error to hold for, and what a count that
// has moved or a new record adds to the record.
func Step(in Input) Result {
	var s step
	s.in = in
	s.run()
	return Result{Decision: s.d, Record: s.rec, Changed: s.changed}
}

// run makes the decision d on what is in in, and rec what is remembered of it: unchanged
// unless changed says so.
func (s *step) run() {
	s.p, s.as, s.obs, s.rec = s.in.Policy, s.in.Policy.mode(), s.in.Observation, s.in.Record
	s.begin()
	if s.p.Invalid != nil {
		s.hold(s.p.Invalid)
		s.changed = false
		return
	}
	s.seed()
	s.noteMove()
	s.noteZero()
	if last := s.rec.Overruled; last.Times > 1 && s.now-last.At <= overruledLimit {
		s.d.Overruled = last
	}
	s.takeOutcomes()
	s.answer()
	s.undecided = s.d.Err != nil
	if s.as == Shadow {
		s.sendAsPassThrough()
	}
	s.finish()
}

// answer makes a decision of what is on file, and the value that says so to the HPA.
func (s *step) answer() {
	err := s.recommend()
	s.activity()
	switch {
	case err != nil:
		s.hold(err)
		return
	case s.as == PassThrough:
		s.passThrough()
	default:
		s.stabilise()
	}
	s.encode()
}

// sendAsPassThrough makes a second decision, from what really runs and as the HPA would
// decide, and sends that. A copy of all that is remembered goes with it.
func (s *step) sendAsPassThrough() {
	sent := *s
	sent.as, sent.fresh, sent.working = PassThrough, false, false
	sent.d = Decision{Decider: -1}
	if !s.obs.OpenLoop {
		sent.current, sent.status = s.obs.Spec, s.obs.Status
	}
	sent.answer()
	if s.undecided { // natively, and at a zero of our own, an error is all there is
		s.d.Held, s.d.Replicas, s.d.Awake = s.d.Err, s.current, s.current > 0
	}
	s.d.Value, s.d.Active, s.d.Swallowed, s.d.Err = sent.d.Value, sent.d.Active, sent.d.Swallowed, sent.d.Err
}

// step is the working state of one Step, of 1.9 KB. It is changed in place.
type step struct {
	in  Input
	p   *Policy
	as  Mode // the policy's, or for what a shadow sends that of passing through
	obs Observation
	rec Record
	now time.Duration
	// current and status are P and S: observed, or in open loop and in shadow the
	// last served count.
	current, status int32
	bounds          algorithm.Bounds
	fresh           bool // outcomes were taken
	changed         bool
	outdated        bool // the observation is, and what the record says of it was taken
	desired         int32
	working         bool // a reading is above its activation threshold
	canSleep        bool
	undecided       bool // there is an error in place of a count
	d               Decision
}

func (s *step) begin() {
	s.now, s.changed = s.rec.Clock+s.in.Elapsed, s.in.Unsaved
	s.outdated = s.obs.catchUp(&s.rec, s.p, s.now, s.in.Blind)
	s.current, s.status = s.obs.Spec, s.obs.Status
	if s.simulated() && (s.rec.Seeded || s.obs.OpenLoop) {
		s.current, s.status = s.rec.Served, s.rec.Served
	}
	s.bounds = boundsOf(s.p, &s.obs)
	s.canSleep = s.obs.ToZero
	if s.obs.Native && s.p.Min != nil && *s.p.Min > 0 {
		s.canSleep = false // KEDA would not ask us; a native HPA does
	}
	if s.obs.OpenLoop && s.p.Min != nil {
		s.canSleep = *s.p.Min == 0
	}
	if !s.canWork() {
		s.canSleep = false // nothing would ever wake it
	}
	d := &s.d
	d.Key, d.Mode, d.At, d.From = s.in.Key, s.as, s.in.Now, s.rec.Time
	d.Current, d.Status, d.Running, d.Bounds = s.current, s.status, s.obs.Spec, s.bounds
	d.OpenLoop, d.Degraded, d.Decider = s.obs.OpenLoop, s.in.Degraded, -1
	d.CanSleep, d.KEDACooldown = s.canSleep, s.obs.Cooldown
	d.Native, d.HPA, d.ZeroReason, d.Warnings = s.obs.Native, s.obs.HPA, s.obs.ZeroReason, s.p.Warnings
}

// canWork reports whether anything can be work: a reading of the policy's, or one of a
// trigger beside it.
func (s *step) canWork() bool { return s.p.canWork() || s.obs.OtherWakes }

// boundsOf are the policy's own bounds as far as the observed ones allow: the HPA
// applies its own whatever is sent.
func boundsOf(p *Policy, obs *Observation) algorithm.Bounds {
	b := obs.Bounds
	within := func(n int32) int32 {
		if obs.OpenLoop {
			return n
		}
		return min(max(n, obs.Bounds.Min), obs.Bounds.Max)
	}
	if p.Min != nil {
		b.Min = within(*p.Min)
	}
	if p.Max != nil {
		b.Max = within(*p.Max)
	}
	b.Max = max(b.Max, b.Min)
	return b
}

// simulated: the count moves as decided, not as observed.
func (s *step) simulated() bool { return s.obs.OpenLoop || s.as == Shadow }

// floor is the count below which an awake workload does not go.
func (s *step) floor() int32 { return max(1, s.bounds.Min) }

// wall turns a moment of the record's clock into one of the store's.
func (s *step) wall(at time.Duration) time.Time { return s.in.Now.Add(at - s.now) }

// seed gives a record without memory its first: a workload that runs counts as
// just active and keeps its count for a window; one that does not stays asleep.
// Losing a part of the memory is no different, nor is an object that was made again
// under the name of another; time that nobody can measure ends like that too, except
// that it is no activity.
func (s *step) seed() {
	another, ageless := s.adopt(), s.in.Blind || s.in.Lost
	if s.rec.Seeded && !ageless && !another {
		return
	}
	s.changed = true
	s.sighted(s.current)
	switch {
	case s.current == 0: // nothing to keep awake, whatever was remembered
		s.rec.EverActive = false
	case !s.in.Blind || s.in.Lost:
		s.rec.LastActive, s.rec.EverActive = s.now, true
	}
	if ageless {
		s.rec.Readings = nil
	}
	if s.rec.Seeded {
		return
	}
	s.rec.Seeded = true
	s.rec.Replicas, s.rec.Served = s.current, s.current
	s.rec.Lowest, s.rec.Highest = s.current, s.current
}

// adopt makes the record that of the observed object, and reports whether it was that of
// another one before.
func (s *step) adopt() (another bool) {
	before := s.rec.UID
	if s.obs.UID == "" || s.obs.UID == before {
		return false
	}
	s.rec.UID, s.changed = s.obs.UID, true
	return before != ""
}

// sighted ends a time without sight: the count stands as a recommendation of this
// moment, for the scale-down window only.
func (s *step) sighted(count int32) {
	s.rec.SeenSince = s.now
	if count > 0 {
		s.rec.History = s.rec.History.AddHigh(s.now, count)
	}
}

// noteMove records a scale event when the observed count has moved towards the
// count that was served: clipped to it, because what lies beyond is somebody
// else's, and dated with the evaluation before the move was seen, which is the one
// that the HPA acted on. What happens between zero and the floor is no event: limits
// are computed from the floor. Events are kept for the longest legal period, so that
// one may be lengthened and find them.
func (s *step) noteMove() {
	if s.simulated() || s.current == s.rec.Replicas {
		return
	}
	s.rec.Slept = s.current == 0 && s.rec.Lowest == 0
	s.noteOverruled()
	from, to := s.rec.Replicas, s.current
	if to > from {
		s.noteUnseenRise()
		from = max(from, s.floor())
		to = min(to, s.rec.Highest)
		to = max(to, from)
	} else {
		to = min(from, max(to, s.rec.Lowest, s.floor()))
	}
	s.rec.Lowest, s.rec.Highest = s.current, s.current
	s.rec.Events = algorithm.AddEvent(s.rec.Events, algorithm.Event{At: s.rec.EvaluatedAt, Change: to - from}, algorithm.MaxPeriod)
}

// noteUnseenRise takes a count above all that the record served for the decision of a
// replica whose record was lost, in a failover or with it, where that cannot be ruled
// out. It is then as good a recommendation as one that is remembered, and was work.
func (s *step) noteUnseenRise() {
	if !s.in.Unsure || s.current <= s.rec.Highest {
		return
	}
	s.rec.History = s.rec.History.AddHigh(s.now, s.current)
	s.rec.LastActive, s.rec.EverActive = s.now, true
}

// overruledLimit is how long after it a count that somebody else has set still counts.
const overruledLimit = time.Hour

// noteOverruled remembers a move to a count that lies neither between the last count and
// what was decided since. One is a person's good right. The same one again and again is
// a manifest with replicas in it, or another controller: the two would go on for ever.
// Zero has a story of its own, and so has waking from it.
func (s *step) noteOverruled() {
	from, to := s.rec.Replicas, s.current
	ours := to >= min(from, s.rec.Lowest) && to <= max(from, s.rec.Highest)
	if ours || from == 0 || to == 0 || s.as != Stabilised {
		return
	}
	last := s.rec.Overruled
	if last.To != to || s.now-last.At > overruledLimit {
		last = Overruled{To: to}
	}
	s.rec.Overruled = Overruled{To: to, Times: last.Times + 1, At: s.now}
}

// noteZero remembers whose zero a native workload's is, and says whether the HPA will
// wake it. The HPA tells by its condition ScaledToZero, which a write of its status that
// fails, or a new HPA of the same name, loses for ever; a zero that it went to after one
// was served is its own all the same.
func (s *step) noteZero() {
	if !s.obs.Native {
		return
	}
	slept := s.obs.Spec == 0 && (s.obs.HPA.ScaledToZero || s.rec.Slept)
	if slept != s.rec.Slept {
		s.rec.Slept, s.changed = slept, true
	}
	switch {
	case s.obs.Spec > 0 || s.obs.HPA.ScaledToZero || !s.obs.HPA.Disabled:
	case slept:
		s.d.Stranded = LostCondition
	default:
		s.d.Stranded = ForeignZero
	}
}

// hold keeps the count where it is because of err. A native HPA does so by itself when
// it gets the error. Where nothing runs, or nobody knows what runs, there is nothing to
// keep and the error itself is the answer too.
func (s *step) hold(err error) {
	if s.current <= 0 || s.obs.Native {
		s.d.Err = err
		return
	}
	s.d.Held = err
	s.d.Replicas, s.d.Awake, s.d.Active = s.current, true, true
	if s.obs.ValueType { // the HPA multiplies the ratio by what runs: 1 keeps it
		s.d.Value = s.hpaTarget()
		return
	}
	s.encodeFor(s.current, s.hpaTarget())
}

// hpaTarget is the target that the HPA really divides by: the observed one, which
// lags behind an edit, or the policy's.
func (s *step) hpaTarget() algorithm.Milli {
	if s.obs.HPA.Target > 0 {
		return s.obs.HPA.Target
	}
	return s.p.Target
}

// finish closes the record. An evaluation whose count the workload has not reached
// yet is stored even if nothing else is new, because its time may date the coming
// move.
func (s *step) finish() {
	pending := s.as == Stabilised && s.d.Err == nil && s.d.Replicas != s.current &&
		s.now-s.rec.EvaluatedAt >= moveResolution
	served, active := s.d.Replicas, s.d.Active
	if s.undecided {
		served = s.rec.Served
	}
	if s.d.Err != nil {
		active = s.rec.Active
	}
	if served < s.rec.Lowest || served > s.rec.Highest || s.rec.Served != served || s.rec.Active != active || s.rec.Replicas != s.current || pending {
		s.changed = true
	}
	if !s.changed { // then the record is as it was
		return
	}
	s.rec.Served, s.rec.Active, s.rec.Replicas = served, active, s.current
	s.rec.Lowest, s.rec.Highest = min(s.rec.Lowest, served), max(s.rec.Highest, served)
	s.rec.Clock, s.rec.EvaluatedAt, s.rec.Time = s.now, s.now, s.in.Now
	s.see()
}

// activity notes when a reading last was work. An edge is dated with the moment
// at which it was measured, not with the one at which somebody asked.
func (s *step) activity() {
	for i, t := range s.p.Triggers {
		reading, ok := s.d.Basis.usable(i)
		if !ok || !activation.IsActive(reading.Value, t.Activation) {
			continue
		}
		s.working = true
		if at := reading.At; !s.rec.EverActive || at > s.rec.LastActive {
			s.rec.LastActive, s.rec.EverActive = at, true
			s.changed = true
		}
	}
	s.d.EverActive = s.rec.EverActive
	s.d.LastActive = s.wall(s.rec.LastActive)
}
