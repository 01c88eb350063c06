package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	workers    = 8
	increments = 200
)

// oneWinner lets swaps race, first for a key without a record, then for one with.
func oneWinner(t trial) {
	var version scaling.Version
	for round := range int32(20) {
		var winners, winner atomic.Int32
		var wg sync.WaitGroup
		for i := range int32(workers) {
			wg.Go(func() {
				mine := round*workers + i + 1
				store := t.Stores[int(i)%len(t.Stores)]
				swapped, err := store.Swap(t.Context(), jobs, version, scaling.Record{Served: mine}, time.Hour)
				if err != nil {
					t.Error(err)
				}
				if swapped {
					winners.Add(1)
					winner.Store(mine)
				}
			})
		}
		wg.Wait()
		loaded := load(t.T, t.Stores[0], jobs)
		if winners.Load() != 1 || loaded.Record.Served != winner.Load() {
			t.Fatalf("round %d: %d of %d swaps won; the record is that of %d, the winner was %d",
				round, winners.Load(), workers, loaded.Record.Served, winner.Load())
		}
		version = loaded.Version
	}
}

// counter increments a field of one record from many goroutines: a swap that
// answers wrongly, either way, makes the sum wrong.
func counter(t trial) {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for range increments {
				if !increment(t.T, t.Stores[i%len(t.Stores)]) {
					return
				}
			}
		})
	}
	wg.Wait()
	if got := load(t.T, t.Stores[0], jobs).Record.Served; got != workers*increments {
		t.Errorf("%d workers incremented %d times: the record says %d, want %d", workers, increments, got, workers*increments)
	}
}

// increment reports false, after an error, so that one broken store does not print
// an error per increment.
func increment(t *testing.T, store scaling.Store) bool {
	t.Helper()
	for {
		loaded, err := store.Load(t.Context(), jobs)
		if err != nil {
			t.Error(err)
			return false
		}
		var next scaling.Record
		if loaded.Record != nil {
			next = *loaded.Record
		}
		next.Served++
		swapped, err := store.Swap(t.Context(), jobs, loaded.Version, next, time.Hour)
		if err != nil {
			t.Error(err)
			return false
		}
		if swapped {
			return true
		}
	}
}

// oddKeys stores a record for every pair of keys that a careless encoding would
// mix up.
func oddKeys(t trial) {
	keys := OddKeys()
	for i, k := range keys {
		mustSwap(t.T, t.Stores[0], k, "", scaling.Record{Served: int32(i + 1)}, time.Hour)
	}
	for i, k := range keys {
		if got := load(t.T, t.Stores[0], k).Record.Served; got != int32(i+1) {
			t.Errorf("key %d (%+v) holds the record of key %d", i+1, k, got)
		}
	}
}

// OddKeys returns keys that all differ and look alike.
func OddKeys() []scaling.Key {
	odd := func(kind, namespace, name, target, metric string) scaling.Key {
		return scaling.Key{Ref: scaling.Ref{Kind: kind, Namespace: namespace, Name: name}, Target: target, Record: metric}
	}
	return []scaling.Key{
		odd("", "", "", "", ""),
		odd("/", "", "", "", ""),
		odd("", "/", "", "", ""),
		odd("", "", "", "/", ""),
		odd("", "", "", "", "/"),
		odd("k", "a", "b/c", "t", "m"),
		odd("k", "a/b", "c", "t", "m"),
		odd("k", "a%2Fb", "c", "t", "m"),
		odd("k", "a%252Fb", "c", "t", "m"),
		odd("k", "a", "b", "c/t", "m"),
		odd("k", "a", "b", "c", "t/m"),
		odd("k", "a", "b", "c%2Ft", "m"),
		odd("k", "a", "b", "c", "t}m"),
		odd("k", "a", "b", "c", "t{m"),
		odd("k", "a", "b", "c", "t%7Dm"),
		odd("k", "a", "b", "c}", "m"),
		odd("k", "a", "b", "{c}", "m"),
		odd("k", "a", "b", "c", "}"),
		odd("k", "a", "b", "c", "\x00"),
		odd("k", "a", "b", "c", " "),
		odd("k", "a", "b", "c", "\xff"),
		odd("k", "a", "b", "c", "\ufffd"),
		odd("k", "a", "b", "c", "schlüssel"), // composed and
		odd("k", "a", "b", "c", "schlu\u0308ssel"),
		odd("k", "a", "b", "c", "СЛОВО"),
		odd("k", "a", "b", "c", "слово"),
		odd("k", "a", "b", "c", "*"),
		odd("k", "a", "b", "c", "🚪"),
	}
}
