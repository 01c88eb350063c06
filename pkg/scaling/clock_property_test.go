package scaling

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// wrongClock is what happens to the store's clock before an evaluation.
type wrongClock struct {
	name  string
	jumps time.Duration
	// stops, goes: the clock is frozen until it goes on, from where it stopped.
	stops, goes bool
}

// wrongClocks has the one that is right several times: a clock that jumps at every
// evaluation hides what comes of a single jump.
var wrongClocks = []wrongClock{
	{name: "right"},
	{name: "right"},
	{name: "right"},
	{name: "10 min ahead", jumps: 10 * time.Minute},
	{name: "10 min back", jumps: -10 * time.Minute},
	{name: "40 s ahead", jumps: 40 * time.Second},
	{name: "3 s back", jumps: -3 * time.Second},
	{name: "stopped", stops: true},
	{name: "going on", goes: true},
}

// bentStore is a store whose clock is bent, and what really happened.
type bentStore struct {
	*rig

	processes []*Evaluator
	// last is when a process last evaluated; zero if it never has.
	last   []time.Time
	stored time.Time // when the record was
	frozen time.Time // what a clock that has stopped shows; zero if it goes
	bent   bool      // the clock has been wrong since the record was stored
}

func newBentStore(processes int) *bentStore {
	b := &bentStore{rig: newRig(6), last: make([]time.Time, processes)}
	for range processes {
		b.processes = append(b.processes, b.replica())
	}
	return b
}

func (b *bentStore) clock() time.Time {
	if !b.frozen.IsZero() {
		return b.frozen
	}
	return time.Now().Add(b.store.skew)
}

// bend changes the store's clock.
func (b *bentStore) bend(c wrongClock) {
	shows := b.clock()
	switch {
	case c.stops:
		b.frozen = shows
	case c.goes && !b.frozen.IsZero():
		b.store.skew, b.frozen = time.Until(b.frozen), time.Time{}
	case c.jumps != 0 && b.frozen.IsZero():
		b.store.skew += c.jumps
	case c.jumps != 0:
		b.frozen = b.frozen.Add(c.jumps)
	}
	if !b.frozen.IsZero() {
		b.store.skew = time.Until(b.frozen)
	}
	b.bent = b.bent || !b.frozen.IsZero() || !b.clock().Equal(shows)
}

// evaluate has a process decide on a reading of its own, and returns by how much that
// aged the record, how old the record really was, and how long the process had not seen
// it, -1 if it never had.
func (b *bentStore) evaluate(t *rapid.T, process int, value float64) (d Decision, aged, age, unseen time.Duration) {
	t.Helper()
	now, before := time.Now(), b.record()
	age, unseen = now.Sub(b.stored), -1
	if !b.last[process].IsZero() {
		unseen = now.Sub(b.last[process])
	}
	ask := request("a")
	ask.Outcomes = []Outcome{{Value: value}}
	d = b.processes[process].Evaluate(t.Context(), ask)
	aged = b.record().Clock - before.Clock
	b.last[process], b.stored = now, now
	return d, aged, age, unseen
}

func (b *bentStore) record() Record {
	if r := b.store.data[requestKey].Record; r != nil {
		return *r
	}
	return Record{}
}

// requestKey is where the record of request("a") is.
var requestKey = request("a").key()

// TestClockProperty: whatever the store's clock does, an evaluation ages a record by no
// more than the time for which its process has not seen it, and one that never saw it by
// no more than a minute; no time runs backwards. Without a jump the record ages as
// it should, to the nanosecond. So a window, and a cooldown, ends early by at most one gap
// between two evaluations of a process for each time that the clock was wrong, and where
// one process asks it never does.
func TestClockProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			b := newBentStore(rapid.IntRange(1, 3).Draw(t, "processes"))
			b.evaluate(t, 0, 30)
			began, aged := time.Now(), time.Duration(0)
			for range rapid.IntRange(1, 12).Draw(t, "evaluations") {
				b.bent = !b.frozen.IsZero()
				time.Sleep(time.Duration(rapid.IntRange(1, 75).Draw(t, "seconds later")) * time.Second)
				b.bend(rapid.SampledFrom(wrongClocks).Draw(t, "the clock"))
				by := rapid.IntRange(0, len(b.processes)-1).Draw(t, "process")
				d, step, age, unseen := b.evaluate(t, by, 0)
				aged += step
				checkAge(t, step, age, unseen, b.bent)
				if window := request("a").Policy.Behavior.ScaleDown.Window; aged < window && (d.Replicas != 6 || !d.Active) {
					t.Errorf("%d replicas, active %v, on a record %v after 6 were recommended; its window and cooldown are %v: %s", d.Replicas, d.Active, aged, window, d.Why())
				}
				if len(b.processes) == 1 && aged > time.Since(began) {
					t.Errorf("one process aged its record by %v in %v", aged, time.Since(began))
				}
			}
		})
	})
}

// checkAge compares by how much a record aged with how old it was.
func checkAge(t *rapid.T, aged, age, unseen time.Duration, bent bool) {
	t.Helper()
	var problem string
	switch {
	case aged < 0:
		problem = "time ran backwards"
	case unseen >= 0 && aged > unseen:
		problem = fmt.Sprintf("its process saw it %v ago", unseen)
	case unseen < 0 && aged > time.Minute:
		problem = "its process never saw it"
	case bent:
	case unseen < 0 && age > time.Minute && aged != 0:
		problem = "nobody can know that it is so old"
	case aged != age && (unseen >= 0 || age <= time.Minute):
		problem = "the clock is right"
	}
	if problem != "" {
		t.Errorf("a record that was %v old aged by %v: %s", age, aged, problem)
	}
}
