package source

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/prometest"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestC28PromQL asks a real server what is seen in public ScaledObjects.
func TestC28PromQL(t *testing.T) {
	server, table := prometest.Start(t), newTable(t)
	server.Set(`x_bucket{le="1"}`, 0)
	server.Set(`x_bucket{le="+Inf"}`, 0)
	server.Set("a", 0)
	server.Set("b", 0)
	const latency = "histogram_quantile(0.95, sum(rate(x_bucket[1m])) by (le))"
	server.Await(latency, "NaN")
	server.Await("sum(rate(a[1m]))", "0")
	const (
		byIgnoring = " counts as 0, by ignoreNullValues"
		infinite   = "+Inf" + byIgnoring + "; is this work without a worker? A divisor of clamp_min(…, 1) shows it"
	)
	for _, tt := range []struct {
		name, query string
		a           float64
		value       float64
		note        string
		err         string // with ignoreNullValues true
		strict      string // the error with false
	}{
		{"a: idle histogram", latency, 0, 0, "NaN" + byIgnoring, "", "no data: NaN"},
		{"b: 0/0", "sum(a)/sum(b)", 0, 0, "NaN" + byIgnoring, "", "no data: NaN"},
		{"b: work without workers", "sum(a)/sum(b)", 6, 0, infinite, "", "no data: +Inf"},
		{"b: guarded", "sum(a)/clamp_min(sum(b), 1)", 6, 6, "", "", ""},
		{"c: idle rate", "sum(rate(b[2m]))", 6, 0, "", "", ""},
		{"c: before the server's time", "sum(rate(a[2m] offset 2m))", 6, 0, "no series" + byIgnoring, "", "no data: no series"},
		{"d: syntax", `sum(rate(x{queue="queue1"[1m]}))`, 6, 0, "", `400 Bad Request: bad_data: 1:26: parse error, unexpected character`, `400 Bad Request: bad_data: `},
		{"no such metric", "nothing", 6, 0, "no series" + byIgnoring, "", "no data: no series"},
		{"several series", "x_bucket", 6, 0, "", "several series, where one number is needed", "several series"},
		{"scalar", "scalar(a)", 6, 0, "", "the answer is a scalar; write vector(…)", "the answer is a scalar"},
		{"string", `"a"`, 6, 0, "", "the answer is a string, not a vector", "the answer is a string"},
		{"matrix", "a[1m]", 6, 0, "", "the answer is a matrix; ask for an instant", "the answer is a matrix"},
		{"negative", "-a", 6, 0, "-6 counts as 0, as in KEDA", "", ""},
		{"fails while it runs", `label_replace(a, "x", "$1", "a", "(") or a`, 6, 0, "", "422 Unprocessable Entity: execution: invalid regular expression", "422 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server.Set("a", tt.a)
			for ignore, want := range map[string]string{"true": tt.err, "false": tt.strict} {
				q := promAt(t, table, server.URL(), tt.query, values{"ignoreNullValues": ignore})
				got := readOne(t, table, q)
				switch {
				case want != "":
					if prefix := q.String() + ": " + want; got.Err == nil || !strings.HasPrefix(got.Err.Error(), prefix) {
						t.Errorf("ignoreNullValues %s: got %v, %v, want error\n%s", ignore, got.Value, got.Err, prefix)
					}
					if noNumber := strings.HasPrefix(want, "no data"); noNumber != errors.Is(got.Err, scaling.ErrNoData) {
						t.Errorf("%v is ErrNoData: %v", got.Err, !noNumber)
					}
				case got.Err != nil || got.Value != tt.value || got.Note != tt.note:
					t.Errorf("ignoreNullValues %s: got %v, note %q, %v, want %v, %q", ignore, got.Value, got.Note, got.Err, tt.value, tt.note)
				}
			}
		})
	}
}

// TestC28TwoTriggers: two queries of one object are two records, and KEDA's HPA knows
// them by their numbers, s0-prometheus and s1-prometheus.
func TestC28TwoTriggers(t *testing.T) {
	table := newTable(t)
	first, name, _ := parse(table, "prometheus", promql(values{"threshold": "3.9"}))
	second, other, _ := parse(table, "prometheus", promql(values{"query": "sum(rate(x[2m] offset 2m))"}))
	if first.Query.String() == second.Query.String() || name != other || first.Target != 3900 {
		t.Errorf("%s and %s have names %s and %s, target %d", first.Query, second.Query, name, other, first.Target)
	}
}

// TestC36Values: a number as text inside an answer is that number, in thousandths.
func TestC36Values(t *testing.T) {
	server, table := prometest.Start(t), newTable(t)
	for value, want := range map[float64]algorithm.Milli{41.5: 41500, 650634.4566410647: 650634457} {
		server.Set("jobs", value)
		got := readOne(t, table, promAt(t, table, server.URL(), "jobs", nil))
		if milli, err := algorithm.ToMilli(got.Value); got.Err != nil || err != nil || got.Value != value || milli != want {
			t.Errorf("got %v, %v, %d thousandths, want %v, %d", got.Value, got.Err, milli, value, want)
		}
	}
	server.Remove("jobs")
	if got := readOne(t, table, promAt(t, table, server.URL(), "jobs", values{"ignoreNullValues": "false"})); !errors.Is(got.Err, scaling.ErrNoData) {
		t.Errorf("got %v, %v of an empty result, want no data", got.Value, got.Err)
	}
}

// TestC44TLS: client certificates and unknown authorities, each by default an error that
// says what to do.
func TestC44TLS(t *testing.T) {
	strict, open := prometest.Start(t, prometest.WithClientCertificates()), prometest.Start(t, prometest.WithTLS())
	strict.Set("jobs", 7)
	open.Set("jobs", 8)
	cert, key := strict.ClientCertificate()
	tests := []struct {
		name    string
		server  *prometest.Server
		changes values
		value   float64
		err     string
	}{
		{"b: no certificate", strict, values{"ca": strict.CA()}, 0, "client certificate required; set authModes tls, cert and key"},
		{"b: certificate without the mode", strict, values{"ca": strict.CA(), "cert": cert, "key": key}, 0, "client certificate required; "},
		{"b: certificate and key", strict, values{"ca": strict.CA(), "authModes": "tls", "cert": cert, "key": key}, 7, ""},
		{"c: unknown authority", open, values{}, 0, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"c: unsafeSsl", open, values{"source.unsafeSsl": "true"}, 8, ""},
		{"c: authority given", open, values{"ca": open.CA()}, 8, ""},
		{"c: another's authority", open, values{"ca": strict.CA()}, 0, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"c: another's authority, unsafeSsl", open, values{"ca": strict.CA(), "source.unsafeSsl": "true"}, 0, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := newTable(t)
			q := promAt(t, table, tt.server.URL(), "jobs", tt.changes)
			if tt.err == "" {
				wantValue(t, table, q, tt.value)
			} else if got := readOne(t, table, q); got.Err == nil || !strings.HasPrefix(got.Err.Error(), q.String()+": "+tt.err) {
				t.Errorf("got %v, %v, want error %s", got.Value, got.Err, tt.err)
			}
		})
	}
	table := newTable(t)
	if got := readOne(t, table, promAt(t, table, strings.Replace(open.URL(), "https", "http", 1), "jobs", nil)); got.Err == nil || !strings.HasSuffix(got.Err.Error(), ": 400 Bad Request") {
		t.Errorf("got %v without TLS from a server that speaks it", got)
	}
}

func TestBasicAuth(t *testing.T) {
	server, table := prometest.Start(t, prometest.WithBasicAuth()), newTable(t)
	server.Set("jobs", 7)
	with := func(changes values) scaling.Query { return promAt(t, table, server.URL(), "jobs", changes) }
	wantValue(t, table, with(values{"authModes": "basic", "username": prometest.User, "password": prometest.Password}), 7)
	wantValue(t, table, promAt(t, table, strings.Replace(server.URL(), "//", "//"+prometest.User+":"+prometest.Password+"@", 1), "jobs", nil), 7)
	for _, changes := range []values{{}, {"authModes": "basic", "username": prometest.User, "password": "wrong"}} {
		if got := readOne(t, table, with(changes)); got.Err == nil || !strings.HasSuffix(got.Err.Error(), ": 401 Unauthorized") {
			t.Errorf("%v: got %v, %v", changes, got.Value, got.Err)
		}
	}
}

// TestHangingPrometheus: a server that has stopped answering delays no other, and when it
// is back so are its readings.
func TestHangingPrometheus(t *testing.T) {
	hanging, healthy := prometest.Start(t), prometest.Start(t)
	hanging.Set("jobs", 1)
	healthy.Set("jobs", 2)
	table := New(Options{Addresses: egress.Everywhere(), Timeout: 300 * time.Millisecond})
	t.Cleanup(table.Close)
	slow, quick := promAt(t, table, hanging.URL(), "jobs", nil), promAt(t, table, healthy.URL(), "jobs", nil)
	hanging.Suspend()
	var reads sync.WaitGroup
	reads.Go(func() {
		if got := readOne(t, table, slow); got.Err == nil {
			t.Errorf("got %v from a server that hangs", got.Value)
		}
	})
	for range 20 {
		waitFor(t, table, quick, 2)
	}
	reads.Wait()
	hanging.Resume()
	waitFor(t, table, slow, 1)
}
