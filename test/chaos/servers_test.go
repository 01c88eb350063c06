package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestParseRole(t *testing.T) {
	for _, test := range []struct {
		answer []any
		want   role
	}{
		{[]any{"master", int64(10), []any{}}, role{primary: true}},
		{[]any{"slave", "127.0.0.1", int64(7000), "connected", int64(10)}, role{follows: "7000"}},
		{[]any{"slave", "127.0.0.1", int64(7000), "sync", int64(-1)}, role{}},
		{[]any{"sentinel", []any{"dashpot"}}, role{}},
	} {
		if got := parseRole(test.answer); got != test.want {
			t.Errorf("%v: %+v, want %+v", test.answer, got, test.want)
		}
	}
}

func TestListsNode(t *testing.T) {
	const nodes = `a1 127.0.0.1:7000@17000 myself,master - 0 1 1 connected 0-5460
b2 127.0.0.1:7001@17001,host slave a1 0 1 1 connected
c3 127.0.0.1:7002@17002 master,fail? - 0 1 1 connected 5461-10922
d4 127.0.0.1:7003@17003 master - 0 1 1 disconnected 10923-16383
`
	for _, test := range []struct {
		port, bus, is string
		want          bool
	}{
		{"7000", "17000", "master", true},
		{"7000", "17000", "slave", false},
		{"7000", "17001", "master", false}, // not by the address that it announces
		{"7001", "17001", "slave", true},
		{"7002", "17002", "master", false}, // taken for failed
		{"7003", "17003", "master", false}, // not connected
		{"7004", "17004", "master", false},
	} {
		if got := listsNode(nodes, test.port, test.bus, test.is); got != test.want {
			t.Errorf("a %s at %s@%s: %v, want %v", test.is, test.port, test.bus, got, test.want)
		}
	}
}

// record is a key that counts as the one of KEDA's workload.
const record = "dashpot:ScaledObject"

// at is a client that comes to a node as the replicas do.
func (n *node) at(t *testing.T) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: n.links[0].addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// begin starts a Redis, and returns a world that has nothing else, and the node that takes
// the record.
func begin(t *testing.T, setup string) (*world, *node) {
	t.Helper()
	w := &world{dir: t.TempDir()}
	var err error
	if w.stores, err = startStores(setup, w.dir, scalerCount+1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stores.close)
	for _, n := range w.stores.nodes {
		if n.at(t).HSet(t.Context(), record, "version", 0).Err() == nil {
			return w, n
		}
	}
	t.Fatal("no node takes the record")
	return nil, nil
}

// keepWriting writes ever higher versions to a node, as the replicas do, and goes on at
// errors. It returns what tells the last that the node took.
func keepWriting(t *testing.T, n *node) (last func() int64) {
	t.Helper()
	client, ctx := n.at(t), t.Context()
	var taken atomic.Int64
	go every(ctx, 20*time.Millisecond, func(ctx context.Context) {
		if version := taken.Load() + 1; client.HSet(ctx, record, "version", version).Err() == nil {
			taken.Store(version)
		}
	})
	return taken.Load
}

// expectLost is a failure unless a node has forgotten writes that it had taken.
func expectLost(t *testing.T, n *node, taken int64) {
	t.Helper()
	version, err := n.version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := strconv.ParseInt(version, 10, 64); err != nil || kept >= taken {
		t.Errorf("the node has version %s of %d: nothing is lost", version, taken)
	}
}

// TestSplitBrain: for a while there are two primaries, and what ours write to the old one
// is lost.
func TestSplitBrain(t *testing.T) {
	t.Parallel()
	w, old := begin(t, sentinel)
	last := keepWriting(t, old)
	heal, err := splitBrain{stay: []int{0}}.inject(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := await(t.Context(), func(ctx context.Context) error { return w.stores.split(ctx, old) }); err != nil {
		t.Fatal(err)
	}
	for i, n := range w.stores.sentinels {
		for replica, hears := range map[int]bool{0: false, 1: true} {
			if err := pingAt(t, n.links[replica].addr); (err == nil) != hears {
				t.Errorf("Sentinel %d from replica %d: %v", i, replica, err)
			}
		}
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := old.role(t.Context()); err != nil || r.primary {
		t.Errorf("the old primary is one still: %v", err)
	}
	expectLost(t, old, last())
}

func pingAt(t *testing.T, addr string) error {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer client.Close()
	return client.Ping(t.Context()).Err()
}

// TestSentinelPairs: each pair's links are those that its servers use.
func TestSentinelPairs(t *testing.T) {
	t.Parallel()
	w, primary := begin(t, sentinel)
	replicas := w.stores.nodes[1:]
	links := primary.doorsTo(replicas)
	if err := disturb(links, (*link).cut); err != nil {
		t.Fatal(err)
	}
	for _, n := range replicas {
		if err := await(t.Context(), func(ctx context.Context) error {
			r, err := n.role(ctx)
			if err == nil && r.follows != "" {
				err = errors.New("it still follows")
			}
			return err
		}); err != nil {
			t.Errorf("a replica that is cut off: %v", err)
		}
	}
	if err := errors.Join(mend(links), w.stores.settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	if r, err := primary.role(t.Context()); err != nil || !r.primary {
		t.Fatalf("no primary any more, though the Sentinels saw it: %v", err)
	}
	links = primary.doorsTo(w.stores.sentinels)
	if err := disturb(links, (*link).halfOpen); err != nil {
		t.Fatal(err)
	}
	if err := await(t.Context(), func(ctx context.Context) error {
		all, err := w.stores.primaries(ctx)
		if err == nil && len(all) < 2 {
			err = errors.New("no other primary")
		}
		return err
	}); err != nil {
		t.Errorf("the Sentinels do not miss the primary: %v", err)
	}
	if err := errors.Join(mend(links), w.stores.settle(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestClusterBus: nodes that do not hear of each other answer CLUSTERDOWN.
func TestClusterBus(t *testing.T) {
	t.Parallel()
	w, owner := begin(t, cluster3)
	client := owner.at(t)
	var links []*link
	for _, n := range w.stores.nodes {
		links = append(links, n.busesTo(w.stores.nodes)...)
	}
	if err := disturb(links, (*link).cut); err != nil {
		t.Fatal(err)
	}
	if err := await(t.Context(), func(ctx context.Context) error { return errorOf(ctx, client, "CLUSTERDOWN") }); err != nil {
		t.Error(err)
	}
	if err := errors.Join(mend(links), w.stores.settle(t.Context())); err != nil {
		t.Error(err)
	}
}

// write is a script that writes, as the store's is.
const write = "return redis.call('HSET', KEYS[1], 'version', 1)"

// errorOf is nil if the script's answer begins with a word.
func errorOf(ctx context.Context, client *redis.Client, word string) error {
	answer := fmt.Sprint(client.Eval(ctx, write, []string{record}).Err())
	if !strings.HasPrefix(answer, word+" ") {
		return fmt.Errorf("the answer is %s, not %s", answer, word)
	}
	return nil
}

// TestClusterDemoted: a node that has become a replica answers MOVED. Only to a client
// that says it wants to read from replicas does a script there answer READONLY, and a
// store never says so.
func TestClusterDemoted(t *testing.T) {
	t.Parallel()
	w, owner := begin(t, cluster3)
	if err := addStandby(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	heal, err := demote(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := errorOf(t.Context(), owner.at(t), "MOVED"); err != nil {
		t.Error(err)
	}
	if err := owner.command(t.Context(), "REPLICAOF", "127.0.0.1", "1"); err == nil || !strings.Contains(err.Error(), "not allowed in cluster mode") {
		t.Errorf("REPLICAOF answers %v", err)
	}
	reader := owner.at(t).Conn()
	defer reader.Close()
	if err := reader.ReadOnly(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Eval(t.Context(), write, []string{record}).Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY ") {
		t.Errorf("a reader's script answers %v, not READONLY", err)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := owner.at(t).Eval(t.Context(), write, []string{record}).Err(); err != nil {
		t.Errorf("healed: %v", err)
	}
}

// TestClusterSplitBrain: the replica takes the node's place, which notices and then
// refuses, and at last is the replica.
func TestClusterSplitBrain(t *testing.T) {
	t.Parallel()
	w, owner := begin(t, cluster3)
	if err := addStandby(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	last := keepWriting(t, owner)
	heal, err := splitBrain{}.inject(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := await(t.Context(), func(ctx context.Context) error {
		return errors.Join(w.stores.split(ctx, owner), errorOf(ctx, owner.at(t), "CLUSTERDOWN"))
	}); err != nil {
		t.Error(err)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := last()
	if err := errorOf(t.Context(), owner.at(t), "MOVED"); err != nil {
		t.Error(err)
	}
	reader := owner.at(t).Conn()
	defer reader.Close()
	if err := reader.ReadOnly(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if kept, err := reader.HGet(t.Context(), record, "version").Int64(); err != nil || kept >= taken {
		t.Errorf("the node has version %d of %d, %v: nothing is lost", kept, taken, err)
	}
}

func TestRefuseWrites(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		w, owner := begin(t, setup)
		heal, err := refuseWrites(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if err := errorOf(t.Context(), owner.at(t), "NOREPLICAS"); err != nil {
			t.Errorf("%s: %v", setup, err)
		}
		if err := heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := owner.at(t).Eval(t.Context(), write, []string{record}).Err(); err != nil {
			t.Errorf("%s, healed: %v", setup, err)
		}
	}
}
