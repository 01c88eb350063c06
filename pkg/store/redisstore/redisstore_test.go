package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/storetest"
)

// patient is a timeout for tests in which Redis is well: a busy machine is no error.
const patient = 10 * time.Second

var jobs = scaling.Key{
	Ref:    scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"},
	Target: "apps/Deployment/worker", Record: "redis-jobs",
}

func TestConformance(t *testing.T) {
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		conformance(t, redistest.Start(t).URL())
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		group := redistest.StartSentinel(t)
		conformance(t, "redis-sentinel://"+group.Sentinel.Addr()+"?master="+group.Name)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		conformance(t, "redis-cluster://"+strings.Join(redistest.StartCluster(t).Addrs(), ","))
	})
}

func conformance(t *testing.T, url string) {
	t.Helper()
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		t.Helper()
		store, replica := open(t, url, patient), open(t, url, patient)
		return storetest.Fixture{
			Stores:  []scaling.Store{store, replica},
			Advance: time.Sleep, // only Redis itself can tell whether its TTLs work
			PutRaw: func(t *testing.T, key scaling.Key, data []byte) {
				t.Helper()
				if err := store.client.HSet(t.Context(), store.redisKey(key), "record", data, "version", rand.Text()).Err(); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func open(tb testing.TB, url string, timeout time.Duration) *Store {
	tb.Helper()
	store, err := Open(url, Options{Instance: tb.Name(), Timeout: timeout})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			tb.Error(err)
		}
	})
	return store
}

// increment is a load and a swap; it reports the count that it has stored.
func increment(ctx context.Context, store *Store) (int32, error) {
	loaded, err := store.Load(ctx, jobs)
	if err != nil {
		return 0, err
	}
	var next scaling.Record
	if loaded.Record != nil {
		next = *loaded.Record
	}
	next.Served++
	swapped, err := store.Swap(ctx, jobs, loaded.Version, next, time.Hour)
	if err == nil && !swapped {
		err = errors.New("refused")
	}
	return next.Served, err
}

func mustIncrement(t *testing.T, store *Store, want int32) {
	t.Helper()
	if got, err := increment(t.Context(), store); err != nil || got != want {
		t.Fatalf("increment: %d, %v; want %d", got, err, want)
	}
}

// eventually repeats what may fail while a server comes back.
func eventually(t *testing.T, what string, attempt func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		err := attempt()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestScriptsDoNotCompute(t *testing.T) {
	operator := regexp.MustCompile(`[-+*/%^#<>~]|\band\b|\bor\b|\bnot\b`)
	for _, s := range []script{loadScript, swapScript} {
		if found := operator.FindAllString(s.text, -1); found != nil {
			t.Errorf("operators %q in%s", found, s.text)
		}
	}
}

func TestOneRoundTripEach(t *testing.T) {
	server := redistest.Start(t)
	proxy := startProxy(t, server.Addr())
	store := open(t, "redis://"+proxy.addr+"?pool_size=1", patient)
	mustIncrement(t, store, 1) // connects, and teaches Redis the scripts
	version := load(t, store).Version
	for _, test := range []struct {
		name      string
		operation func() error
	}{
		{"Load", func() error { _, err := store.Load(t.Context(), jobs); return err }},
		{"Load of a missing key", func() error { _, err := store.Load(t.Context(), scaling.Key{}); return err }},
		{"Swap that wins", func() error {
			_, err := store.Swap(t.Context(), jobs, version, storetest.FullRecord(), time.Hour)
			return err
		}},
		{"Swap that loses", func() error {
			_, err := store.Swap(t.Context(), jobs, version, storetest.FullRecord(), time.Hour)
			return err
		}},
		{"Publish", func() error { return store.Publish(t.Context(), "shop", "worker") }},
	} {
		before := proxy.roundTrips()
		if err := test.operation(); err != nil {
			t.Fatal(err)
		}
		if got := proxy.roundTrips() - before; got != 1 {
			t.Errorf("%s: %d round trips, want 1", test.name, got)
		}
	}
}

func load(t *testing.T, store *Store) *scaling.Loaded {
	t.Helper()
	loaded, err := store.Load(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestScriptFlush(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, server.URL(), patient)
	for i := range 3 {
		mustIncrement(t, store, int32(i+1))
		if err := store.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnotherTypeAtTheKeyIsAnError(t *testing.T) {
	store := open(t, redistest.Start(t).URL(), patient)
	if err := store.client.Set(t.Context(), store.redisKey(jobs), "by hand", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), jobs); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Load: error %v; want WRONGTYPE", err)
	}
	if _, err := store.Swap(t.Context(), jobs, "", scaling.Record{}, time.Hour); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Swap: error %v; want WRONGTYPE", err)
	}
}

func TestPasswordIsUsedAndNeverShown(t *testing.T) {
	server := redistest.Start(t, redistest.WithArgs("--requirepass", "hunter2"))
	if err := open(t, "redis://:hunter2@"+server.Addr(), patient).Ready(t.Context()); err != nil {
		t.Error(err)
	}
	err := open(t, "redis://:hunter3@"+server.Addr(), patient).Ready(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("with a wrong password: error %v", err)
	}
}
