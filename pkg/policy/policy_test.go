package policy_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

type values = map[string]string

// jobs is a good list trigger, with changes; a change to "-" removes the key.
func jobs(changes values) values {
	return with(values{
		"scalerAddress": "dashpot:9090", "source": "redis", "address": "redis:6379", "listName": "jobs",
	}, changes)
}

// orders is a good stream trigger, with changes.
func orders(changes values) values {
	return with(values{
		"scalerAddress": "dashpot:9090", "source": "redis-streams", "address": "redis:6379", "stream": "orders",
	}, changes)
}

func with(base, changes values) values {
	for key, value := range changes {
		base[key] = value
		if value == "-" {
			delete(base, key)
		}
	}
	return base
}

func parse(t *testing.T, metadata values) *scaling.Policy {
	t.Helper()
	sources := source.New(source.Options{})
	t.Cleanup(sources.Close)
	before := maps.Clone(metadata)
	parsed := policy.Parser{Sources: sources}.Parse(metadata)
	if !maps.Equal(before, metadata) {
		t.Error("parsing changed its input")
	}
	return parsed
}

// good fails the test for a policy that is not.
func good(t *testing.T, metadata values) *scaling.Policy {
	t.Helper()
	p := parse(t, metadata)
	if p.Invalid != nil {
		t.Fatalf("not valid: %v", p.Invalid)
	}
	return p
}

func TestPassThrough(t *testing.T) {
	p := good(t, jobs(nil))
	if p.Metric != "redis-jobs" || p.Target != 5000 || p.Behavior != nil || p.Interval != 5*time.Second || p.Cooldown != 300*time.Second {
		t.Errorf("unexpected defaults: %+v", p)
	}
	if p.Min != nil || p.Max != nil || p.Fallback != nil || p.Shadow || len(p.Warnings) > 0 {
		t.Errorf("unexpected extras: %+v", p)
	}
	if len(p.Triggers) != 1 || p.Triggers[0].Type != "redis" || p.Triggers[0].Target != 5000 || p.Triggers[0].Activation != 0 {
		t.Errorf("unexpected trigger: %+v", p.Triggers)
	}
	if got := p.Triggers[0].Query.String(); got != "redis list jobs at redis:6379/0" {
		t.Errorf("unexpected query: %s", got)
	}
}

func TestNameAndTarget(t *testing.T) {
	tests := []struct {
		name     string
		metadata values
		metric   string
		target   algorithm.Milli
	}{
		{"list", jobs(values{"listLength": "2.5"}), "redis-jobs", 2500},
		{"KEDA's normalisation", jobs(values{"listName": "bull:(jobs)/a.b%c"}), "redis-bull--jobs--a-b-c", 5000},
		{"stream", orders(nil), "redis-streams-orders", 5000},
		{"cluster has KEDA's name too", jobs(values{"source": "redis-cluster"}), "redis-jobs", 5000},
		{"name of the user", jobs(values{"metricName": "my.jobs"}), "my-jobs", 5000},
		{"stabilised", jobs(values{"behavior": "{}", "listLength": "50"}), "redis-jobs-replicas", 1000},
		{"stabilised by name", jobs(values{"behavior": "{}", "metricName": "mine"}), "mine-replicas", 1000},
		{"shadow", jobs(values{"behavior": "{}", "shadow": "true"}), "redis-jobs", 5000},
		{"broken target", jobs(values{"listLength": "x"}), "redis-jobs", 1000},
		{"broken behavior", jobs(values{"behavior": "x"}), "redis-jobs-replicas", 1000},
		{"no list", jobs(values{"listName": "-"}), "redis-", 5000},
		{"unknown source", jobs(values{"source": "rabbitmq"}), "rabbitmq", 1000},
		{"nothing at all", values{}, "unknown", 1000},
		{"not UTF-8", jobs(values{"listName": "a\xffb\nc"}), "redis-a-b-c", 5000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, tt.metadata)
			if p.Metric != tt.metric || p.Target != tt.target {
				t.Errorf("got %s with target %d, want %s with %d", p.Metric, p.Target, tt.metric, tt.target)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name     string
		metadata values
		want     []string
	}{
		{"listLength", jobs(values{"listLength": "0"}), []string{`listLength "0": must be a number from 0.001 to 1000000000`}},
		{"near miss", jobs(values{"listLenght": "9"}), []string{"listLenght: unknown key, did you mean listLength?"}},
		{"near miss of our own", jobs(values{"behaviour": "{}"}), []string{"behaviour: unknown key, did you mean behavior?"}},
		{"near miss of KEDA's", jobs(values{"scalerAdress": "x"}), []string{"scalerAdress: unknown key, did you mean scalerAddress?"}},
		{"missing source", jobs(values{"source": "-"}), []string{"source is missing: must be one of redis, redis-streams, redis-cluster, redis-cluster-streams, redis-sentinel, redis-sentinel-streams, prometheus, metrics-api, cron, cpu, memory, external-metric"}},
		{"min above max", jobs(values{"behavior": "{}", "minReplicaCount": "9", "maxReplicaCount": "8"}), []string{"minReplicaCount 9: must not be above maxReplicaCount 8"}},
		{"max zero", jobs(values{"behavior": "{}", "maxReplicaCount": "0"}), []string{`maxReplicaCount "0": must be a whole number from 1 to 1000000`}},
		{"size", jobs(values{"listName": strings.Repeat("x", 64<<10), "listLenght": "9"}), []string{"metadata has 65608 bytes in keys and values, at most 65536 are allowed"}},
		{"C26: a quantity", jobs(values{"listLength": "70000m"}), []string{`listLength "70000m": must be a number from 0.001 to 1000000000 (not a quantity; write 70)`}},
		{"C26: a quantity for the activation", jobs(values{"activationListLength": "500m"}), []string{`activationListLength "500m": must be a number of at least 0 (not a quantity; write 0.5)`}},
		{"C26: a quantity for the activation of a stream", orders(values{"activationLagCount": "1k"}), []string{`activationLagCount "1k": must be a number of at least 0 (not a quantity; write 1000)`}},
		{"interval", jobs(values{"interval": "500ms"}), []string{`interval "500ms": must be seconds, or a duration such as 90s, from 1 to 300 s`}},
		{"cooldown", jobs(values{"behavior": "{}", "cooldownPeriod": "-5"}), []string{`cooldownPeriod "-5": must be seconds, or a duration such as 90s, from 0 to 2592000 s`}},
		{"metric name", jobs(values{"metricName": "a\tb"}), []string{`metricName "a\tb": must be a name without control characters (each of / . : % ( ) becomes a dash)`}},
		{"list name", jobs(values{"listName": "a\tb"}), []string{`metricName: the default "redis-a\tb" has control characters, which a metric's name must not have; set metricName`}},
		{"all at once", jobs(values{"listLength": "x", "interval": "0", "shadow": "perhaps", "address": "redis", "listNames": "y"}), []string{
			`shadow "perhaps": must be true or false`,
			`address "redis": must be host:port, or several separated by commas`,
			`listLength "x": must be a number from 0.001 to 1000000000`,
			`interval "0": must be seconds, or a duration such as 90s, from 1 to 300 s`,
			"listNames: unknown key, did you mean listName?",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantProblems(t, parse(t, tt.metadata), tt.want) })
	}
}

func wantProblems(t *testing.T, p *scaling.Policy, want []string) {
	t.Helper()
	if !errors.Is(p.Invalid, scaling.ErrBadPolicy) {
		t.Fatalf("not a bad policy: %v", p.Invalid)
	}
	if got := strings.TrimPrefix(p.Invalid.Error(), scaling.ErrBadPolicy.Error()+": "); got != strings.Join(want, "; ") {
		t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, "; ", "\n"), strings.Join(want, "\n"))
	}
}

func TestWarnings(t *testing.T) {
	const alone = "no effect in a trigger's metadata; set them in the ScaledObject's spec"
	const aloneToo = alone + " (minReplicaCount, maxReplicaCount and cooldownPeriod may stand here together with behavior)"
	tests := []struct {
		name     string
		metadata values
		want     []string
	}{
		{"unknown", jobs(values{"connection": "main", "createConsumerGroup": "yes"}), []string{"connection: unknown key, ignored", "createConsumerGroup: unknown key, ignored"}},
		{"C26: metricType Utilization", promql(values{"metricType": "Utilization"}), []string{"metricType: no effect in a trigger's metadata; set it on the trigger, beside type"}},
		{"metricType", jobs(values{"metricType": "Value"}), []string{"metricType: no effect in a trigger's metadata; set it on the trigger, beside type"}},
		{"cooldown in pass-through", jobs(values{"cooldownPeriod": "60"}), []string{"cooldownPeriod: " + aloneToo}},
		{"cooldown stabilised", jobs(values{"cooldownPeriod": "60", "behavior": "{}"}), nil},
		{"polling stabilised", jobs(values{"pollingInterval": "60", "behavior": "{}"}), []string{"pollingInterval: " + alone}},
		{"shadow alone", jobs(values{"shadow": "true"}), []string{"shadow: does nothing without behavior"}},
		{"TLS of the wrong connection", jobs(values{"enableTLS": "true"}), []string{"enableTLS: is about the connection from KEDA to Dashpot; for the one to Redis set source.enableTLS"}},
		{"TLS of both", jobs(values{"enableTLS": "true", "source.enableTLS": "false"}), nil},
		{"KEDA's own", jobs(values{"unsafeSsl": "true", "caCert": "x", "tlsClientCert": "x", "tlsClientKey": "x"}), nil},
		{"streams", orders(values{"lagCount": "3"}), []string{"lagCount: not used: without consumerGroup, streamLength decides"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if p := good(t, tt.metadata); !slices.Equal(p.Warnings, tt.want) {
				t.Errorf("got %q, want %q", p.Warnings, tt.want)
			}
		})
	}
}

func TestSourceSuggestions(t *testing.T) {
	tests := []struct{ source, want string }{
		{"redis-lists", "did you mean redis?"}, // C25 e
		{"Redis", "did you mean redis?"},
		{"redis-stream", "did you mean redis-streams?"},
		{"redisStreams", "did you mean redis-streams?"},
		{"redis-cluster-stream", "did you mean redis-cluster-streams?"},
		{"prometeus", "did you mean prometheus?"},
		{"rabbitmq", ""},
	}
	for _, tt := range tests {
		t.Run(tt.source, func(t *testing.T) {
			want := `source "` + tt.source + `": must be one of redis, redis-streams, redis-cluster, redis-cluster-streams, redis-sentinel, redis-sentinel-streams, prometheus, metrics-api, cron, cpu, memory, external-metric`
			if tt.want != "" {
				want += " (" + tt.want + ")"
			}
			wantProblems(t, parse(t, jobs(values{"source": tt.source})), []string{want})
		})
	}
}

// TestScaledObjectKeysInMetadata is C25 a: keys of the ScaledObject that are written
// into the trigger's metadata, where KEDA ignores them without a word.
func TestScaledObjectKeysInMetadata(t *testing.T) {
	p := good(t, jobs(values{"minReplicaCount": "2", "maxReplicaCount": "20", "pollingInterval": "15", "cooldownPeriod": "120"}))
	if len(p.Warnings) != 1 {
		t.Fatalf("want one warning, got %q", p.Warnings)
	}
	for _, key := range []string{"minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod"} {
		if !strings.Contains(p.Warnings[0], key) {
			t.Errorf("%s is not named in %q", key, p.Warnings[0])
		}
	}
	if p.Min != nil || p.Max != nil {
		t.Errorf("the ScaledObject's own bounds hold, got %v and %v", p.Min, p.Max)
	}
}

// TestActivationAboveTarget is C14's warning: with target 10 and activation 50, 40
// jobs ask for four replicas and wake none.
func TestActivationAboveTarget(t *testing.T) {
	p := good(t, jobs(values{"listLength": "10", "activationListLength": "50"}))
	want := "the activation threshold 50 is above the target 10: readings between them count as no work, however many replicas they ask for"
	if !slices.Equal(p.Warnings, []string{want}) {
		t.Errorf("got %q, want %q", p.Warnings, want)
	}
	for _, fine := range []string{"0", "5.5", "10"} { // C16: a decimal parses
		if p := good(t, jobs(values{"listLength": "10", "activationListLength": fine})); len(p.Warnings) > 0 {
			t.Errorf("activation %s: unexpected %q", fine, p.Warnings)
		}
	}
}

func TestStabilisedBounds(t *testing.T) {
	p := good(t, jobs(values{"behavior": "{}", "minReplicaCount": "0", "maxReplicaCount": "7", "interval": "1m", "cooldownPeriod": "0"}))
	if p.Min == nil || *p.Min != 0 || p.Max == nil || *p.Max != 7 {
		t.Errorf("got bounds %v and %v, want 0 and 7", p.Min, p.Max)
	}
	if p.Interval != time.Minute || p.Cooldown != 0 {
		t.Errorf("got interval %v and cooldown %v, want 1m and 0", p.Interval, p.Cooldown)
	}
}

// A record outlives an edit and a switch of modes, so that windows do, and belongs to one
// queue on one server.
func TestRecordName(t *testing.T) {
	const want = "redis list jobs at redis:6379/0"
	for name, changes := range map[string]values{
		"pass-through": {},
		"stabilised":   {"behavior": "{}"},
		"shadow":       {"behavior": "{}", "shadow": "true"},
		"edited":       {"listLength": "50", "activationListLength": "3", "cooldownPeriod": "10", "behavior": "{}"},
	} {
		if got := good(t, jobs(changes)).Record; got != want {
			t.Errorf("%s: record %q, want %q", name, got, want)
		}
	}
	for name, changes := range map[string]values{
		"another server":   {"address": "other:6379"},
		"another database": {"databaseIndex": "1"},
		"another list":     {"listName": "mails"},
	} {
		if got := good(t, jobs(changes)).Record; got == want {
			t.Errorf("%s: the same record", name)
		}
	}
	if got := good(t, jobs(values{"metricName": "work", "behavior": "{}"})).Record; got != "work" {
		t.Errorf("with metricName: record %q, want that", got)
	}
}
