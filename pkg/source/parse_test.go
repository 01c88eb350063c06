package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

type values = map[string]string

func newTable(tb testing.TB) *Table {
	tb.Helper()
	table := New(Options{Addresses: egress.Everywhere()})
	tb.Cleanup(table.Close)
	return table
}

// parse reads a trigger, whose problems it returns as one text.
func parse(table *Table, triggerType string, metadataValues values) (scaling.Trigger, string, *metadata.Map) {
	m := metadata.New(metadataValues)
	trigger, name, _ := table.Parse(triggerType, m)
	m.Finish(table.Keys(triggerType))
	return trigger, name, m
}

func TestConnections(t *testing.T) {
	tests := []struct {
		name, triggerType string
		metadata          values
		want              string // of the query, after "at "
		problem           string
	}{
		{"address", "redis", values{"address": "redis:6379"}, "redis:6379/0", ""},
		{"addresses", "redis", values{"addresses": "redis:6379"}, "redis:6379/0", ""},
		{"host and port", "redis", values{"host": "redis", "port": "6379"}, "redis:6379/0", ""},
		{"hosts and ports", "redis-cluster", values{"hosts": "a, b", "ports": "1,2"}, "a:1,b:2/0", ""},
		{"both", "redis-cluster", values{"address": "c:3", "hosts": "a, b", "ports": "1,2"}, "c:3,a:1,b:2/0", ""},
		{"from the environment", "redis", values{"addressFromEnv": "redis:6379"}, "redis:6379/0", ""},
		{"pair from the environment", "redis", values{"hostFromEnv": "redis", "portFromEnv": "6379"}, "redis:6379/0", ""},
		{"database", "redis", values{"address": "redis:6379", "databaseIndex": "2"}, "redis:6379/2", ""},
		{"IPv6", "redis", values{"host": "::1", "port": "6379"}, "[::1]:6379/0", ""},
		{"sentinel", "redis-sentinel", values{"address": "a:1,b:2", "sentinelMaster": "main"}, "main at a:1,b:2/0", ""},
		{"half a pair beside an address", "redis", values{"address": "redis:6379", "host": "other"}, "redis:6379/0", ""},

		{"nothing", "redis", values{}, "", "address is missing: must be host:port, or several separated by commas (or host and port together)"},
		{"only commas", "redis", values{"address": " , "}, "", `address ",": must be host:port, or several separated by commas (or host and port together)`},
		{"no port", "redis", values{"address": "redis"}, "", `address "redis": must be host:port, or several separated by commas`},
		{"a URL", "redis", values{"address": "redis://redis:6379"}, "", `address "redis://redis:6379": must be host:port, or several separated by commas`},
		{"host alone", "redis", values{"host": "redis"}, "", "port is missing: must be a port from 1 to 65535, or as many as host has, separated by commas"},
		{"port alone", "redis", values{"port": "1"}, "", "host is missing: must be a host name or IP address, or as many as port has, separated by commas"},
		{"port 0", "redis", values{"host": "redis", "port": "0"}, "", `port "0": must be a port from 1 to 65535, or as many as host has, separated by commas`},
		{"port of an address", "redis", values{"address": "redis:65536"}, "", `address "redis:65536": must be host:port, or several separated by commas`},
		{"unequal", "redis-cluster", values{"hosts": "a,b", "ports": "1"}, "", `hosts "a,b": must be a host name or IP address, or as many as port has, separated by commas (2 hosts and 1 ports)`},
		{"sentinel without primary", "redis-sentinel", values{"address": "a:1"}, "", "sentinelMaster is missing: must be a text that is not empty"},
		{"negative database", "redis", values{"address": "redis:6379", "databaseIndex": "-1"}, "", `databaseIndex "-1": must be a whole number from 0 to 1000000`},
		{"TLS", "redis", values{"address": "redis:6379", "source.enableTLS": "on"}, "", `source.enableTLS "on": must be true or false`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.metadata["listName"] = "jobs"
			trigger, _, m := parse(newTable(t), tt.triggerType, tt.metadata)
			problem := ""
			if err := m.Err(); err != nil {
				problem = err.Error()
			}
			if problem != tt.problem {
				t.Errorf("problem\n%s\nwant\n%s", problem, tt.problem)
			}
			if _, at, _ := strings.Cut(trigger.Query.String(), " at "); tt.want != "" && at != tt.want {
				t.Errorf("query at %s, want %s", at, tt.want)
			}
		})
	}
}

func TestConnectionWarnings(t *testing.T) {
	tests := []struct {
		triggerType string
		metadata    values
		want        string
	}{
		{"redis", values{"address": "a:1,b:2"}, "address: only the first of 2 addresses is used; for a cluster set source to one of the cluster types"},
		{"redis-cluster", values{"address": "a:1", "databaseIndex": "2"}, "databaseIndex: ignored, a cluster has only database 0"},
		{"redis", values{"address": "a:1", "sentinelMaster": "main"}, "sentinelMaster: unknown key, ignored"},
	}
	for _, tt := range tests {
		tt.metadata["listName"] = "jobs"
		_, _, m := parse(newTable(t), tt.triggerType, tt.metadata)
		if m.Err() != nil || !slices.Equal(m.Warnings(), []string{tt.want}) {
			t.Errorf("got %v and %q, want %q", m.Err(), m.Warnings(), tt.want)
		}
	}
}

// Every request compares the names of its queries with those on file.
func TestAQuerysNameIsAtHand(t *testing.T) {
	for _, triggerType := range []string{"redis", "redis-streams"} {
		trigger, _, m := parse(newTable(t), triggerType, values{"address": "r:1", "listName": "jobs", "stream": "orders", "consumerGroup": "g"})
		if n := testing.AllocsPerRun(10, func() { _ = trigger.Query.String() }); n != 0 {
			t.Errorf("%s: %v allocations to say %q (%v)", triggerType, n, trigger.Query, m.Err())
		}
	}
}

// TestStreamNumber: which of the three numbers is read is decided as KEDA does.
func TestStreamNumber(t *testing.T) {
	tests := []struct {
		name     string
		metadata values
		query    string
		target   float64
		warning  string
	}{
		{"no group", values{}, "redis stream orders length at r:1/0", 5, ""},
		{"no group, length", values{"streamLength": "7"}, "redis stream orders length at r:1/0", 7, ""},
		{"no group, pending", values{"pendingEntriesCount": "7"}, "redis stream orders length at r:1/0", 5, "pendingEntriesCount: not used: without consumerGroup, streamLength decides"},
		{"no group, lag", values{"lagCount": "7"}, "redis stream orders length at r:1/0", 5, "lagCount: not used: without consumerGroup, streamLength decides"},
		{"group", values{"consumerGroup": "g"}, "redis stream orders pending in group g at r:1/0", 5, ""},
		{"group, pending", values{"consumerGroup": "g", "pendingEntriesCount": "7"}, "redis stream orders pending in group g at r:1/0", 7, ""},
		{"group, length", values{"consumerGroup": "g", "streamLength": "7"}, "redis stream orders pending in group g at r:1/0", 5, "streamLength: not used: with consumerGroup and without lagCount, pendingEntriesCount decides"},
		{"group, lag", values{"consumerGroup": "g", "lagCount": "7"}, "redis stream orders lag of group g at r:1/0", 7, ""},
		{"group, lag, pending", values{"consumerGroup": "g", "lagCount": "7", "pendingEntriesCount": "3"}, "redis stream orders lag of group g at r:1/0", 7, "pendingEntriesCount: not used: with consumerGroup and lagCount, lagCount decides"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.metadata["address"], tt.metadata["stream"], tt.metadata["activationLagCount"] = "r:1", "orders", "2.5"
			trigger, name, m := parse(newTable(t), "redis-streams", tt.metadata)
			if m.Err() != nil || strings.Join(m.Warnings(), "; ") != tt.warning {
				t.Errorf("got %v and %q, want warning %q", m.Err(), m.Warnings(), tt.warning)
			}
			if trigger.Query.String() != tt.query || trigger.Target.Float() != tt.target || trigger.Activation != 2.5 || name != "redis-streams-orders" {
				t.Errorf("got %s, target %v, activation %v, name %s", trigger.Query, trigger.Target.Float(), trigger.Activation, name)
			}
		})
	}
	for _, key := range []string{"streamLength", "pendingEntriesCount", "lagCount"} {
		if _, _, m := parse(newTable(t), "redis-streams", values{"address": "r:1", "stream": "s", key: "0"}); m.Err() == nil {
			t.Errorf("%s 0 is no target", key)
		}
	}
}

// TestServerTellsCredentialsApart: what must not be read over the same connection has
// another Server, the same has the same, and no secret shows in any way of printing.
func TestServerTellsCredentialsApart(t *testing.T) {
	table := newTable(t)
	base := values{"address": "redis:6379", "listName": "jobs", "sentinelMaster": "main"}
	seen := map[string]string{}
	for _, change := range []values{
		{}, {"password": "hunter2"}, {"password": "hunter3"}, {"username": "hunter2"}, {"username": "h", "password": "hunter2"},
		{"sentinelPassword": "hunter2"}, {"sentinelUsername": "hunter2"}, {"databaseIndex": "1"},
		{"source.enableTLS": "true"}, {"source.enableTLS": "true", "source.unsafeSsl": "true"}, {"sentinelMaster": "other"},
	} {
		merged := values{}
		for _, m := range []values{base, change} {
			for k, v := range m {
				merged[k] = v
			}
		}
		first, _, m := parse(table, "redis-sentinel", merged)
		second, _, _ := parse(table, "redis-sentinel", merged)
		if m.Err() != nil {
			t.Fatal(m.Err())
		}
		if first.Query != second.Query {
			t.Errorf("%v: the same metadata gives two queries", change)
		}
		server := first.Query.Server()
		if other, ok := seen[server]; ok {
			t.Errorf("%v and %s share the server %s", change, other, server)
		}
		seen[server] = fmt.Sprint(change)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			for _, printed := range []any{first, first.Query, []scaling.Query{first.Query}, server} {
				if text := fmt.Sprintf(verb, printed); strings.Contains(text, "hunter") || strings.Contains(text, fmt.Sprintf("%x", "hunter")) {
					t.Errorf("a secret shows: %s", text)
				}
			}
		}
	}
}

func TestUnknownType(t *testing.T) {
	table := newTable(t)
	if table.Keys("rabbitmq") != nil {
		t.Error("keys of a type that does not exist")
	}
	if _, _, m := parse(table, "rabbitmq", nil); m.Err() == nil {
		t.Error("parsed a type that does not exist")
	}
	want := []string{"redis", "redis-streams", "redis-cluster", "redis-cluster-streams", "redis-sentinel", "redis-sentinel-streams", "prometheus", "metrics-api", "cron", "cpu", "memory", "external-metric"}
	if got := table.Types(); !slices.Equal(got, want) {
		t.Errorf("types %v, want %v", got, want)
	}
}
