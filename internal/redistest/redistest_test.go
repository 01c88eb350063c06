package redistest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestServerKeepsItsAddressThroughFaults(t *testing.T) {
	t.Parallel()
	server := Start(t, WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.ReadTimeout, options.ContextTimeoutEnabled = -1, 200*time.Millisecond, true
	client := redis.NewClient(options)
	defer client.Close()
	ctx := t.Context()
	if err := client.Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}

	server.Suspend()
	if err := client.Get(ctx, "key").Err(); err == nil {
		t.Error("a suspended server answered")
	}
	server.Resume()
	expectValue(t, client)

	server.Kill()
	if err := client.Get(ctx, "key").Err(); err == nil {
		t.Error("a killed server answered")
	}
	server.Restart()
	expectValue(t, client)

	server.Suspend()
	server.Stop() // a suspended server can be stopped all the same
	server.Stop()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Error("a stopped server answered")
	}
}

func expectValue(t *testing.T, client *redis.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := poll(ctx, func() error { return client.Get(ctx, "key").Err() }); err != nil {
		t.Error(err)
	}
}

func TestServerWithPassword(t *testing.T) {
	t.Parallel()
	server := Start(t, WithArgs("--requirepass", "secret"))
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Password: "secret"})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	server, err := Launch(WithArgs("--no-such-option", "1"))
	if err == nil {
		server.Close()
		t.Fatal("a server started with an unknown option")
	}
	t.Log(err)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := StartCluster(t)
	options, err := redis.ParseClusterURL(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(options.Addrs, cluster.Addrs()) {
		t.Errorf("the URL names %v, not %v", options.Addrs, cluster.Addrs())
	}
	client := redis.NewClusterClient(options)
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Error(err)
		}
	}
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	group := StartSentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.Name, SentinelAddrs: []string{group.Sentinel.Addr()},
	})
	defer client.Close()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	group.Primary.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := poll(ctx, func() error { return client.Set(ctx, "key", "after", 0).Err() }); err != nil {
		t.Error(err)
	}
}
