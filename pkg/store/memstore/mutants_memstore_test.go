package memstore

import (
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Expired records are looked for once a minute, counted from the last time or from the
// start, and not more often: a Swap would look through all records.
func TestSweepsOnceAMinute(t *testing.T) {
	clock := newClock()
	store := New(WithClock(clock.Now))
	for _, step := range []struct {
		after time.Duration
		kept  int
	}{
		{30 * time.Second, 1},
		{30*time.Second - 1, 2}, // the first has expired, and is still there
		{1, 2},                  // a minute: it is not
		{time.Minute - 1, 3},    // two more have
		{1, 2},                  // and are gone
	} {
		clock.Advance(step.after)
		swap(t, store, clock.Now().String(), time.Millisecond)
		if got := len(store.entries); got != step.kept {
			t.Errorf("at %s: %d records, want %d", clock.Now(), got, step.kept)
		}
	}
}

func TestTheShortestTTLIsAMillisecond(t *testing.T) {
	for ttl, want := range map[time.Duration]bool{time.Millisecond - 1: false, time.Millisecond: true} {
		if swapped, err := New().Swap(t.Context(), scaling.Key{}, "", scaling.Record{}, ttl); swapped != want || (err == nil) != want {
			t.Errorf("a ttl of %s: %v, %v", ttl, swapped, err)
		}
	}
}
