package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// The set-ups of Redis.
const (
	single   = "single"
	sentinel = "sentinel" // one primary, two replicas, three Sentinels
	cluster3 = "cluster"  // three primaries
)

var setups = []string{single, sentinel, cluster3}

// The replicas' password until it is rotated, and the one that the harness knows. A
// server without a password accepts any.
const (
	oldPassword = "before"
	newPassword = "after"
)

// busOffset is from the port of a Cluster's node to that of its bus.
const busOffset = 10000

// maxServers is how many servers of data there may be: three, and one that is added.
const maxServers = 4

// node is a server of Redis, and the ways by which it is reached: with a single server a
// link for each replica, else the door that it announces as its own address.
type node struct {
	*redistest.Server

	port   int       // of a server with a door
	door   *crossing // nil of a single server
	bus    *crossing // what a Cluster's nodes tell each other; nil elsewhere
	source string    // where it comes from when it calls others
	links  []*link   // the replicas' ways
	clock  *redistest.Clock
}

// stores is the Redis of a cell.
type stores struct {
	setup     string
	nodes     []*node // with Sentinel, the first primary first
	sentinels []*node
	closers   []func()
}

// startStores starts a Redis for a number of replicas. Each server has a clock of its own.
func startStores(setup, dir string, replicas int) (*stores, error) {
	s := &stores{setup: setup}
	start := map[string]func(string, int) error{single: s.startSingle, sentinel: s.startSentinel, cluster3: s.startCluster}[setup]
	if err := start(dir, replicas); err != nil {
		s.close()
		return nil, fmt.Errorf("start Redis, %s: %w", setup, err)
	}
	return s, nil
}

func (s *stores) close() {
	for _, closer := range s.closers {
		closer()
	}
}

func (s *stores) launch(options ...redistest.Option) (*redistest.Server, error) {
	server, err := redistest.Launch(options...)
	if err == nil {
		s.closers = append(s.closers, server.Close)
	}
	return server, err
}

// link adds a link to a node that runs.
func (s *stores) link(n *node) error {
	l, err := newLink(n.Addr())
	if err != nil {
		return err
	}
	n.links = append(n.links, l)
	s.closers = append(s.closers, l.close)
	return nil
}

// newNode prepares a server of data with a clock.
func (s *stores) newNode(dir string) (*node, error) {
	clock, err := redistest.NewClock(dir)
	if err != nil {
		return nil, err
	}
	n := &node{clock: clock, source: serverSource(len(s.nodes))}
	s.nodes = append(s.nodes, n)
	return n, nil
}

// newServerNode prepares one that announces its door, and that of its bus if it has one.
func (s *stores) newServerNode(dir string, hasBus bool) (*node, error) {
	n, err := s.newNode(dir)
	if err == nil {
		err = s.open(n)
	}
	if err == nil && hasBus {
		n.bus, err = s.crossing(n.port + busOffset)
	}
	return n, err
}

// open gives a node a port and a door that leads there.
func (s *stores) open(n *node) error {
	var err error
	if n.port, err = child.FreePort(); err != nil {
		return err
	}
	if n.door, err = s.crossing(n.port); err != nil {
		return err
	}
	n.links = []*link{n.door.from(ours)}
	return nil
}

func (s *stores) crossing(port int) (*crossing, error) {
	c, err := newCrossing(fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		s.closers = append(s.closers, c.close)
	}
	return c, err
}

// options are those of a server that has a door.
func (n *node) options() []redistest.Option {
	return []redistest.Option{redistest.OnPort(n.port), redistest.WithArgs("--bind-source-addr", n.source)}
}

func (s *stores) startSingle(dir string, replicas int) error {
	n, err := s.newNode(dir)
	if err != nil {
		return err
	}
	if n.Server, err = s.launch(n.clock.Option()); err != nil {
		return err
	}
	for range replicas {
		if err := s.link(n); err != nil {
			return err
		}
	}
	return nil
}

// url is the --redis-url of a replica.
func (s *stores) url(replica int) string {
	var hosts []string
	switch s.setup {
	case single:
		return fmt.Sprintf("redis://:%s@%s", oldPassword, s.nodes[0].links[replica].addr)
	case sentinel:
		for _, n := range s.sentinels {
			hosts = append(hosts, n.links[replica].addr)
		}
		return fmt.Sprintf("redis-sentinel://:%s@%s?master=%s", oldPassword, strings.Join(hosts, ","), sentinelName)
	}
	for _, n := range s.nodes {
		hosts = append(hosts, n.door.addr())
	}
	return fmt.Sprintf("redis-cluster://:%s@%s", oldPassword, strings.Join(hosts, ","))
}

// on calls do with a client of a node that is reached directly.
func (n *node) on(ctx context.Context, do func(ctx context.Context, client *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: n.Addr(), Password: newPassword, DisableIdentity: true, MaxRetries: -1})
	defer client.Close() //nolint:errcheck // nothing is in flight
	if err := do(ctx, client); err != nil {
		return fmt.Errorf("redis %s: %w", n.Addr(), err)
	}
	return nil
}

// command sends one command to a node.
func (n *node) command(ctx context.Context, args ...any) error {
	return n.on(ctx, func(ctx context.Context, client *redis.Client) error { return client.Do(ctx, args...).Err() })
}

// role is what a server says of itself.
type role struct {
	primary bool
	follows string // the port of its primary, if it is in sync with one
}

func (n *node) role(ctx context.Context) (role, error) {
	var r role
	err := n.on(ctx, func(ctx context.Context, client *redis.Client) error {
		answer, err := client.Do(ctx, "ROLE").Slice()
		if err == nil {
			r = parseRole(answer)
		}
		return err
	})
	return r, err
}

// parseRole reads the answer to ROLE: master, …; or slave, its primary's host and port,
// and connected once it is in sync.
func parseRole(answer []any) role {
	r := role{primary: answer[0] == "master"}
	if len(answer) >= 4 && answer[0] == "slave" && answer[3] == "connected" {
		r.follows = fmt.Sprint(answer[2])
	}
	return r
}

// primaries are the nodes that take writes.
func (s *stores) primaries(ctx context.Context) ([]*node, error) {
	var found []*node
	for _, n := range s.nodes {
		r, err := n.role(ctx)
		if err != nil {
			return nil, err
		}
		if r.primary {
			found = append(found, n)
		}
	}
	return found, nil
}

// unsettled is an error unless all is as it was at the start, but for who is the primary:
// as many primaries, everybody else in sync with one of them, and all who have a say in it
// agreed.
func (s *stores) unsettled(ctx context.Context) error {
	primaries, err := s.primaries(ctx)
	if err != nil {
		return err
	}
	if len(primaries) != s.primaryCount() {
		return fmt.Errorf("%d servers are primaries, not %d", len(primaries), s.primaryCount())
	}
	for _, n := range s.nodes {
		r, err := n.role(ctx)
		if err != nil {
			return err
		}
		follows := func(primary *node) bool { return r.follows == primary.door.port() }
		if !r.primary && !slices.ContainsFunc(primaries, follows) {
			return fmt.Errorf("%s is in sync with no primary", n.Addr())
		}
		if s.setup == cluster3 {
			if err := s.wellInCluster(ctx, n, primaries); err != nil {
				return err
			}
		}
	}
	for _, n := range s.sentinels {
		if err := n.names(ctx, primaries[0]); err != nil {
			return err
		}
	}
	return nil
}

// primaryCount is how many primaries there should be.
func (s *stores) primaryCount() int {
	if s.setup == cluster3 {
		return 3
	}
	return 1
}

// settle returns when all is as it was at the start.
func (s *stores) settle(ctx context.Context) error { return await(ctx, s.unsettled) }

// await repeats an attempt until it succeeds, for a minute at most.
func await(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// owner is the node that the record of KEDA's workload is on.
func (s *stores) owner(ctx context.Context) (*node, error) {
	all, err := s.primaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		version, err := n.version(ctx)
		if err != nil {
			return nil, err
		}
		if version != "" {
			return n, nil
		}
	}
	return nil, errors.New("no Redis has the record")
}

// version is that of the record of KEDA's workload, another one after each write; empty if
// the node has no record.
func (n *node) version(ctx context.Context) (version string, err error) {
	err = n.on(ctx, func(ctx context.Context, client *redis.Client) error {
		keys, err := client.Keys(ctx, "dashpot:*ScaledObject*").Result()
		if err == nil && len(keys) > 0 {
			version, err = client.HGet(ctx, keys[0], "version").Result()
		}
		return err
	})
	return version, err
}

// written returns when the record has been written to a node once more.
func (n *node) written(ctx context.Context) error {
	before, err := n.version(ctx)
	if err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) error {
		version, err := n.version(ctx)
		if err == nil && version == before {
			err = fmt.Errorf("nobody writes to %s", n.Addr())
		}
		return err
	})
}
