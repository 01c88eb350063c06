package process

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// scrape returns the sample lines of Dashpot's own metrics.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	code, text := get(t, m.Handler(), "/metrics")
	if code != 200 {
		t.Fatalf("status %d: %s", code, text)
	}
	var own strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "dashpot_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

func wantSamples(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, sample := range want {
		if !strings.Contains(got, sample+"\n") {
			t.Errorf("no sample %q in\n%s", sample, got)
		}
	}
}

func TestPolicyGaugesFollowTheDecisions(t *testing.T) {
	var decisions []scaling.Decision
	m := NewMetrics()
	m.ShowPolicies(func() []scaling.Decision { return decisions })
	const labels = `{kind="ScaledObject",name="worker",namespace="shop",record="jobs"}`

	decisions = []scaling.Decision{*jobs(func(*scaling.Decision) {})}
	wantSamples(t, scrape(t, m),
		"dashpot_policy_reading"+labels+" 15", "dashpot_policy_recommended_replicas"+labels+" 3",
		"dashpot_policy_decided_replicas"+labels+" 3", "dashpot_policy_current_replicas"+labels+" 2",
		"dashpot_policy_active"+labels+" 1", "dashpot_policy_held"+labels+" 0", "dashpot_policy_failing"+labels+" 0")

	// Nothing can be served and nothing was read: what is not known has no sample.
	decisions = []scaling.Decision{*jobs(func(d *scaling.Decision) { d.Err, d.Decider, d.Basis = scaling.ErrUnobserved, -1, scaling.Basis{} })}
	got := scrape(t, m)
	wantSamples(t, got, "dashpot_policy_failing"+labels+" 1")
	if n := strings.Count(got, "dashpot_policy_"); n != 2 {
		t.Errorf("%d samples of a policy that nothing is known of; want failing and degraded:\n%s", n, got)
	}

	// Of two workloads, the newer decision counts; two series of one name would
	// fail the scrape.
	older := *jobs(func(d *scaling.Decision) { d.Key.Target, d.Replicas = "apps/Deployment/old", 9 })
	newer := *jobs(func(d *scaling.Decision) { d.At = d.At.Add(time.Second) })
	for _, decisions = range [][]scaling.Decision{{older, newer}, {newer, older}} {
		wantSamples(t, scrape(t, m), "dashpot_policy_decided_replicas"+labels+" 3")
	}

	decisions = nil
	if got := scrape(t, m); strings.Contains(got, "dashpot_policy_") {
		t.Errorf("series of a forgotten policy:\n%s", got)
	}
}

func TestDecisionsAreCountedByOutcome(t *testing.T) {
	m := NewMetrics()
	m.Decided(jobs(func(*scaling.Decision) {}))
	m.Decided(jobs(func(d *scaling.Decision) { d.Held = errors.New("why") }))
	m.Decided(jobs(func(d *scaling.Decision) { d.Err, d.Mode = errors.New("why"), scaling.PassThrough }))
	wantSamples(t, scrape(t, m),
		`dashpot_decisions_total{mode="stabilised",outcome="served"} 1`,
		`dashpot_decisions_total{mode="stabilised",outcome="held"} 1`,
		`dashpot_decisions_total{mode="pass-through",outcome="error"} 1`)
}

func TestRPCsAreCounted(t *testing.T) {
	m := NewMetrics()
	m.RPC("/s/Get", codes.OK, time.Millisecond)
	m.RPC("/s/Get", codes.Unavailable, 3*time.Second)
	wantSamples(t, scrape(t, m),
		`dashpot_rpc_duration_seconds_bucket{code="OK",method="/s/Get",le="0.001"} 1`,
		`dashpot_rpc_duration_seconds_count{code="Unavailable",method="/s/Get"} 1`)
}

// away is a store and a source that do not answer.
type away struct{}

func (away) Load(context.Context, scaling.Key) (*scaling.Loaded, error) {
	return nil, errors.New("away")
}

func (away) Swap(context.Context, scaling.Key, scaling.Version, scaling.Record, time.Duration) (bool, error) {
	return true, nil
}

func (away) Read(_ context.Context, queries []scaling.Query) []scaling.Outcome {
	return make([]scaling.Outcome, len(queries))
}

func TestStoreAndSourceAreMeasured(t *testing.T) {
	m := NewMetrics()
	if _, err := m.Store(away{}).Load(t.Context(), scaling.Key{}); err == nil {
		t.Error("the store's error is lost")
	}
	if swapped, err := m.Store(away{}).Swap(t.Context(), scaling.Key{}, "", scaling.Record{}, time.Hour); !swapped || err != nil {
		t.Error("the store's answer is lost")
	}
	if outcomes := m.Source(away{}).Read(t.Context(), make([]scaling.Query, 2)); len(outcomes) != 2 {
		t.Error("the source's outcomes are lost")
	}
	wantSamples(t, scrape(t, m),
		`dashpot_store_duration_seconds_count{operation="load",result="error"} 1`,
		`dashpot_store_duration_seconds_count{operation="swap",result="ok"} 1`,
		`dashpot_source_read_duration_seconds_count{result="ok"} 1`)
}
