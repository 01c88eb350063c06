package scaling

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// What is remembered of keys that nobody asks about: for an hour, and looked through once
// a minute.
func TestMemoryIsSwept(t *testing.T) {
	for name, c := range map[string]struct {
		swept, idle time.Duration // how long ago
		kept        bool
	}{
		"idle for an hour": {time.Minute, time.Hour, true},
		"for longer":       {time.Minute, time.Hour + 1, false},
		"for longer, but looked through just now": {time.Minute - 1, 2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := newMemory(10, 0, time.Hour), epoch
			m.swept = now.Add(-c.swept)
			m.known[Key{Record: "jobs"}] = &memo{used: now.Add(-c.idle)}
			m.last[policyName{record: "jobs"}] = &verdict{at: now.Add(-c.idle)}
			if known := m.memo(Key{Record: "other"}, now); known.used != now {
				t.Errorf("asked at %v, noted %v", now, known.used)
			}
			if _, kept := m.known[Key{Record: "jobs"}]; kept != c.kept {
				t.Errorf("what is known is kept: %v", kept)
			}
			if _, kept := m.last[policyName{record: "jobs"}]; kept != c.kept {
				t.Errorf("the decision is kept: %v", kept)
			}
			if wantSwept := c.swept >= time.Minute; m.swept.Equal(now) != wantSwept {
				t.Errorf("looked through at %v", m.swept)
			}
		})
	}
}

func TestDecisionsAreSweptAndSorted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(10, 0, time.Hour)
		for i := range 20 {
			m.decided(&Decision{Key: Key{Record: fmt.Sprintf("%02d", (7*i)%20)}}, &Decision{})
		}
		var names []string
		for _, d := range m.decisions() {
			names = append(names, d.Key.Record)
		}
		if len(names) != 20 || !slices.IsSorted(names) {
			t.Errorf("decisions %v, want 20, sorted", names)
		}
		time.Sleep(2 * time.Hour)
		m.decided(&Decision{Key: Key{Record: "new"}}, &Decision{})
		if got := m.decisions(); len(got) != 1 {
			t.Errorf("%d decisions after 2 hours, want the new one", len(got))
		}
	})
}

// The clock rule, to the nanosecond.
func TestBound(t *testing.T) {
	now := epoch
	for name, c := range map[string]struct {
		known         memo
		evaluated     time.Duration
		shows         time.Duration // how much later the store's clock is than the record
		elapsed       time.Duration
		blind, adrift bool
	}{
		"never seen":                    {memo{}, 0, time.Second, time.Second, false, false},
		"never seen, this moment":       {memo{}, 0, 0, 0, false, false},
		"never seen, a minute":          {memo{}, 0, time.Minute, time.Minute, false, false},
		"never seen, longer":            {memo{}, 0, time.Minute + 1, 0, true, false},
		"never seen, in the future":     {memo{}, 0, -1, 0, true, false},
		"seen":                          {memo{storedSeen: now.Add(-2 * time.Second), storedAge: time.Second}, 0, 2 * time.Second, 2 * time.Second, false, false},
		"seen, too much":                {memo{storedSeen: now.Add(-2 * time.Second), storedAge: time.Second}, 0, 3*time.Second + 1, 3 * time.Second, false, false},
		"seen, an hour, all of it":      {memo{storedSeen: now.Add(-time.Hour)}, 0, time.Hour, time.Hour, false, false},
		"seen, this moment":             {memo{storedSeen: now.Add(-2 * time.Second)}, 0, 0, 0, false, false},
		"seen, in the future":           {memo{storedSeen: now.Add(-2 * time.Second)}, 0, -1, 0, false, true},
		"an older one than was seen":    {memo{storedSeen: now.Add(-2 * time.Second), storedAt: 8}, 7, 50 * time.Second, 50 * time.Second, false, false},
		"the very one that was seen":    {memo{storedSeen: now.Add(-2 * time.Second), storedAt: 7}, 7, 50 * time.Second, 2 * time.Second, false, false},
		"an older one, nobody knows":    {memo{storedSeen: now.Add(-2 * time.Hour), storedAt: 8}, 7, time.Hour, 0, true, false},
		"a newer one than the last one": {memo{storedSeen: now.Add(-2 * time.Second), storedAt: 7}, 8, time.Hour, 2 * time.Second, false, false},
	} {
		l := Loaded{Now: now.Add(c.shows), Record: &Record{Time: now, EvaluatedAt: c.evaluated}}
		if elapsed, blind, adrift := c.known.bound(&l, now); elapsed != c.elapsed || blind != c.blind || adrift != c.adrift {
			t.Errorf("%s: %v, blind %v, adrift %v; want %v, %v, %v", name, elapsed, blind, adrift, c.elapsed, c.blind, c.adrift)
		}
	}
}

// evaluatedAt is a record that was made just now, at its own time.
func evaluatedAt(clock time.Duration) Record {
	return Record{Time: time.Now(), Seeded: true, Clock: clock, EvaluatedAt: clock}
}

// used is a state of which nothing may be left.
func used() state {
	return state{
		record: evaluatedAt(time.Hour), version: "old", now: time.Now(), elapsed: time.Hour, blind: true, unsaved: true,
		lost: true, unsure: true, adrift: true, degraded: true, at: time.Now(), latency: time.Hour,
	}
}

func stateLoaded(m *memory, key Key, l *Loaded, asked time.Time) state {
	st := used()
	m.loaded(key, l, asked, &st)
	return st
}

func stateLocal(m *memory, key Key) state {
	st := used()
	m.local(key, &st)
	return st
}

func stateAway(m *memory, key Key) (st state) {
	m.away(key, &st)
	return st
}

// found is what a store answers whose clock is ahead.
func found(r Record, ahead time.Duration) *Loaded {
	return &Loaded{Record: &r, Version: "v", Now: time.Now().Add(ahead)}
}

// inMemory runs a test on a process that knows nothing yet.
func inMemory(t *testing.T, test func(m *memory, key Key)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { test(newMemory(10, 0, time.Hour), Key{Record: "jobs"}) })
}

// What bounds the age of a record is when it was last seen, and how old it was then.
func TestSeeingARecordBoundsItsAge(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		r := evaluatedAt(time.Second)
		stateLoaded(m, key, found(r, 0), time.Now())
		time.Sleep(5 * time.Second)
		if st := stateLoaded(m, key, found(r, 50*time.Second), time.Now()); st.elapsed != 5*time.Second {
			t.Errorf("%v old after 5 s, at a clock 50 s ahead", st.elapsed)
		}
		if st := stateLoaded(m, key, found(r, -time.Hour), time.Now()); st.elapsed != 0 || !st.adrift {
			t.Errorf("%v old, adrift %v, at a clock that went back", st.elapsed, st.adrift)
		}
		time.Sleep(3 * time.Second)
		if st := stateLoaded(m, key, found(r, time.Hour), time.Now()); st.elapsed != 3*time.Second {
			t.Errorf("%v old, 3 s after it was taken for new", st.elapsed)
		}
	})
}

// An answer that is late says nothing of what is newer.
func TestALateAnswerBoundsNothing(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		old := evaluatedAt(time.Second)
		asked := time.Now()
		time.Sleep(2 * time.Second)
		next := evaluatedAt(3 * time.Second)
		m.stored(key, &next, &state{at: time.Now()})
		time.Sleep(3 * time.Second)
		if st := stateLoaded(m, key, found(old, 0), asked); st.lost {
			t.Error("a late answer is a loss")
		}
		if st := stateLoaded(m, key, found(next, time.Hour), time.Now()); st.elapsed != 3*time.Second {
			t.Errorf("%v old after 3 s", st.elapsed)
		}
	})
}

// The round trip is a part of the age: the store read its clock at its beginning, at worst.
func TestTheRoundTripCounts(t *testing.T) {
	for name, remember := range map[string]func(*memory, Key, *Record, *state){
		"stored": (*memory).stored, "kept": (*memory).keep,
	} {
		inMemory(t, func(m *memory, key Key) {
			r := evaluatedAt(time.Second)
			remember(m, key, &r, &state{at: time.Now(), latency: 2 * time.Second})
			if got := stateLocal(m, key).elapsed; got != 2*time.Second {
				t.Errorf("%s: %v old by this process's clock, want 2s", name, got)
			}
			if st := stateLoaded(m, key, found(r, time.Hour), time.Now()); st.elapsed != 2*time.Second {
				t.Errorf("%s: %v old by the store's, want 2s", name, st.elapsed)
			}
		})
	}
}

// What this process alone remembers is added to what the store has, until it is stored: a
// swap may fail.
func TestWhatIsNotStoredIsAddedAgain(t *testing.T) {
	for name, degraded := range map[string]bool{"after an outage": true, "after a failover": false} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(m *memory, key Key) {
				old := evaluatedAt(time.Second)
				time.Sleep(9 * time.Second)
				mine := evaluatedAt(10 * time.Second)
				mine.History = mine.History.Add(10*time.Second, 20)
				m.keep(key, &mine, &state{at: time.Now(), degraded: degraded})
				for range 3 {
					time.Sleep(time.Second)
					l := found(old, 0)
					st := stateLoaded(m, key, l, time.Now())
					if len(st.record.History.Highs) != 1 || !st.unsaved || st.elapsed != 0 || !st.record.Time.Equal(l.Now) {
						t.Errorf("%+v, elapsed %v, unsaved %v; want the 20, as of now, to be stored", st.record, st.elapsed, st.unsaved)
					}
				}
			})
		})
	}
}

func TestForgottenIsUnknown(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		m.stored(key, new(evaluatedAt(time.Second)), &state{at: time.Now()})
		m.forget(key)
		if st := stateLocal(m, key); st.record.Seeded {
			t.Errorf("still known: %+v", st.record)
		}
	})
}

// A record that another read has just stored is as old as both clocks can vouch for. Where
// there is no store, or its clock went back, it is this process's alone.
func TestRecent(t *testing.T) {
	for name, c := range map[string]struct {
		shows    time.Duration // how much later the store's clock is than the record
		degraded bool
		want     time.Duration
	}{
		"the store says less":     {2 * time.Second, false, 2 * time.Second},
		"nothing":                 {0, false, 0},
		"more":                    {time.Hour, false, 5 * time.Second},
		"its clock went back":     {-1, false, 5 * time.Second},
		"there is no store":       {2 * time.Second, true, 5 * time.Second},
		"no store, a clock ahead": {-time.Hour, true, 5 * time.Second},
	} {
		inMemory(t, func(m *memory, key Key) {
			r := evaluatedAt(time.Second)
			m.stored(key, &r, &state{at: time.Now()})
			time.Sleep(5 * time.Second)
			st := m.recent(key, &state{now: r.Time.Add(c.shows), at: time.Now(), degraded: c.degraded})
			if st.elapsed != c.want || st.degraded != c.degraded {
				t.Errorf("%s: %v old, degraded %v; want %v", name, st.elapsed, st.degraded, c.want)
			}
		})
	}
}

func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := state{elapsed: time.Second, now: epoch, at: time.Now()}
		time.Sleep(2 * time.Second)
		if st.pass(); st.elapsed != 3*time.Second || !st.now.Equal(epoch.Add(2*time.Second)) || !st.at.Equal(time.Now()) {
			t.Errorf("got %+v, want 3s of age, 2s later", st)
		}
	})
}

// The store's clock is ten minutes ahead of this process's when it goes away. The queue is
// read on all the same: work wakes what sleeps.
func TestAStoreAheadOfUsGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		r.store.skew = 10 * time.Minute
		r.source.set("a", 0, false)
		r.Evaluate(t.Context(), request("a"))
		time.Sleep(30 * time.Second)
		r.store.err = errors.New("connection refused")
		r.source.set("a", 30, false)
		if d := r.Evaluate(t.Context(), request("a")); !d.Active || d.Replicas == 0 {
			t.Errorf("30 jobs, and %d replicas, active %v: %s", d.Replicas, d.Active, d.Why())
		}
	})
}

// More readings on file than triggers are of another policy.
func TestReadingsOfAnotherPolicyAreReadAnew(t *testing.T) {
	q := question{policy: quietUnion()}
	reading := Reading{Query: "list jobs", Known: true}
	for n, want := range map[int]bool{0: true, 1: false, 2: true} {
		st := state{record: Record{Readings: slices.Repeat([]Reading{reading}, n)}}
		if got := st.wantsReading(&q); got != want {
			t.Errorf("%d readings for one trigger: wants a reading: %v", n, got)
		}
	}
}
