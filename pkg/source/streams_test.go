package source

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// streamQueries are the three numbers of stream s and group g.
func streamQueries(tb testing.TB, table *Table, addr string) (length, pending, lag scaling.Query) {
	tb.Helper()
	base := func(changes values) scaling.Query {
		changes["address"], changes["stream"] = addr, "s"
		return query(tb, table, "redis-streams", changes)
	}
	return base(values{}), base(values{"consumerGroup": "g"}), base(values{"consumerGroup": "g", "lagCount": "5"})
}

// TestStreams lists what each of the three numbers is, and where Redis' own lag, up
// to some release at least, is nil or wrong.
func TestStreams(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	length, pending, lag := streamQueries(t, table, server.Addr())
	const five = "XADD s 1-0 f a; XADD s 2-0 f b; XADD s 3-0 f c; XADD s 4-0 f d; XADD s 5-0 f e; "
	tests := []struct {
		name, commands       string
		length, pending, lag float64 // pending -1: an error
	}{
		{"no stream", "", 0, 0, 0},
		{"no group", five, 5, -1, 5},
		{"other group", five + "XGROUP CREATE s h 0", 5, -1, 5},
		{"nothing read", five + "XGROUP CREATE s g 0", 5, 0, 5},
		{"empty stream", "XGROUP CREATE s g 0 MKSTREAM", 0, 0, 0},
		{"two read", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >", 5, 2, 3},
		{"one of them done", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >; XACK s g 1-0", 5, 1, 3},
		{"group at the end", five + "XGROUP CREATE s g $", 5, 0, 0},
		{"group in the middle", five + "XGROUP CREATE s g 2-0", 5, 0, 3},
		{"group between two", five + "XGROUP CREATE s g 2-5", 5, 0, 3},
		{"group before a future", five + "XGROUP CREATE s g 9-0", 5, 0, 0},
		{"unread one deleted", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >; XDEL s 4-0", 4, 2, 2},
		{"last delivered one deleted", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >; XDEL s 2-0", 4, 2, 3},
		{"all unread ones deleted", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >; XDEL s 3-0 4-0 5-0", 2, 2, 0},
		{"everything deleted", five + "XGROUP CREATE s g 0; XDEL s 1-0 2-0 3-0 4-0 5-0", 0, 0, 0},
		// redis#13337: read ones deleted, and then one that was not.
		{"tombstone behind the group", "XGROUP CREATE s g $ MKSTREAM; XADD s 0-1 f a; XADD s 0-2 f b; XREADGROUP GROUP g c STREAMS s >; " +
			"XADD s 0-3 f c; XADD s 0-4 f d; XDEL s 0-1; XDEL s 0-2; XDEL s 0-3", 1, 2, 1},
		// valkey#1951: the deleted one is owed for ever.
		{"read past a tombstone", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 2 STREAMS s >; XDEL s 3-0; XREADGROUP GROUP g c STREAMS s >", 4, 4, 0},
		// redis#13957: trimmed past the group, then read.
		{"trimmed", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 1 STREAMS s >; XTRIM s MAXLEN 2", 2, 1, 2},
		{"trimmed and read", five + "XGROUP CREATE s g 0; XREADGROUP GROUP g c COUNT 1 STREAMS s >; XTRIM s MAXLEN 1; XREADGROUP GROUP g c STREAMS s >", 1, 2, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			do(t, client, "FLUSHALL")
			for command := range strings.SplitSeq(tt.commands, ";") {
				if command = strings.TrimSpace(command); command != "" {
					do(t, client, command)
				}
			}
			wantValue(t, table, length, tt.length)
			wantValue(t, table, lag, tt.lag)
			if tt.pending >= 0 {
				wantValue(t, table, pending, tt.pending)
			} else if got := readOne(t, table, pending); got.Err == nil || !strings.Contains(got.Err.Error(), "NOGROUP") {
				t.Errorf("got %v for a group that does not exist, want NOGROUP", got)
			}
		})
	}
	do(t, client, "FLUSHALL")
	do(t, client, "SET s text")
	for _, q := range []scaling.Query{length, pending, lag} {
		if got := readOne(t, table, q); got.Err == nil || !strings.Contains(got.Err.Error(), "WRONGTYPE key is a string: this type of trigger reads others") {
			t.Errorf("%s: got %v for a string", q, got)
		}
	}
}

// fill adds entries 1-0 to n-0 in one go.
func fill(tb testing.TB, client *redis.Client, from, to int) {
	tb.Helper()
	pipe := client.Pipeline()
	for i := from; i <= to; i++ {
		pipe.XAdd(tb.Context(), &redis.XAddArgs{Stream: "s", ID: fmt.Sprintf("%d-0", i), Values: []string{"f", "v"}})
	}
	if _, err := pipe.Exec(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// TestLongLag: up to 100 exactly, above as Redis reports, and where it reports
// nothing up to 10,000 exactly; never more than the stream holds.
func TestLongLag(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	_, _, lag := streamQueries(t, table, server.Addr())
	tests := []struct {
		name     string
		entries  int
		commands []string
		low, top float64
	}{
		{"a page", 100, []string{"XGROUP CREATE s g 0"}, 100, 100},
		{"a page and one", 101, []string{"XGROUP CREATE s g 0"}, 101, 101},
		{"two pages and one", 202, []string{"XGROUP CREATE s g 1-0"}, 201, 201},
		{"reported", 12_345, []string{"XGROUP CREATE s g 0"}, 12_345, 12_345},
		{"not reported", 5_000, []string{"XGROUP CREATE s g 7-5"}, 4_993, 4_993},
		{"not reported and very long", 12_345, []string{"XGROUP CREATE s g 7-5"}, 10_000, 10_100},
		{"reported too high", 1_000, []string{"XGROUP CREATE s g 0 ENTRIESREAD 1", "XTRIM s MAXLEN 300"}, 300, 300},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			do(t, client, "FLUSHALL")
			fill(t, client, 1, tt.entries)
			for _, command := range tt.commands {
				do(t, client, command)
			}
			if got := readOne(t, table, lag); got.Err != nil || got.Value < tt.low || got.Value > tt.top {
				t.Errorf("got %v, %v, want %v to %v", got.Value, got.Err, tt.low, tt.top)
			}
		})
	}
}

// TestLagAgainstCounting compares the lag with a plain count of the entries after the
// last delivered one, through random lives of a stream.
func TestLagAgainstCounting(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	client := admin(t, server.Addr())
	_, _, lag := streamQueries(t, table, server.Addr())
	random := rand.New(rand.NewPCG(3, 4))
	wrong := 0 // Redis' own
	for range 40 {
		do(t, client, "FLUSHALL")
		last := 0
		do(t, client, fmt.Sprintf("XGROUP CREATE s g %d MKSTREAM", random.IntN(2)*3))
		for range 25 {
			switch random.IntN(6) {
			case 0, 1:
				added := 1 + random.IntN(4)
				fill(t, client, last+1, last+added)
				last += added
			case 2, 3:
				client.Do(t.Context(), "XREADGROUP", "GROUP", "g", "c", "COUNT", 1+random.IntN(4), "STREAMS", "s", ">")
			case 4:
				do(t, client, fmt.Sprintf("XDEL s %d-0", 1+random.IntN(last+1)))
			case 5:
				do(t, client, fmt.Sprintf("XTRIM s MAXLEN %d", 1+random.IntN(8)))
			}
			info, err := client.XInfoGroups(t.Context(), "s").Result()
			if err != nil {
				t.Fatal(err)
			}
			after, err := client.XRange(t.Context(), "s", "("+info[0].LastDeliveredID, "+").Result()
			if err != nil {
				t.Fatal(err)
			}
			if info[0].Lag != int64(len(after)) {
				wrong++
			}
			wantValue(t, table, lag, float64(len(after)))
		}
	}
	t.Logf("the server's own lag was nil or wrong %d times in 1000", wrong)
}
