package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
)

// aclUser is a user of Redis as docs/security.md makes it.
func aclUser(t *testing.T, name string) (rights []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ACL SETUSER ` + name + ` (.*)$`).FindSubmatch(page)
	if found == nil {
		t.Fatalf("docs/security.md has no line ACL SETUSER %s", name)
	}
	return strings.Fields(string(found[1]))
}

// setUser makes a user at a server whose default user may do everything.
func setUser(t *testing.T, admin *redis.Client, name string, rights ...string) {
	t.Helper()
	if err := admin.ACLSetUser(t.Context(), name, append([]string{"reset", "on", ">secret"}, rights...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// denials are what the server has refused to anybody since it was last asked.
func denials(ctx context.Context, t *testing.T, admin *redis.Client) (refused []string) {
	t.Helper()
	entries, err := admin.ACLLog(ctx, 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		refused = append(refused, e.Username+" "+e.Object)
	}
	if err := admin.ACLLogReset(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	return refused
}

// wants checks that a user is refused a command.
func wants(t *testing.T, client *redis.Client, command ...any) {
	t.Helper()
	if err := client.Do(t.Context(), command...).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("%v: got %v, want NOPERM", command, err)
	}
}

func as(t *testing.T, server *redistest.Server, user string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: user, Password: "secret", Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestRedisRights runs a scaler under exactly the rights that docs/security.md gives it, on
// its records and on the queue, and a producer that pokes under exactly its own. Nothing
// that they need is refused, and nothing else is allowed.
func TestRedisRights(t *testing.T) {
	server, admin := queue(t)
	for _, user := range []string{"dashpot", "reader", "producer"} {
		setUser(t, admin, user, aclUser(t, user)...)
	}
	s := startScaler(t, "--redis-url=redis://dashpot:secret@"+server.Addr())
	client := s.client()
	ref := worker(server, "behavior", "{}", "maxReplicaCount", "20", "username", "reader", "password", "secret")
	stream, err := client.StreamIsActive(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the stream is watched", func() bool {
		status, _ := s.request("GET", "/v1/policies/shop/worker")
		return status == 200
	})
	push(t, admin, 37)
	if err := as(t, server, "producer").Publish(t.Context(), "dashpot:poke", "shop/worker").Err(); err != nil {
		t.Errorf("the producer's poke: %v", err)
	}
	if answer, err := stream.Recv(); err != nil || !answer.Result {
		t.Errorf("stream: %v, error %v; want true", answer, err)
	}
	if _, value := ask(t, client, ref); value != 8 {
		t.Errorf("sends %v; want 8", value)
	}
	s.want("POST", "/v1/poke/shop/worker", 202, "shop/worker")
	s.want("DELETE", "/v1/policies/shop/worker", 200, "forgotten")
	if keys, err := admin.Keys(t.Context(), "dashpot:*").Result(); err != nil || len(keys) != 1 {
		t.Errorf("records %v, error %v; want one", keys, err)
	}
	for _, more := range []map[string]string{
		{"source": "redis-streams", "stream": "events", "streamLength": "5"},
		{"source": "redis-streams", "stream": "events", "consumerGroup": "workers", "pendingEntriesCount": "5"},
		{"source": "redis-streams", "stream": "events", "consumerGroup": "workers", "lagCount": "5"},
		{"source": "redis", "listName": "set", "listLength": "5"},
		{"source": "redis", "listName": "sorted", "listLength": "5"},
		{"source": "redis", "listName": "hash", "listLength": "5"},
	} {
		readKey(t, admin, client, server, more)
	}
	s.end()
	if refused := denials(t.Context(), t, admin); len(refused) > 0 {
		t.Errorf("refused: %v", refused)
	}
	refusals(t, server)
}

// readKey reads a number of another kind of key as the reader.
func readKey(t *testing.T, admin *redis.Client, client pb.ExternalScalerClient, server *redistest.Server, metadata map[string]string) {
	t.Helper()
	for _, fill := range [][]any{
		{"xadd", "events", "*", "job", "1"}, {"xgroup", "create", "events", "workers", "$"}, {"sadd", "set", "a"},
		{"zadd", "sorted", "1", "a"}, {"hset", "hash", "a", "1"},
	} {
		if err := admin.Do(t.Context(), fill...).Err(); err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
			t.Fatal(err)
		}
	}
	ref := worker(server, "username", "reader", "password", "secret")
	delete(ref.ScalerMetadata, "listName")
	delete(ref.ScalerMetadata, "listLength")
	for k, v := range metadata {
		ref.ScalerMetadata[k] = v
	}
	ask(t, client, ref)
}

// refusals are what each of the users must not do.
func refusals(t *testing.T, server *redistest.Server) {
	t.Helper()
	producer, reader, dashpot := as(t, server, "producer"), as(t, server, "reader"), as(t, server, "dashpot")
	for _, client := range []*redis.Client{producer, reader, dashpot} {
		wants(t, client, "keys", "*")
		wants(t, client, "flushall")
		wants(t, client, "config", "get", "requirepass")
		wants(t, client, "rpush", "jobs", "more")
		wants(t, client, "publish", "other", "x")
	}
	wants(t, producer, "hget", "dashpot:{x}", "record")
	wants(t, producer, "eval", "return 1", 0)
	wants(t, producer, "subscribe", "dashpot:poke")
	wants(t, producer, "ping")
	wants(t, reader, "hget", "dashpot:{x}", "record")
	wants(t, reader, "publish", "dashpot:poke", "shop/worker")
	wants(t, dashpot, "hget", "jobs", "x")
	wants(t, dashpot, "del", "dashpot:{x}")
	if err := reader.Eval(t.Context(), "return redis.call('LLEN', KEYS[1])", []string{"dashpot:{x}"}).Err(); err == nil {
		t.Error("the reader may read records in a script")
	}
}

// TestRedisRightsInACluster is the scaler on a Redis Cluster, which needs one more right.
func TestRedisRightsInACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	rights := append(aclUser(t, "dashpot"), aclUser(t, "dashpot-in-a-cluster")...)
	var admins []*redis.Client
	for _, node := range cluster.Nodes {
		admin := redis.NewClient(&redis.Options{Addr: node.Addr()})
		t.Cleanup(func() { _ = admin.Close() })
		setUser(t, admin, "dashpot", rights...)
		admins = append(admins, admin)
	}
	server, jobs := queue(t)
	push(t, jobs, 37)
	s := startScaler(t, "--redis-url=redis-cluster://dashpot:secret@"+strings.Join(cluster.Addrs(), ","))
	if _, value := ask(t, s.client(), worker(server, "behavior", "{}", "maxReplicaCount", "20")); value != 8 {
		t.Errorf("sends %v; want 8", value)
	}
	s.want("POST", "/v1/poke/shop/worker", 202, "shop/worker")
	s.end()
	for _, admin := range admins {
		if refused := denials(t.Context(), t, admin); len(refused) > 0 {
			t.Errorf("refused: %v", refused)
		}
	}
}

// TestRedisRightsAtASentinel is the same behind a Sentinel that wants a login of its own,
// before and after a failover.
func TestRedisRightsAtASentinel(t *testing.T) {
	group := redistest.StartSentinel(t)
	var admins []*redis.Client
	for _, server := range []*redistest.Server{group.Primary, group.Replica, group.Sentinel} {
		admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = admin.Close() })
		if server == group.Sentinel {
			setUser(t, admin, "sentinel", aclUser(t, "dashpot-at-a-sentinel")...)
		} else {
			setUser(t, admin, "dashpot", aclUser(t, "dashpot")...)
		}
		admins = append(admins, admin)
	}
	server, jobs := queue(t)
	push(t, jobs, 37)
	s := startScaler(t, "--redis-url=redis-sentinel://dashpot:secret@"+group.Sentinel.Addr()+"?master="+group.Name+"&sentinel_username=sentinel&sentinel_password=secret")
	client, ref := s.client(), worker(server, "behavior", "{}", "maxReplicaCount", "20")
	if _, value := ask(t, client, ref); value != 8 {
		t.Errorf("sends %v; want 8", value)
	}
	if err := admins[2].Do(t.Context(), "sentinel", "failover", group.Name).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the record is stored at the new primary", func() bool {
		ask(t, client, ref)
		keys, err := admins[1].Keys(t.Context(), "dashpot:*").Result()
		role, roleErr := admins[1].Do(t.Context(), "role").Slice()
		return err == nil && roleErr == nil && role[0] == "master" && len(keys) == 1
	})
	s.want("POST", "/v1/poke/shop/worker", 202, "shop/worker")
	s.end()
	for _, admin := range admins {
		if refused := denials(t.Context(), t, admin); len(refused) > 0 {
			t.Errorf("refused: %v", refused)
		}
	}
}

// TestNoRightTooMany takes each right of the scaler away, and each time something that it
// does is refused.
func TestNoRightTooMany(t *testing.T) {
	_, admin := queue(t)
	url := "redis://dashpot:secret@" + admin.Options().Addr
	rights := aclUser(t, "dashpot")
	for i, right := range rights {
		if right == "-@all" || strings.HasPrefix(right, "reset") {
			continue // which a new user has anyway
		}
		t.Run(right, func(t *testing.T) {
			setUser(t, admin, "dashpot", append(rights[:i:i], rights[i+1:]...)...)
			if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			store, err := redisstore.Open(url, redisstore.Options{Instance: "test", Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _ = store.Subscribe(ctx, func(string, string) {}) }()
			key := scaling.Key{Ref: scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"}, Record: "jobs"}
			until(t, "something is refused", func() bool {
				_ = store.Ready(ctx)
				_, _ = store.Load(ctx, key)
				_, _ = store.Swap(ctx, key, "", scaling.Record{}, time.Millisecond)
				_ = store.Publish(ctx, "shop", "worker")
				return len(denials(ctx, t, admin)) > 0
			})
		})
	}
}
