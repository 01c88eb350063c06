package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
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

// sentinelName is what Sentinels call the primary.
const sentinelName = "dashpot"

// node is a server that keeps data, and the links by which it is reached: with a single
// server one for each replica, else one that it announces as its own address.
type node struct {
	*redistest.Server

	links []*link
	clock *redistest.Clock
}

// stores is the Redis of a cell.
type stores struct {
	setup     string
	nodes     []*node // with Sentinel, the first primary first
	sentinels []*redistest.Server
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

// link adds a link to a node, which may have no address yet.
func (s *stores) link(n *node) error {
	to := ""
	if n.Server != nil {
		to = n.Addr()
	}
	l, err := newLink(to)
	if err != nil {
		return err
	}
	n.links = append(n.links, l)
	s.closers = append(s.closers, l.close)
	return nil
}

// newNode prepares a node with a clock and, if it announces one, a link.
func (s *stores) newNode(dir string, announces bool) (*node, error) {
	clock, err := redistest.NewClock(dir)
	if err != nil {
		return nil, err
	}
	n := &node{clock: clock}
	s.nodes = append(s.nodes, n)
	if announces {
		err = s.link(n)
	}
	return n, err
}

func (s *stores) startSingle(dir string, replicas int) error {
	n, err := s.newNode(dir, false)
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

func (s *stores) startSentinel(dir string, _ int) error {
	for i := range 3 {
		n, err := s.newNode(dir, true)
		if err != nil {
			return err
		}
		options := []redistest.Option{n.clock.Option(), redistest.WithArgs(
			"--replica-announce-ip", "127.0.0.1", "--replica-announce-port", n.links[0].port())}
		if i > 0 {
			options = append(options, redistest.WithArgs("--replicaof", "127.0.0.1", s.nodes[0].links[0].port()))
		}
		if n.Server, err = s.launch(options...); err != nil {
			return err
		}
		n.links[0].lead(n.Addr())
	}
	return s.watch()
}

// watch starts the Sentinels, and returns when each knows the replicas and the others.
func (s *stores) watch() error {
	for range 3 {
		server, err := s.launch(redistest.AsSentinel(fmt.Sprintf(`sentinel monitor %[1]s 127.0.0.1 %[2]s 2
sentinel down-after-milliseconds %[1]s 1000
sentinel failover-timeout %[1]s 5000
`, sentinelName, s.nodes[0].links[0].port())))
		if err != nil {
			return err
		}
		s.sentinels = append(s.sentinels, server)
	}
	deadline := time.Now().Add(time.Minute)
	for _, server := range s.sentinels {
		for {
			known, err := s.known(server)
			if err == nil && known {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the Sentinels do not know each other after a minute: %w", errors.Join(err))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// known reports whether a Sentinel knows two replicas in sync and two other Sentinels.
func (s *stores) known(server *redistest.Server) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := redis.NewSentinelClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	defer client.Close() //nolint:errcheck // nothing is in flight
	primary, err := client.Master(ctx, sentinelName).Result()
	if err != nil {
		return false, err
	}
	return primary["num-slaves"] == "2" && primary["num-other-sentinels"] == "2", nil
}

func (s *stores) startCluster(dir string, _ int) error {
	var problem error
	formed, err := redistest.LaunchCluster(func(int) []redistest.Option {
		n, err := s.newNode(dir, true)
		if problem = errors.Join(problem, err); problem != nil {
			return nil
		}
		return []redistest.Option{n.clock.Option(), redistest.WithArgs("--cluster-announce-port", n.links[0].port())}
	})
	if err := errors.Join(err, problem); err != nil {
		return err
	}
	s.closers = append(s.closers, formed.Close)
	for i, server := range formed.Nodes {
		s.nodes[i].Server = server
		s.nodes[i].links[0].lead(server.Addr())
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
		for _, server := range s.sentinels {
			hosts = append(hosts, server.Addr())
		}
		return fmt.Sprintf("redis-sentinel://:%s@%s?master=%s", oldPassword, strings.Join(hosts, ","), sentinelName)
	}
	for _, n := range s.nodes {
		hosts = append(hosts, n.links[0].addr)
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

// primaries are the nodes that take writes. Of a Cluster it is the one with the record of
// the workload that KEDA scales.
func (s *stores) primaries(ctx context.Context) ([]*node, error) {
	var found []*node
	for _, n := range s.nodes {
		err := n.on(ctx, func(ctx context.Context, client *redis.Client) error {
			role, err := client.Do(ctx, "ROLE").Slice()
			if err == nil && role[0] == "master" {
				found = append(found, n)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// owner is the node that the record of KEDA's workload is on.
func (s *stores) owner(ctx context.Context) (*node, error) {
	all, err := s.primaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		holds := false
		err := n.on(ctx, func(ctx context.Context, client *redis.Client) error {
			keys, err := client.Keys(ctx, "dashpot:*ScaledObject*").Result()
			holds = len(keys) > 0
			return err
		})
		if err != nil {
			return nil, err
		}
		if holds {
			return n, nil
		}
	}
	return nil, errors.New("no Redis has the record")
}
