package scaling

import (
	"testing"
	"testing/synctest"
	"time"
)

// Answers of a store may arrive in another order than they were given. An old one is no
// loss; one that was asked for after a newer one was seen is.
func TestOldAnswersAreNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, key := newMemory(10, 0, time.Hour), Key{Record: "jobs"}
		answer := func(evaluated time.Duration) *Loaded {
			return &Loaded{Now: time.Now(), Record: &Record{Time: time.Now(), Seeded: true, Clock: evaluated, EvaluatedAt: evaluated}}
		}
		first := answer(time.Second)
		stateLoaded(m, key, first, time.Now())
		time.Sleep(time.Millisecond)
		askedEarly := time.Now()
		time.Sleep(time.Millisecond)
		stateLoaded(m, key, answer(2*time.Second), time.Now())
		time.Sleep(time.Millisecond)
		if st := stateLoaded(m, key, first, askedEarly); st.lost || st.unsaved || !st.dated() {
			t.Errorf("an answer that was late counts as a loss: %+v", st)
		}
		if st := stateLoaded(m, key, first, time.Now()); !st.lost || !st.unsaved || st.dated() {
			t.Errorf("a record that went back in time is no loss: %+v", st)
		}
	})
}

// A swap of this process says how old the new record is. An answer with the record before
// it, asked for earlier, must not be taken for as young.
func TestALateAnswerKeepsItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, key := newMemory(10, 0, time.Hour), Key{Record: "jobs"}
		old := Record{Time: time.Now(), Seeded: true, Clock: time.Second, EvaluatedAt: time.Second}
		st := stateLoaded(m, key, &Loaded{Now: time.Now(), Record: &old}, time.Now())
		time.Sleep(2 * time.Second)
		asked, answered := time.Now(), Loaded{Now: time.Now(), Record: &old}
		next := old
		next.Time, next.Clock, next.EvaluatedAt = time.Now(), 3*time.Second, 3*time.Second
		st.pass()
		m.stored(key, &next, &st)
		time.Sleep(time.Millisecond)
		if got := stateLoaded(m, key, &answered, asked); got.elapsed != 2*time.Second {
			t.Errorf("the old record is %v old, want 2s", got.elapsed)
		}
	})
}
