package memstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/storetest"
)

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Fixture {
		clock := newClock()
		return storetest.Fixture{
			Stores:  []scaling.Store{New(WithClock(clock.Now))},
			Advance: clock.Advance,
		}
	})
}

func TestSweepGivesExpiredRecordsBack(t *testing.T) {
	clock := newClock()
	store := New(WithClock(clock.Now))
	for i := range 100 {
		swap(t, store, fmt.Sprint("short", i), time.Second)
	}
	swap(t, store, "long", time.Hour)
	clock.Advance(sweepEvery)
	swap(t, store, "new", time.Hour)
	if got := len(store.entries); got != 2 {
		t.Errorf("%d records are kept, want 2: the long-lived and the new one", got)
	}
}

func swap(t *testing.T, store *Store, metric string, ttl time.Duration) {
	t.Helper()
	swapped, err := store.Swap(t.Context(), scaling.Key{Record: metric}, "", scaling.Record{}, ttl)
	if err != nil || !swapped {
		t.Fatalf("Swap of a new key: %v, %v; want true, nil", swapped, err)
	}
}

func BenchmarkLoad(b *testing.B) {
	store, key := New(), scaling.Key{Record: "jobs"}
	if _, err := store.Swap(b.Context(), key, "", storetest.FullRecord(), time.Hour); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Load(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadAndSwap(b *testing.B) {
	store, key, record := New(), scaling.Key{Record: "jobs"}, storetest.FullRecord()
	b.ReportAllocs()
	for b.Loop() {
		loaded, err := store.Load(b.Context(), key)
		if err != nil {
			b.Fatal(err)
		}
		if swapped, err := store.Swap(b.Context(), key, loaded.Version, record, time.Hour); err != nil || !swapped {
			b.Fatal(swapped, err)
		}
	}
}
