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
)

func (s *stores) startCluster(dir string, _ int) error {
	var problem error
	formed, err := redistest.LaunchCluster(func(int) []redistest.Option {
		n, err := s.newServerNode(dir, true)
		if problem = errors.Join(problem, err); problem != nil {
			return nil
		}
		return n.clusterOptions()
	})
	if err := errors.Join(err, problem); err != nil {
		return err
	}
	s.closers = append(s.closers, formed.Close)
	for i, server := range formed.Nodes {
		s.nodes[i].Server = server
	}
	return await(context.Background(), s.unsettled)
}

func (n *node) clusterOptions() []redistest.Option {
	return append(n.options(), n.clock.Option(), redistest.WithArgs("--cluster-announce-ip", "127.0.0.1",
		"--cluster-announce-port", n.door.port(), "--cluster-announce-bus-port", n.bus.port()))
}

// addReplica adds a server to the Cluster that is a replica of a node, and returns it when
// it is in sync and everybody knows.
func (s *stores) addReplica(ctx context.Context, dir string, of *node) (*node, error) {
	n, err := s.newServerNode(dir, true)
	if err != nil {
		return nil, err
	}
	n.Server, err = s.launch(append(n.clusterOptions(), redistest.AsClusterNode())...) //nolint:contextcheck // the server outlives the call
	if err != nil {
		return nil, err
	}
	var id string
	if err := of.on(ctx, func(ctx context.Context, client *redis.Client) (err error) {
		id, err = client.ClusterMyID(ctx).Result()
		return err
	}); err != nil {
		return nil, err
	}
	meet := func() error { return n.command(ctx, "CLUSTER", "MEET", "127.0.0.1", of.door.port(), of.bus.port()) }
	if err := meet(); err != nil {
		return nil, err
	}
	if err := await(ctx, func(ctx context.Context) error { return n.command(ctx, "CLUSTER", "REPLICATE", id) }); err != nil {
		return nil, err
	}
	met := time.Now()
	return n, await(ctx, func(ctx context.Context) error {
		err := s.unsettled(ctx)
		if err != nil && time.Since(met) > 5*time.Second { // nobody repeats a handshake that a busy machine has missed
			met = time.Now()
			return errors.Join(err, meet())
		}
		return err
	})
}

// wellInCluster is an error unless a node says that the Cluster is well and knows of each
// node, at the addresses that it announces, and of each whether it is a primary.
func (s *stores) wellInCluster(ctx context.Context, n *node, primaries []*node) error {
	return n.on(ctx, func(ctx context.Context, client *redis.Client) error {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		if !strings.Contains(info, "cluster_state:ok") {
			return fmt.Errorf("the Cluster is not well:\n%s", info)
		}
		nodes, err := client.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		for _, other := range s.nodes {
			is := "slave"
			if slices.Contains(primaries, other) {
				is = "master"
			}
			if !listsNode(nodes, other.door.port(), other.bus.port(), is) {
				return fmt.Errorf("no %s at %s with its bus at %s:\n%s", is, other.door.addr(), other.bus.addr(), nodes)
			}
		}
		return nil
	})
}

// listsNode reports whether the answer to CLUSTER NODES has a node at these ports that is
// a master or slave, is connected and is not taken for failed.
func listsNode(nodes, port, bus, is string) bool {
	for line := range strings.Lines(nodes) {
		// id, 127.0.0.1:port@bus,hostname, flags, the primary's id, ping, pong, epoch, link
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		if addr, _, _ := strings.Cut(fields[1], ","); addr != fmt.Sprintf("127.0.0.1:%s@%s", port, bus) {
			continue
		}
		flags := strings.Split(strings.TrimPrefix(fields[2], "myself,"), ",")
		return slices.Equal(flags, []string{is}) && fields[7] == "connected"
	}
	return false
}

// failoverLimit is a little more than the 5 s after which Redis gives a failover up that was
// asked for, as when its votes are lost on a busy machine.
const failoverLimit = 6 * time.Second

// promote makes a replica a primary in the place of its own, and returns when all agree.
func (s *stores) promote(ctx context.Context, replica *node) error {
	err := await(ctx, func(ctx context.Context) error {
		if err := replica.command(ctx, "CLUSTER", "FAILOVER"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, failoverLimit)
		defer cancel()
		return await(ctx, func(ctx context.Context) error {
			r, err := replica.role(ctx)
			if err == nil && !r.primary {
				err = fmt.Errorf("%s is no primary yet", replica.Addr())
			}
			return err
		})
	})
	return errors.Join(err, s.settle(ctx))
}
