// Package storetest holds the rules that every scaling.Store obeys, as tests.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Fixture is one empty store under test.
type Fixture struct {
	// Stores are handles on one and the same store, as several replicas would hold
	// them; at least one.
	Stores []scaling.Store
	// Advance lets the store's clock move on by d.
	Advance func(d time.Duration)
	// PutRaw overwrites the bytes of a record that exists with those of another version,
	// past the store. Nil for a store that keeps no bytes; the rules about foreign bytes
	// then do not apply.
	PutRaw func(t *testing.T, key scaling.Key, data []byte)
}

// trial is one rule's test and the store that it is tried on.
type trial struct {
	*testing.T
	Fixture
}

// Run checks the rules, each on a store of its own.
func Run(t *testing.T, newStore func(t *testing.T) Fixture) {
	t.Helper()
	rules := []struct {
		name  string
		check func(trial)
	}{
		{"a missing key is not an error", missingKey},
		{"load returns what swap stored, every field", roundTrip},
		{"swap is refused for any version but the present one", staleVersions},
		{"versions never repeat", versionsNeverRepeat},
		{"odd keys do not collide", oddKeys},
		{"of concurrent swaps one wins", oneWinner},
		{"no increment is lost between replicas", counter},
		{"a record is gone after its ttl", expiry},
		{"a refused swap does not prolong a record", refusedSwapKeepsExpiry},
		{"a ttl below a millisecond is an error", badTTL},
		{"time comes from the store and does not run backwards", clock},
		{"an ended context is an error and changes nothing", endedContext},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) { rule.check(trial{t, newStore(t)}) })
	}
	if newStore(t).PutRaw == nil {
		return
	}
	for name, data := range unreadable {
		t.Run(name+" counts as no record and can be swapped over", func(t *testing.T) {
			checkUnreadable(trial{t, newStore(t)}, data)
		})
	}
}

var jobs = key("jobs")

func key(metric string) scaling.Key {
	return scaling.Key{
		Ref:    scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"},
		Target: "apps/Deployment/worker", Record: metric,
	}
}

func missingKey(t trial) {
	loaded := load(t.T, t.Stores[0], jobs)
	if loaded.Record != nil || loaded.Version != "" {
		t.Errorf("Load of a missing key: %+v; want no record and no version", loaded)
	}
	if loaded.Now.IsZero() {
		t.Error("Load of a missing key does not tell the time")
	}
}

func roundTrip(t trial) {
	for name, record := range map[string]scaling.Record{"full": FullRecord(), "zero": {}} {
		k := key(name)
		mustSwap(t.T, t.Stores[0], k, "", record, time.Hour)
		for i, store := range t.Stores {
			loaded := load(t.T, store, k)
			if loaded.Version == "" {
				t.Errorf("%s, handle %d: no version after a swap", name, i)
			}
			if !reflect.DeepEqual(loaded.Record, &record) {
				t.Errorf("%s, handle %d: loaded\n%+v\nstored\n%+v", name, i, loaded.Record, record)
			}
		}
	}
}

func staleVersions(t trial) {
	store := t.Stores[0]
	mustSwap(t.T, store, key("other"), "", scaling.Record{Served: 7}, time.Hour)
	foreign := load(t.T, store, key("other")).Version
	refuse(t.T, store, jobs, foreign, "the version of another key, on a missing one")
	if load(t.T, store, jobs).Record != nil {
		t.Error("a refused swap made a record")
	}

	mustSwap(t.T, store, jobs, "", scaling.Record{Served: 1}, time.Hour)
	old := load(t.T, store, jobs).Version
	mustSwap(t.T, store, jobs, old, scaling.Record{Served: 2}, time.Hour)
	before := load(t.T, store, jobs)
	for name, version := range map[string]scaling.Version{
		"empty": "", "old": old, "foreign": foreign, "made up": "x", "with a NUL": before.Version + "\x00",
	} {
		refuse(t.T, store, jobs, version, name)
	}
	if after := load(t.T, store, jobs); after.Record.Served != 2 || after.Version != before.Version {
		t.Errorf("after refused swaps: served %d, version %q; want 2, %q", after.Record.Served, after.Version, before.Version)
	}
}

func versionsNeverRepeat(t trial) {
	seen := map[scaling.Version]bool{}
	var version scaling.Version
	for range 300 {
		// The same record each time: a version names the write, not the content.
		mustSwap(t.T, t.Stores[0], jobs, version, scaling.Record{Served: 1}, time.Hour)
		version = load(t.T, t.Stores[0], jobs).Version
		if seen[version] {
			t.Fatalf("version %q came a second time", version)
		}
		seen[version] = true
	}
}

func expiry(t trial) {
	store := t.Stores[0]
	mustSwap(t.T, store, jobs, "", scaling.Record{Served: 1}, 500*time.Millisecond)
	first := load(t.T, store, jobs).Version
	mustSwap(t.T, store, jobs, first, scaling.Record{Served: 2}, time.Hour)
	t.Advance(600 * time.Millisecond)
	renewed := load(t.T, store, jobs)
	if renewed.Record.Served != 2 {
		t.Fatalf("after the first ttl: %+v; the second swap should have renewed it", renewed)
	}
	mustSwap(t.T, store, jobs, renewed.Version, scaling.Record{Served: 3}, 50*time.Millisecond)
	last := load(t.T, store, jobs).Version
	t.Advance(100 * time.Millisecond)
	if gone := load(t.T, store, jobs); gone.Record != nil || gone.Version != "" {
		t.Errorf("after the ttl: %+v; want no record", gone)
	}
	if last != "" { // it may have expired before it could be read
		refuse(t.T, store, jobs, last, "the version of an expired record")
	}
	mustSwap(t.T, store, jobs, "", scaling.Record{Served: 4}, time.Hour)
}

func refusedSwapKeepsExpiry(t trial) {
	mustSwap(t.T, t.Stores[0], jobs, "", scaling.Record{}, 500*time.Millisecond)
	refuse(t.T, t.Stores[0], jobs, "foreign", "foreign")
	t.Advance(600 * time.Millisecond)
	if load(t.T, t.Stores[0], jobs).Record != nil {
		t.Error("a refused swap prolonged the record")
	}
}

func badTTL(t trial) {
	for _, ttl := range []time.Duration{0, -time.Hour, time.Millisecond - 1} {
		if swapped, err := t.Stores[0].Swap(t.Context(), jobs, "", scaling.Record{}, ttl); err == nil || swapped {
			t.Errorf("Swap with ttl %s: %v, %v; want an error", ttl, swapped, err)
		}
	}
	if load(t.T, t.Stores[0], jobs).Record != nil {
		t.Error("a swap with a bad ttl made a record")
	}
}

func clock(t trial) {
	start := load(t.T, t.Stores[0], jobs).Now
	last := start
	for i := range 100 {
		now := load(t.T, t.Stores[i%len(t.Stores)], jobs).Now
		if now.Before(last) {
			t.Fatalf("the time was %s and then %s", last, now)
		}
		last = now
	}
	const step = 200 * time.Millisecond
	t.Advance(step)
	if passed := load(t.T, t.Stores[0], jobs).Now.Sub(start); passed < step {
		t.Errorf("the store says that %s passed, it was %s at least", passed, step)
	}
}

func endedContext(t trial) {
	store := t.Stores[0]
	mustSwap(t.T, store, jobs, "", scaling.Record{Served: 1}, time.Hour)
	version := load(t.T, store, jobs).Version
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Load(ctx, jobs); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: error %v; want context.Canceled", err)
	}
	if _, err := store.Swap(ctx, jobs, version, scaling.Record{Served: 2}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Swap: error %v; want context.Canceled", err)
	}
	if got := load(t.T, store, jobs).Record.Served; got != 1 {
		t.Errorf("served is %d after a swap that was canceled before it began; want 1", got)
	}
}

// unreadable are bytes that no release up to this one wrote. Counting them as a lost
// key costs blind time, which shrinks nothing and wakes nothing, and heals with the
// next swap. An error would heal only when the ttl ends: until then the workload
// could but rise.
var unreadable = map[string][]byte{
	"a record of a newer layout": []byte(`{"v":1000,"served":"as text by then"}`),
	"garbage":                    []byte("\x00\xffnot a record"),
	"nothing at all":             {},
	"a field of another type":    []byte(`{"v":1,"served":"three"}`),
}

func checkUnreadable(t trial, data []byte) {
	store := t.Stores[0]
	mustSwap(t.T, store, jobs, "", FullRecord(), time.Hour)
	t.PutRaw(t.T, jobs, data)
	loaded := load(t.T, store, jobs)
	if loaded.Record != nil {
		t.Errorf("Load: %+v; want no record", loaded)
	}
	if loaded.Version == "" {
		t.Error("Load gives no version to swap it over with")
	}
	refuse(t.T, store, jobs, "", "empty, over bytes that cannot be read")
	mustSwap(t.T, store, jobs, loaded.Version, scaling.Record{Served: 5}, time.Hour)
	if got := load(t.T, store, jobs).Record.Served; got != 5 {
		t.Errorf("served is %d after the swap; want 5", got)
	}
}

func load(t *testing.T, store scaling.Store, k scaling.Key) *scaling.Loaded {
	t.Helper()
	loaded, err := store.Load(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func mustSwap(t *testing.T, store scaling.Store, k scaling.Key, version scaling.Version, next scaling.Record, ttl time.Duration) {
	t.Helper()
	swapped, err := store.Swap(t.Context(), k, version, next, ttl)
	if err != nil || !swapped {
		t.Fatalf("Swap of %s at version %q: %v, %v; want true", k, version, swapped, err)
	}
}

func refuse(t *testing.T, store scaling.Store, k scaling.Key, version scaling.Version, name string) {
	t.Helper()
	swapped, err := store.Swap(t.Context(), k, version, scaling.Record{Served: 99}, time.Hour)
	if err != nil || swapped {
		t.Errorf("Swap at version %q (%s): %v, %v; want false, nil", version, name, swapped, err)
	}
}
