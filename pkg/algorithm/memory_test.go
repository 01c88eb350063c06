package algorithm

import (
	"slices"
	"testing"
	"time"
)

// remember keeps what Add keeps, and possibly samples that no window reaches any more.
// Both answer every window alike.
func TestRememberIsAddInPlace(t *testing.T) {
	random := newRandom(t)
	for range 300 {
		var added, pushed History
		now, capacity := time.Duration(0), 0
		for range random.IntN(400) {
			now += time.Duration(random.IntN(120)) * time.Second
			replicas := random.Int32N(9)
			added = added.Add(now, replicas)
			remember(&pushed, now, replicas)
			capacity = max(capacity, cap(pushed.Highs), cap(pushed.Lows))
		}
		if !slices.Equal(reachable(pushed.Highs, now), added.Highs) || !slices.Equal(reachable(pushed.Lows, now), added.Lows) {
			t.Fatalf("pushed %+v\nadded %+v", pushed, added)
		}
		// No more than nine counts can each be higher than all later ones.
		if capacity > 64 {
			t.Fatalf("a slice for at most nine samples grew to %d", capacity)
		}
	}
}

// A slow decline over a day: no sample is outdone by a later one, and still only those
// of one hour are kept, in a slice that stops growing.
func TestRememberForgetsWhatNoWindowReaches(t *testing.T) {
	var h History
	for second := range 86_400 {
		remember(&h, seconds(second), int32(100_000-second))
		if len(h.Highs) > 4*3601 {
			t.Fatalf("%d samples after %d s", len(h.Highs), second)
		}
	}
	if got := len(reachable(h.Highs, seconds(86_399))); got != 3601 {
		t.Errorf("%d samples within an hour, want 3601", got)
	}
	if got := testing.AllocsPerRun(5000, func() { remember(&h, h.Highs[len(h.Highs)-1].At+time.Second, h.Highs[len(h.Highs)-1].Replicas-1) }); got != 0 {
		t.Errorf("%g allocations per sample", got)
	}
}

// What the HPA's own memory keeps: a new entry takes the last slot that is out of reach.
func TestSlots(t *testing.T) {
	var s slots
	for _, sample := range []Sample{at(0, 1), at(15, 2), at(30, 3)} {
		s.recommend(sample, time.Minute)
	}
	s.recommend(at(90, 4), time.Minute) // 0 s and 15 s are out of reach, 30 s is just in
	if want := []Sample{at(0, 1), at(90, 4), at(30, 3)}; !slices.Equal(s.samples, want) {
		t.Errorf("samples %v, want %v", s.samples, want)
	}
	h := s.history()
	if want := []Sample{at(0, 1), at(30, 3), at(90, 4)}; !slices.Equal(h.Lows, want) {
		t.Errorf("lows %v, want %v in order of time", h.Lows, want)
	}

	behavior := windows(0, 0)
	behavior.ScaleUp.Policies = []RatePolicy{{PodsPolicy, 4, 30 * time.Second}}
	behavior.ScaleDown.Policies = []RatePolicy{{PodsPolicy, 4, 10 * time.Second}}
	for _, e := range []Event{change(0, 4), change(30, 1), change(31, -2), change(60, 3), change(62, -1)} {
		s.change(e, behavior)
	}
	// Upward 0 s is out of reach of 60 s and is replaced, 30 s is just in; downward 31 s is.
	if want := []Event{change(60, 3), change(30, 1), change(62, -1)}; !slices.Equal(s.events(), want) {
		t.Errorf("events %v, want %v", s.events(), want)
	}
}

// A controller may be told to look back three hours, with 720 syncs in them. Of a wish
// that falls all the time the first is the largest until the window has passed.
func TestSlotsReachAsFarAsTheController(t *testing.T) {
	c := DefaultController()
	c.DownscaleStabilization = 3 * time.Hour
	s := State{Memory: NewMemory(nil, nil)}
	for sync := range 722 {
		in := at0(externalHPA(1, 2000, nil), 1000, Milli(1000-sync))
		in.Workload.Now = seconds(15 * sync)
		in.Workload.Scale.Status = 0 // no tolerance
		out := c.Reconcile(in, &s)
		if want := int32(1000 - max(0, sync-720)); out.Replicas != want {
			t.Fatalf("sync %d: %d replicas, want %d", sync, out.Replicas, want)
		}
	}
}

// An event that was seen to be out of reach is the next to be replaced, even when a
// longer period reaches it again by then.
func TestSlotsOutdatedStaysOutdated(t *testing.T) {
	short, long := windows(0, 0), windows(0, 0)
	short.ScaleUp.Policies = []RatePolicy{{PodsPolicy, 4, 10 * time.Second}}
	long.ScaleUp.Policies = []RatePolicy{{PodsPolicy, 4, time.Hour}}
	var s slots
	s.change(change(0, 1), short)
	s.change(change(5, 2), short)
	s.change(change(20, 3), short) // both are outdated: the later slot goes
	s.change(change(21, 4), long)  // the earlier one stays marked
	if want := []Event{change(21, 4), change(20, 3)}; !slices.Equal(s.events(), want) {
		t.Errorf("events %v, want %v", s.events(), want)
	}
}

func TestNewMemoryHasBegun(t *testing.T) {
	m := NewMemory(nil, nil)
	for _, d := range []Differences{{}, {LongMemory: true}, {LongMemory: true, SeedDown: true}} {
		d.seed(&m, seconds(0), 7)
		if history, _ := d.pastOf(&m); len(history.Highs) != 0 || len(history.Lows) != 0 {
			t.Errorf("%+v: a memory that had begun was seeded: %+v", d, history)
		}
	}
	m = NewMemory([]Sample{at(0, 3)}, []Event{change(0, 2), change(5, -1)})
	for _, d := range []Differences{{}, {LongMemory: true}} {
		history, events := d.pastOf(&m)
		if !slices.Equal(history.Highs, []Sample{at(0, 3)}) || len(events) != 2 {
			t.Errorf("%+v: %+v %v", d, history, events)
		}
	}
}
