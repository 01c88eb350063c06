package redistest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Sentinel is a primary with one replica, watched by one sentinel that fails
// over when the primary is gone for a second.
type Sentinel struct {
	// Name is what the sentinel calls the primary.
	Name     string
	Primary  *Server // the primary at the start, before any failover
	Replica  *Server
	Sentinel *Server
}

// StartSentinel runs the three servers until the test ends. It returns when
// the replica is in sync and the sentinel knows it.
func StartSentinel(tb testing.TB, opts ...Option) *Sentinel {
	tb.Helper()
	group := &Sentinel{Name: "dashpot", Primary: Start(tb, opts...)}
	group.Replica = Start(tb, append(opts[:len(opts):len(opts)],
		WithArgs("--replicaof", "127.0.0.1", fmt.Sprint(group.Primary.port)))...)
	group.Sentinel = Start(tb, AsSentinel(fmt.Sprintf(`sentinel monitor %[1]s 127.0.0.1 %[2]d 1
sentinel down-after-milliseconds %[1]s 1000
sentinel failover-timeout %[1]s 5000
`, group.Name, group.Primary.port)))
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := poll(ctx, func() error { return group.ready(ctx) }); err != nil {
		tb.Fatalf("start Redis with a sentinel: %v", err)
	}
	return group
}

// ready asks the sentinel for its replicas. It learns of them from the
// primary, which it asks every ten seconds, and at once when it starts.
func (g *Sentinel) ready(ctx context.Context) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: g.Sentinel.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer client.Close() //nolint:errcheck // nothing is in flight
	replicas, err := client.Replicas(ctx, g.Name).Result()
	if err != nil {
		return fmt.Errorf("ask the sentinel: %w", err)
	}
	for _, replica := range replicas {
		if replica["port"] == fmt.Sprint(g.Replica.port) &&
			replica["flags"] == "slave" && strings.HasPrefix(replica["master-link-status"], "ok") {
			return nil
		}
	}
	return fmt.Errorf("no replica in sync yet: %v", replicas)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
