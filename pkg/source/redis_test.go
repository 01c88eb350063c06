package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/recent"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// query parses a trigger that must be good.
func query(tb testing.TB, table *Table, triggerType string, metadataValues values) scaling.Query {
	tb.Helper()
	trigger, _, m := parse(table, triggerType, metadataValues)
	if m.Err() != nil {
		tb.Fatal(m.Err())
	}
	return trigger.Query
}

func list(tb testing.TB, table *Table, addr, name string) scaling.Query {
	tb.Helper()
	return query(tb, table, "redis", values{"address": addr, "listName": name})
}

// redisOf is the table's connections to Redis servers.
func redisOf(table *Table) *redisPool {
	for _, r := range table.readers {
		if redis, ok := r.(readerOf[redisQuery]); ok {
			return redis.client.(*redisPool)
		}
	}
	return nil
}

// admin is a client for filling the server.
func admin(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func do(tb testing.TB, client redis.UniversalClient, command string) {
	tb.Helper()
	words := strings.Fields(command)
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	if err := client.Do(tb.Context(), args...).Err(); err != nil {
		tb.Fatalf("%s: %v", command, err)
	}
}

// readOne reads one query within 10 s.
func readOne(tb testing.TB, table *Table, q scaling.Query) scaling.Outcome {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	outcomes := table.Read(ctx, []scaling.Query{q})
	if len(outcomes) != 1 {
		tb.Fatalf("%d outcomes for one query", len(outcomes))
	}
	return outcomes[0]
}

func wantValue(tb testing.TB, table *Table, q scaling.Query, want float64) {
	tb.Helper()
	if got := readOne(tb, table, q); got.Err != nil || got.Value != want {
		tb.Errorf("%s: got %v, %v, want %v", q, got.Value, got.Err, want)
	}
}

// TestLengthOfEveryType reads all shapes of a key in one call.
func TestLengthOfEveryType(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	for _, command := range []string{
		"RPUSH list a b c", "SADD set a b", "ZADD zset 1 a", "HSET hash f 1 g 2 h 3 i 4", "SET text x", "XADD stream * f v",
	} {
		do(t, client, command)
	}
	tests := []struct {
		key  string
		want float64
		err  string
	}{
		{"list", 3, ""},
		{"set", 2, ""},
		{"zset", 1, ""},
		{"hash", 4, ""},
		{"nothing", 0, ""},
		{"text", 0, "WRONGTYPE key is a string: this type of trigger reads others"},
		{"stream", 0, "WRONGTYPE key is a stream: this type of trigger reads others"},
		{"list", 3, ""}, // after an error in the middle
	}
	queries := make([]scaling.Query, len(tests))
	for i, tt := range tests {
		queries[i] = list(t, table, server.Addr(), tt.key)
	}
	for round := range 2 { // the second finds the scripts at the server
		for i, got := range table.Read(t.Context(), queries) {
			if tt := tests[i]; tt.err == "" {
				if got.Err != nil || got.Value != tt.want {
					t.Errorf("round %d: %s: got %v, %v, want %v", round, tt.key, got.Value, got.Err, tt.want)
				}
			} else if want := fmt.Sprintf("redis list %s at %s/0: %s", tt.key, server.Addr(), tt.err); got.Err == nil || !strings.HasPrefix(got.Err.Error(), want) {
				t.Errorf("round %d: got error %v, want %s", round, got.Err, want)
			}
		}
	}
}

// TestOneRoundTrip: once the server knows the scripts, a read of many queries is one
// batch; the server handles them back to back.
func TestOneRoundTrip(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	queries := []scaling.Query{list(t, table, server.Addr(), "a"), list(t, table, server.Addr(), "b"), list(t, table, server.Addr(), "c")}
	table.Read(t.Context(), queries)
	client := redisOf(table).servers.clients[queries[0].(redisQuery).server].client.conn
	trips := &countTrips{}
	client.AddHook(trips)
	table.Read(t.Context(), queries)
	do(t, admin(t, server.Addr()), "SCRIPT FLUSH")
	table.Read(t.Context(), queries)
	if want := "[3 3 3]"; fmt.Sprint(trips.batches) != want || trips.single > 0 {
		t.Errorf("got batches %v and %d single commands, want %s: one when the scripts are known, two when they are not", trips.batches, trips.single, want)
	}
}

type countTrips struct {
	batches []int
	single  int
}

func (c *countTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *countTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.single++
		return next(ctx, cmd)
	}
}

func (c *countTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		c.batches = append(c.batches, len(commands))
		return next(ctx, commands)
	}
}

// TestActivationThresholds is C16: the threshold has to be exceeded.
func TestActivationThresholds(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	tests := []struct {
		activation string // empty: absent
		length     int
		active     bool
		replicas   int32 // of at most 10
	}{
		{"1", 1, false, 0}, {"1", 2, true, 1},
		{"10", 5, false, 0}, {"10", 10, false, 0}, {"10", 11, true, 3},
		{"5", 3, false, 0},
		{"", 0, false, 0}, {"", 1, true, 1}, {"", 5, true, 1}, {"", 12, true, 3}, {"", 50, true, 10}, {"", 200, true, 10},
		{"5.5", 5, false, 0}, {"5.5", 6, true, 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("activation %s length %d", tt.activation, tt.length), func(t *testing.T) {
			do(t, client, "DEL tasks")
			if tt.length > 0 {
				do(t, client, "RPUSH tasks"+strings.Repeat(" x", tt.length))
			}
			trigger, _, m := parse(table, "redis", values{"address": server.Addr(), "listName": "tasks", "listLength": "5", "activationListLength": tt.activation})
			if m.Err() != nil {
				t.Fatal(m.Err())
			}
			policy := &scaling.Policy{Metric: "redis-tasks", Target: trigger.Target, Triggers: []scaling.Trigger{trigger}}
			observed := scaling.Observation{ToZero: true}
			observed.Bounds.Min, observed.Bounds.Max = 1, 10
			d := scaling.Step(scaling.Input{
				Policy: policy, Observation: observed, Outcomes: table.Read(t.Context(), []scaling.Query{trigger.Query}),
			}).Decision
			if d.Err != nil || d.Active != tt.active || (tt.active && d.Replicas != tt.replicas) {
				t.Errorf("got active %v with %d replicas, %v; want %v with %d", d.Active, d.Replicas, d.Err, tt.active, tt.replicas)
			}
		})
	}
}

// TestLastElementTakenMeanwhile is C29: type and length are asked at one moment, so
// that a key that comes and goes is a 1 or a 0 and never an error.
func TestLastElementTakenMeanwhile(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	q := list(t, table, server.Addr(), "z")
	stop := make(chan struct{})
	var worker sync.WaitGroup
	client := admin(t, server.Addr())
	worker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				client.ZAdd(context.Background(), "z", redis.Z{Score: 1, Member: "m"})
				client.ZRem(context.Background(), "z", "m")
			}
		}
	})
	seen := map[float64]int{}
	for range 10_000 {
		got := readOne(t, table, q)
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		seen[got.Value]++
	}
	close(stop)
	worker.Wait()
	if len(seen) != 2 || seen[0] == 0 || seen[1] == 0 {
		t.Errorf("want both 0 and 1 to occur, got %v", seen)
	}
}

// TestWrongKey is C31: a key that is not the queue's reads 0, as in KEDA, and is
// listed as missing; the right one in the right database does not.
func TestWrongKey(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	do(t, client, "RPUSH bull:jobs:wait 1 2 3 4 5 6 7 8 9 10 11 12")
	do(t, client, "RPUSH n8n-bull:jobs:wait 1 2 3 4 5 6 7 8 9 10 11 12")
	tests := []struct {
		listName, database string
		want               float64
	}{
		{"bull:default:wait", "0", 0},
		{"bull:email-notifications:waiting", "0", 0},
		{"bull:*:wait", "0", 0},
		{"n8n-bull:jobs:wait", "2", 0}, // it is in database 0
		{"bull:jobs:wait", "0", 12},
		{"n8n-bull:jobs:wait", "0", 12},
	}
	for _, tt := range tests {
		q := query(t, table, "redis", values{"address": server.Addr(), "listName": tt.listName, "databaseIndex": tt.database})
		wantValue(t, table, q, tt.want)
		wantNote(t, table, q, tt.want == 0)
	}

	// Once seen, an empty queue is just empty.
	moved := query(t, table, "redis", values{"address": server.Addr(), "listName": "n8n-bull:jobs:wait", "databaseIndex": "2"})
	do(t, client, "MOVE n8n-bull:jobs:wait 2")
	wantValue(t, table, moved, 12)
	do(t, client, "FLUSHALL")
	wantValue(t, table, moved, 0)
	wantNote(t, table, moved, false)
}

// wantNote checks whether a reading says that its key has never been seen.
func wantNote(t *testing.T, table *Table, q scaling.Query, want bool) {
	t.Helper()
	note := table.Read(t.Context(), []scaling.Query{q})[0].Note
	if got := strings.Contains(note, "is its name right?"); got != want {
		t.Errorf("%s: note %q, want one: %v", q, note, want)
	}
}

func TestCredentials(t *testing.T) {
	server, table := redistest.Start(t, redistest.WithArgs("--requirepass", "hunter2")), newTable(t)
	with := func(changes values) scaling.Query {
		changes["address"], changes["listName"] = server.Addr(), "jobs"
		return query(t, table, "redis", changes)
	}
	wantValue(t, table, with(values{"password": "hunter2"}), 0)
	wantValue(t, table, with(values{"passwordFromEnv": "hunter2"}), 0)
	wantValue(t, table, with(values{"username": "default", "password": "hunter2"}), 0)
	for _, wrong := range []values{{}, {"password": "hunter3"}, {"username": "hunter", "password": "hunter2"}} {
		q := with(wrong)
		for range 5 { // an answer is no failure of the connection: no breaker opens
			got := readOne(t, table, q)
			if got.Err == nil || !strings.HasPrefix(got.Err.Error(), q.String()) || strings.Contains(got.Err.Error(), "hunter") ||
				!strings.Contains(got.Err.Error(), "WRONGPASS") && !strings.Contains(got.Err.Error(), "NOAUTH") {
				t.Errorf("unexpected error: %v", got.Err)
			}
		}
	}
	wantValue(t, table, with(values{"password": "hunter2"}), 0)
}

func TestForeignAndNoQueries(t *testing.T) {
	table := newTable(t)
	if got := table.Read(t.Context(), nil); len(got) != 0 {
		t.Errorf("got %v for nothing", got)
	}
	if got := table.Read(t.Context(), []scaling.Query{foreign{}}); len(got) != 1 || got[0].Err == nil {
		t.Errorf("got %v for a query of another source", got)
	}
	table.Close()
	if got := readOne(t, table, list(t, table, "127.0.0.1:1", "jobs")); !errors.Is(got.Err, errClosed) {
		t.Errorf("got %v of a closed table", got)
	}
}

type foreign struct{}

func (foreign) Server() string { return "elsewhere" }
func (foreign) String() string { return "foreign" }

// An empty list of which KEDA asks is known to be one for as long as it asks, and for no
// longer: lists come and go.
func TestKeysThatExistedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &redisClient{existed: recent.New[redisQuery, struct{}](existedFor)}
		jobs, mails := redisQuery{key: "jobs"}, redisQuery{key: "mails"}
		note := func(q redisQuery, number int64) string {
			return c.outcomes([]redisQuery{q}, []answer{{number: number}})[0].Note
		}
		if note(jobs, absent) == "" {
			t.Error("no note on a key that was never there")
		}
		note(jobs, 3)
		note(mails, 3)
		for range 20 {
			time.Sleep(time.Minute)
			if got := note(jobs, absent); got != "" {
				t.Fatalf("noted of a list that is empty: %s", got)
			}
		}
		if note(mails, absent) == "" {
			t.Error("a key of which nobody asked for 20 minutes is remembered")
		}
	})
}
