package redistest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	clusterSize  = 3
	clusterSlots = 16384
)

// Cluster is a Redis Cluster of three primaries, without replicas.
type Cluster struct {
	Nodes []*Server
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// URL is a redis:// URL that names all nodes, as redis.ParseClusterURL reads
// it.
func (c *Cluster) URL() string {
	addrs := c.Addrs()
	query := url.Values{"addr": addrs[1:]}
	return "redis://" + addrs[0] + "?" + query.Encode()
}

// StartCluster runs a cluster until the test ends. It returns when every node
// agrees that all slots are served.
func StartCluster(tb testing.TB, opts ...Option) *Cluster {
	tb.Helper()
	cluster, err := LaunchCluster(func(int) []Option { return opts })
	if err != nil {
		tb.Fatalf("form a Redis cluster: %v", err)
	}
	for _, node := range cluster.Nodes {
		node.fail = func(err error) {
			tb.Helper()
			tb.Errorf("redistest: %v", err)
		}
	}
	tb.Cleanup(cluster.Close)
	return cluster
}

// AsClusterNode makes the server a node of a Cluster, alone until it meets another.
func AsClusterNode() Option {
	return WithArgs("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
}

// LaunchCluster runs a cluster outside a test; Close ends it. opts gives the options of
// node 0, 1 and 2.
func LaunchCluster(opts func(node int) []Option) (*Cluster, error) {
	cluster := &Cluster{}
	for i := range clusterSize {
		node, err := Launch(append([]Option{AsClusterNode()}, opts(i)...)...)
		if err != nil {
			cluster.Close()
			return nil, err
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := cluster.join(ctx); err != nil {
		cluster.Close()
		return nil, err
	}
	return cluster, nil
}

// Close ends all nodes for good and removes their data.
func (c *Cluster) Close() {
	for _, node := range c.Nodes {
		node.Close()
	}
}

// join gives each node its share of the slots and introduces the nodes to
// each other.
func (c *Cluster) join(ctx context.Context) error {
	clients := make([]*redis.Client, len(c.Nodes))
	for i, node := range c.Nodes {
		clients[i] = node.client()
		defer clients[i].Close() //nolint:errcheck,gocritic // nothing is in flight, and there are three
	}
	for i, client := range clients {
		first, last := i*clusterSlots/clusterSize, (i+1)*clusterSlots/clusterSize-1
		if err := client.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			return fmt.Errorf("assign slots %d to %d: %w", first, last, err)
		}
		// Distinct epochs from the start spare the nodes a round of settling them.
		if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return fmt.Errorf("set the epoch of node %d: %w", i, err)
		}
	}
	for _, node := range c.Nodes[1:] {
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", node.port).Err(); err != nil {
			return fmt.Errorf("introduce %s: %w", node.Addr(), err)
		}
	}
	for _, client := range clients {
		if err := poll(ctx, func() error { return complete(ctx, client) }); err != nil {
			return err
		}
	}
	return nil
}

func complete(ctx context.Context, client *redis.Client) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask for the cluster's state: %w", err)
	}
	for _, want := range []string{
		"cluster_state:ok",
		fmt.Sprintf("cluster_slots_ok:%d", clusterSlots),
		fmt.Sprintf("cluster_known_nodes:%d", clusterSize),
	} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("not yet %s:\n%s", want, info)
		}
	}
	return nil
}
