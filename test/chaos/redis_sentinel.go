package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
)

// sentinelName is what Sentinels call the primary.
const sentinelName = "dashpot"

// sentinelCount is how many Sentinels there are; two of them are a majority.
const sentinelCount = 3

func (s *stores) startSentinel(dir string, replicas int) error {
	for i := range 3 {
		n, err := s.newServerNode(dir, false)
		if err != nil {
			return err
		}
		options := append(n.options(), n.clock.Option(),
			redistest.WithArgs("--replica-announce-ip", "127.0.0.1", "--replica-announce-port", n.door.port()))
		if i > 0 {
			options = append(options, redistest.WithArgs("--replicaof", "127.0.0.1", s.nodes[0].door.port()))
		}
		if n.Server, err = s.launch(options...); err != nil {
			return err
		}
	}
	return s.watch(replicas)
}

// watch starts the Sentinels, and returns when each knows the replicas and the others.
// Each is reached by a link of every replica of ours, and by the address that it announces.
func (s *stores) watch(replicas int) error {
	for i := range sentinelCount {
		n := &node{source: sentinelSource(i)}
		s.sentinels = append(s.sentinels, n)
		if err := s.open(n); err != nil {
			return err
		}
		var err error
		n.Server, err = s.launch(append(n.options(), redistest.AsSentinel(fmt.Sprintf(`sentinel announce-ip 127.0.0.1
sentinel announce-port %[3]s
sentinel monitor %[1]s 127.0.0.1 %[2]s 2
sentinel down-after-milliseconds %[1]s 1000
sentinel failover-timeout %[1]s 5000
`, sentinelName, s.nodes[0].door.port(), n.door.port())))...)
		if err != nil {
			return err
		}
		n.links = nil // theirs alone, so that one of them can be cut off
		for range replicas {
			if err := s.link(n); err != nil {
				return err
			}
		}
	}
	return await(context.Background(), func(ctx context.Context) error {
		for _, n := range s.sentinels {
			if err := n.knowsAll(ctx); err != nil {
				return err
			}
		}
		return s.unsettled(ctx)
	})
}

// asked calls do with a client of a Sentinel that is reached directly.
func (n *node) asked(do func(*redis.SentinelClient) error) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: n.Addr(), DisableIdentity: true})
	defer client.Close() //nolint:errcheck // nothing is in flight
	if err := do(client); err != nil {
		return fmt.Errorf("sentinel %s: %w", n.Addr(), err)
	}
	return nil
}

// knowsAll is an error unless a Sentinel knows two replicas and the two other Sentinels.
func (n *node) knowsAll(ctx context.Context) error {
	return n.asked(func(client *redis.SentinelClient) error {
		primary, err := client.Master(ctx, sentinelName).Result()
		if err == nil && (primary["num-slaves"] != "2" || primary["num-other-sentinels"] != "2") {
			err = fmt.Errorf("it knows %s replicas and %s others", primary["num-slaves"], primary["num-other-sentinels"])
		}
		return err
	})
}

// names is an error unless a Sentinel says that a node is the primary.
func (n *node) names(ctx context.Context, primary *node) error {
	return n.asked(func(client *redis.SentinelClient) error {
		addr, err := client.GetMasterAddrByName(ctx, sentinelName).Result()
		if err == nil && strings.Join(addr, ":") != primary.door.addr() {
			err = fmt.Errorf("the primary is at %v, not at %s", addr, primary.door.addr())
		}
		return err
	})
}
