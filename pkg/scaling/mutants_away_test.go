package scaling

import (
	"testing"
	"time"
)

// While the store is away, counts only rise, and others may decide alone: that is so until
// this process has stored a record again.
func TestAStoreThatWasAway(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		r := evaluatedAt(time.Second)
		m.stored(key, &r, &state{at: time.Now()})
		if st := stateLoaded(m, key, found(r, 0), time.Now()); st.unsure || st.degraded {
			t.Errorf("what it has stored: unsure %v, degraded %v", st.unsure, st.degraded)
		}
		if st := stateAway(m, key); !st.unsure || !st.degraded {
			t.Errorf("while the store is away: unsure %v, degraded %v", st.unsure, st.degraded)
		}
		if st := stateLoaded(m, key, found(r, 0), time.Now()); !st.unsure || st.degraded {
			t.Errorf("when it is back: unsure %v, degraded %v", st.unsure, st.degraded)
		}
		m.stored(key, &r, &state{at: time.Now()})
		if st := stateLoaded(m, key, found(r, 0), time.Now()); st.unsure {
			t.Error("still unsure when it has stored again")
		}
	})
}

// Whether others may have decided is known of the state that was loaded, not of what this
// process remembers.
func TestRecentIsAsSureAsWhatWasLoaded(t *testing.T) {
	for _, unsure := range []bool{false, true} {
		inMemory(t, func(m *memory, key Key) {
			m.stored(key, new(evaluatedAt(time.Second)), &state{at: time.Now()})
			if got := m.recent(key, &state{now: time.Now(), at: time.Now(), unsure: unsure}).unsure; got != unsure {
				t.Errorf("unsure %v, want %v", got, unsure)
			}
		})
	}
}

// What this process remembers alone and what the store has become one record on the later
// of the two clocks: no clock goes back.
func TestTheLaterClockCounts(t *testing.T) {
	for name, c := range map[string]struct{ mine, theirs, want time.Duration }{
		"mine":   {20 * time.Second, 10 * time.Second, 20 * time.Second},
		"theirs": {10 * time.Second, 20 * time.Second, 20 * time.Second},
		"alike":  {10 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		inMemory(t, func(m *memory, key Key) {
			mine := evaluatedAt(c.mine)
			mine.EverActive, mine.LastActive = true, c.mine-time.Second
			m.keep(key, &mine, &state{at: time.Now(), degraded: true})
			st := stateLoaded(m, key, found(evaluatedAt(c.theirs), 0), time.Now())
			if st.record.Clock != c.want || st.record.LastActive != c.want-time.Second {
				t.Errorf("%s: the clock shows %v, last active at %v; want %v, and a second before", name, st.record.Clock, st.record.LastActive, c.want)
			}
		})
	}
}

// Room that nobody needs any more is free for a newcomer, though nobody else has come since.
func TestAdmissionSweepsFirst(t *testing.T) {
	inMemory(t, func(m *memory, _ Key) {
		m.most = 1
		m.decided(&Decision{Key: Key{Record: "jobs"}}, &Decision{})
		time.Sleep(m.idle)
		if m.admit(policyName{record: "mails"}) == nil {
			t.Error("let in, although there is no room")
		}
		time.Sleep(sweepEvery)
		if err := m.admit(policyName{record: "mails"}); err != nil {
			t.Errorf("not let in, when nobody has asked about the other for long: %v", err)
		}
	})
}

// Half of the room is less than half where it cannot be halved: of three, strangers get one.
func TestStrangersGetHalfOfTheRoom(t *testing.T) {
	m := newMemory(3, 0, time.Hour)
	for i, record := range []string{"jobs", "mails"} {
		if got := m.decided(&Decision{Key: Key{Record: record}, Err: ErrUnobserved}, &Decision{}); got != (i == 0) {
			t.Errorf("stranger %d is remembered: %v", i+1, got)
		}
	}
	if n := len(m.decisions()); n != 1 {
		t.Errorf("%d are remembered, want 1", n)
	}
}

// The time without sight that ended last is that of the union, whoever saw it; a record
// without a past has seen none.
func TestUnionIsInSightSinceTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		mine, theirs time.Duration // ago
		seeded       bool
		want         time.Duration
	}{
		"mine was last":             {10 * time.Second, 20 * time.Second, true, 10 * time.Second},
		"theirs was last":           {20 * time.Second, 10 * time.Second, true, 10 * time.Second},
		"theirs is without a past":  {20 * time.Second, 10 * time.Second, false, 20 * time.Second},
		"theirs was never recorded": {20 * time.Second, 0, false, 20 * time.Second},
	} {
		mine := Record{Clock: 100 * time.Second, SeenSince: 100*time.Second - c.mine, Seeded: true}
		theirs := Record{Clock: 500 * time.Second, SeenSince: 500*time.Second - c.theirs, Seeded: c.seeded}
		if got := mine.Clock - mine.Union(theirs).SeenSince; got != c.want {
			t.Errorf("%s: in sight for %v, want %v", name, got, c.want)
		}
	}
}

// What another process has seen since stands in for what is observed, but for a shadow,
// which goes by what it has decided itself.
func TestWhoseViewIsTheLatest(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		want   int32
	}{
		"stabilised":   {func(*Input) {}, 4},
		"pass-through": {passed, 4},
		"shadow":       {shadow, 2},
	} {
		in := ordinary()
		c.change(&in)
		in.Record.Sight = Sight{Revision: 7, At: in.Record.Clock}
		in.Observation.Revision, in.Observation.Spec = 6, 2
		v := evaluation{question: question{policy: in.Policy, obs: in.Observation}, state: state{record: in.Record, elapsed: in.Elapsed}}
		if v.catchUp(); v.obs.Spec != c.want {
			t.Errorf("%s: sees %d, want %d", name, v.obs.Spec, c.want)
		}
	}
}
