package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestKillAndRestart(t *testing.T) {
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	store := open(t, server.URL(), patient)
	for want := int32(1); want <= 4; want++ {
		mustIncrement(t, store, want)
		server.Kill()
		if _, err := increment(t.Context(), store); err == nil {
			t.Fatal("a dead Redis answered")
		}
		if err := store.Ready(t.Context()); err == nil {
			t.Fatal("a dead Redis is ready")
		}
		server.Restart()
		eventually(t, "Load after a restart", func() error { _, err := store.Load(t.Context(), jobs); return err })
		if got := load(t, store).Record.Served; got != want {
			t.Fatalf("served is %d after a restart, want %d", got, want)
		}
	}
}

func TestSuspendedServer(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, server.URL(), defaultTimeout)
	eventually(t, "the first increment", func() error { _, err := increment(t.Context(), store); return err })

	server.Suspend()
	for range breakerLimit {
		started := time.Now()
		_, err := store.Load(t.Context(), jobs)
		if !errors.Is(err, errSlow) {
			t.Errorf("error %v; want one that says %q", err, errSlow)
		}
		// Generous, for a busy machine; without a deadline it would be 1 s or more.
		if took := time.Since(started); took > 10*defaultTimeout {
			t.Errorf("an operation took %s with a deadline of %s", took, defaultTimeout)
		}
	}
	took := make([]time.Duration, 1000)
	for i := range took {
		started := time.Now()
		if _, err := store.Load(t.Context(), jobs); err == nil {
			t.Fatal("a suspended Redis answered")
		}
		took[i] = time.Since(started)
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > time.Millisecond {
		t.Errorf("while the breaker is open an operation takes %s", median)
	}

	server.Resume()
	eventually(t, "Load after the pause", func() error { _, err := store.Load(t.Context(), jobs); return err })
}

// A swap whose answer is lost is in the hung server's socket, and may be applied when
// the server goes on. Its error means "perhaps"; it must not undo a later swap.
func TestLostAnswer(t *testing.T) {
	server := redistest.Start(t)
	store, patientStore := open(t, server.URL(), defaultTimeout), open(t, server.URL(), patient)
	mustIncrement(t, patientStore, 1)
	eventually(t, "a connection", func() error { return store.Ready(t.Context()) })
	before := load(t, patientStore)

	server.Suspend()
	if swapped, err := store.Swap(t.Context(), jobs, before.Version, scaling.Record{Served: 100}, time.Hour); err == nil || swapped {
		t.Errorf("Swap on a suspended Redis: %v, %v; want an error", swapped, err)
	}
	server.Resume()

	// The same version once more: either this swap wins, or the late one had.
	want := int32(100)
	swapped, err := patientStore.Swap(t.Context(), jobs, before.Version, scaling.Record{Served: 2}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if swapped {
		want = 2
	}
	for range 100 {
		if got := load(t, patientStore).Record.Served; got != want {
			t.Fatalf("served is %d, want %d: two swaps of one version were applied", got, want)
		}
	}
}

// While connections break under load, the client of each kind must not retry behind
// our back: a retried increment counts twice, or is answered "refused" and counted
// although it took place.
func TestBrokenConnectionsNeverSwapTwice(t *testing.T) {
	t.Run("single", func(t *testing.T) {
		server := redistest.Start(t)
		proxy := startProxy(t, server.Addr())
		breakingConnections(t, proxy, open(t, "redis://"+proxy.addr, patient))
	})
	t.Run("cluster", func(t *testing.T) {
		cluster := redistest.StartCluster(t)
		// The client connects to the addresses that the nodes announce: one node, which
		// owns the key and sends its clients through the proxy.
		node := ownerOf(t, cluster)
		proxy := startProxy(t, node.Addr())
		store := open(t, "redis-cluster://"+node.Addr(), patient)
		store.client = rewire(t, store.client, node.Addr(), proxy.addr)
		breakingConnections(t, proxy, store)
	})
}

func breakingConnections(t *testing.T, proxy *proxy, store *Store) {
	t.Helper()
	mustIncrement(t, store, 1)
	sure, perhaps := int32(1), int32(0)
	for i := range 300 {
		if i%3 == 0 {
			proxy.loseAnswers(2) // the load's answer passes, the swap's does not
		}
		_, err := increment(t.Context(), store)
		switch {
		case err == nil:
			sure++
		case strings.Contains(err.Error(), "refused"):
			t.Fatalf("increment %d: a swap without a rival was refused: it was sent twice", i)
		case strings.HasPrefix(err.Error(), "swap"):
			perhaps++
		}
		if err != nil {
			eventually(t, "Load", func() error { _, err := store.Load(t.Context(), jobs); return err })
		}
	}
	if perhaps == 0 {
		t.Fatal("no swap lost its answer: the test tests nothing")
	}
	if got := load(t, store).Record.Served; got < sure || got > sure+perhaps {
		t.Errorf("served is %d; %d increments succeeded and %d perhaps", got, sure, perhaps)
	}
}

func TestSentinelFailover(t *testing.T) {
	group := redistest.StartSentinel(t)
	store := open(t, "redis-sentinel://"+group.Sentinel.Addr()+"?master="+group.Name, time.Second)
	mustIncrement(t, store, 1)
	mustIncrement(t, store, 2)
	if err := store.client.Do(t.Context(), "WAIT", 1, patient.Milliseconds()).Err(); err != nil {
		t.Fatal(err)
	}
	group.Primary.Kill()
	eventually(t, "an increment after the failover", func() error { _, err := increment(t.Context(), store); return err })
	if got := load(t, store).Record.Served; got != 3 {
		t.Errorf("served is %d, want 3: 2 from the old primary and one more", got)
	}
}

func TestClusterNodeThatHangsBarsNoOther(t *testing.T) {
	cluster := redistest.StartCluster(t, redistest.WithArgs("--cluster-node-timeout", "600000"))
	store := open(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","), defaultTimeout)
	keys := make(map[string]scaling.Key) // by the address of their node
	for i := 0; len(keys) < len(cluster.Nodes); i++ {
		key := scaling.Key{Record: fmt.Sprint(i)}
		eventually(t, "Load", func() error { _, err := store.Load(t.Context(), key); return err })
		keys[nodeOf(t, store, store.redisKey(key))] = key
	}
	hung, well := cluster.Nodes[0], cluster.Nodes[1]
	hung.Suspend()
	for range 2 * breakerLimit {
		if _, err := store.Load(t.Context(), keys[hung.Addr()]); err == nil {
			t.Fatal("a suspended node answered")
		}
	}
	failed := 0
	for range 100 {
		if _, err := store.Load(t.Context(), keys[well.Addr()]); err != nil {
			t.Log(err)
			failed++
		}
	}
	if failed > 10 { // a busy machine may cost a few
		t.Errorf("%d of 100 loads from a healthy node failed because another one hangs", failed)
	}
	hung.Resume()
	eventually(t, "Load", func() error { _, err := store.Load(t.Context(), keys[hung.Addr()]); return err })
}

func TestConcurrentUseWhileRedisComesAndGoes(t *testing.T) {
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	store := open(t, server.URL(), defaultTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			last := int32(0)
			for ctx.Err() == nil {
				loaded, err := store.Load(ctx, jobs)
				if err != nil {
					continue
				}
				now := int32(0)
				if loaded.Record != nil {
					now = loaded.Record.Served
				}
				if now < last {
					t.Errorf("served went from %d back to %d", last, now)
				}
				last = now
				_, _ = increment(ctx, store) // failures are what this test is made of
			}
		})
	}
	for range 3 {
		eventually(t, "an increment", func() error { _, err := increment(t.Context(), store); return err })
		server.Kill()
		server.Restart()
	}
	eventually(t, "an increment", func() error { _, err := increment(t.Context(), store); return err })
	cancel()
	wg.Wait()
}
