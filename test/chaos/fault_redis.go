package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisFaults are those of Redis itself.
func redisFaults() []fault {
	everywhere, withPrimary := setups, []string{sentinel, cluster3}
	return []fault{
		{name: "Redis restarted, its memory lost", setups: everywhere, inject: restartRedis},
		{name: "FLUSHALL", setups: everywhere, inject: flushAll},
		{name: "Redis suspended for 30 s", setups: everywhere, lasts: 30 * time.Second, inject: suspendRedis},
		{name: "primary lost", setups: withPrimary, inject: losePrimary},
		{name: "Redis' clock 10 min fast", setups: everywhere, inject: redisClockBy(10 * time.Minute)},
		{name: "Redis' clock 10 min slow", setups: everywhere, inject: redisClockBy(-10 * time.Minute)},
		{name: "clock runs backwards at a failover", setups: []string{sentinel}, inject: failOverBackwards},
		{name: "Redis out of memory", setups: everywhere, inject: fillMemory},
		{name: "Redis evicts everything", setups: everywhere, inject: evict},
		{name: "Redis answers READONLY", setups: []string{single, sentinel}, inject: readOnly},
		{name: "password rotated", setups: everywhere, inject: rotatePassword},
	}
}

// restartRedis ends the server with the record at once, and has it come back empty. A
// primary comes back before anybody takes its place, and its replicas follow it.
func restartRedis(ctx context.Context, w *world) (heal, error) {
	n, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	n.Kill()
	n.Restart() //nolint:contextcheck // the server outlives the fault
	return awaitAnswer(n), nil
}

func awaitAnswer(n *node) heal {
	return func(ctx context.Context) error { return n.command(ctx, "PING") }
}

func flushAll(ctx context.Context, w *world) (heal, error) {
	return nothingToHeal, w.onPrimaries(ctx, func(n *node) error { return n.command(ctx, "FLUSHALL") })
}

func nothingToHeal(context.Context) error { return nil }

// onPrimaries does something to every node that takes writes.
func (w *world) onPrimaries(ctx context.Context, do func(*node) error) error {
	found, err := w.stores.primaries(ctx)
	if err != nil {
		return err
	}
	problems := make([]error, len(found))
	for i, n := range found {
		problems[i] = do(n)
	}
	return errors.Join(problems...)
}

func suspendRedis(ctx context.Context, w *world) (heal, error) {
	n, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	n.Suspend()
	return func(context.Context) error {
		n.Resume()
		return nil
	}, nil
}

// losePrimary kills the server with the record. With Sentinel another takes its place; in
// the Cluster nobody does until it is back, empty.
func losePrimary(ctx context.Context, w *world) (heal, error) {
	n, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	n.Kill()
	return func(ctx context.Context) error {
		n.Restart() //nolint:contextcheck // the server outlives the fault
		return awaitAnswer(n)(ctx)
	}, nil
}

func redisClockBy(by time.Duration) func(context.Context, *world) (heal, error) {
	return func(_ context.Context, w *world) (heal, error) {
		set := func(by time.Duration) error {
			var problems []error
			for _, n := range w.stores.nodes {
				problems = append(problems, n.clock.Set(by))
			}
			return errors.Join(problems...)
		}
		return func(context.Context) error { return set(0) }, set(by)
	}
}

// failOverBackwards kills the primary when the clocks of the others are 10 min slow.
func failOverBackwards(ctx context.Context, w *world) (heal, error) {
	primary, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range w.stores.nodes {
		if n != primary {
			if err := n.clock.Set(-10 * time.Minute); err != nil {
				return nil, err
			}
		}
	}
	return losePrimary(ctx, w)
}

// fillMemory lets every write fail, as a Redis does that is full and may evict nothing.
func fillMemory(ctx context.Context, w *world) (heal, error) {
	set := func(limit string) heal {
		return func(ctx context.Context) error {
			return w.onPrimaries(ctx, func(n *node) error { return n.command(ctx, "CONFIG", "SET", "maxmemory", limit) })
		}
	}
	return set("0"), set("1")(ctx)
}

// junkPeriod and junkSize are how others fill a Redis that evicts: 2 MB/s.
const (
	junkPeriod = 5 * time.Millisecond
	junkSize   = 10_000
)

// evict limits the memory to little more than is used, lets any key be evicted, and keeps
// writing what nobody needs.
func evict(ctx context.Context, w *world) (heal, error) {
	junk, stop := context.WithCancel(ctx)
	err := w.onPrimaries(ctx, func(n *node) error {
		if err := n.command(ctx, "CONFIG", "SET", "maxmemory-policy", "allkeys-random"); err != nil {
			return err
		}
		var used int64
		err := n.on(ctx, func(ctx context.Context, client *redis.Client) error {
			info, err := client.InfoMap(ctx, "memory").Result()
			if err == nil {
				_, err = fmt.Sscan(info["Memory"]["used_memory"], &used)
			}
			return err
		})
		if err != nil {
			return err
		}
		go n.fill(junk)
		return n.command(ctx, "CONFIG", "SET", "maxmemory", used+500_000)
	})
	return func(ctx context.Context) error {
		stop()
		return w.onPrimaries(ctx, func(n *node) error {
			return errors.Join(n.command(ctx, "CONFIG", "SET", "maxmemory", "0"), n.command(ctx, "CONFIG", "SET", "maxmemory-policy", "noeviction"))
		})
	}, err
}

// fill writes junk until the context ends. Of a Cluster's keys a third are a node's own.
func (n *node) fill(ctx context.Context) {
	client := redis.NewClient(&redis.Options{Addr: n.Addr(), Password: newPassword, DisableIdentity: true, MaxRetries: -1})
	defer client.Close() //nolint:errcheck // nothing is in flight
	i, junk := 0, make([]byte, junkSize)
	every(ctx, junkPeriod, func(ctx context.Context) {
		i++
		_ = client.Set(ctx, fmt.Sprintf("junk-%d", i), junk, 0).Err() // full, or another node's
	})
}

// readOnly makes the primary the replica of nobody that answers: it serves what it has and
// refuses writes. Sentinels turn it back when they notice.
func readOnly(ctx context.Context, w *world) (heal, error) {
	n, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if w.stores.setup == sentinel {
			return nil // theirs to heal
		}
		return n.command(ctx, "REPLICAOF", "NO", "ONE")
	}, n.command(ctx, "REPLICAOF", "127.0.0.1", "1")
}

// rotatePassword sets another password and ends the connections that were made with the
// old one. Whoever is part of Redis gets the new one.
func rotatePassword(ctx context.Context, w *world) (heal, error) {
	for _, server := range w.stores.sentinels {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
		err := client.Do(ctx, "SENTINEL", "SET", sentinelName, "auth-pass", newPassword).Err()
		_ = client.Close()
		if err != nil {
			return nil, err
		}
	}
	set := func(ctx context.Context, password string) error {
		var problems []error
		for _, n := range w.stores.nodes {
			problems = append(problems,
				n.command(ctx, "CONFIG", "SET", "masterauth", password, "requirepass", password),
				n.command(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
		}
		return errors.Join(problems...)
	}
	return func(ctx context.Context) error { return set(ctx, "") }, set(ctx, newPassword)
}
