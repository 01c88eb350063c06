package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// fake is a server that answers as a real Prometheus never does.
func fake(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// promAt is a query of a server.
func promAt(t *testing.T, table *Table, address, promQL string, changes values) scaling.Query {
	t.Helper()
	m := promql(changes)
	m["serverAddress"], m["query"] = address, promQL
	return query(t, table, "prometheus", m)
}

// TestRefusals: statuses that are no success, and answers that are none.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name, err string
		answer    http.HandlerFunc
	}{
		{"422 with a reason", "422 Unprocessable Entity: execution: multiple matches for labels", status(422, `{"status":"error","errorType":"execution","error":"multiple matches for labels: {planted}"}`)},
		{"500", "500 Internal Server Error", status(500, "oops")},
		{"502 of a proxy", "502 Bad Gateway", status(502, "<html>bad gateway</html>")},
		{"401", "401 Unauthorized", status(401, "Unauthorized\n")},
		{"204", "not an answer of Prometheus: nothing", status(204, "")},
		{"HTML", "not an answer of Prometheus: up to 32 bytes of text/html", status(200, "<html>log in</html>")},
		{"huge", "the answer is longer than 1048576 bytes", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(vector(`"7"`) + strings.Repeat(" ", maxAnswer)))
		}},
		{"broken off", "the answer breaks off: unexpected EOF", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(vector(`"7"`)))
		}},
		{"redirect to another host", "302 Found: redirected to another host, which is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example/?back=hunter2", http.StatusFound)
		}},
		{"redirects without end", "302 Found: redirected too often, which is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}},
		{"304", "304 Not Modified", status(304, "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, address := newTable(t), fake(t, tt.answer)
			q := promAt(t, table, strings.Replace(address, "//", "//me:hunter2@", 1), "sum(jobs)", nil)
			want := "prometheus sum(jobs) at " + address + ": " + tt.err
			if got := readOne(t, table, q); got.Err == nil || got.Err.Error() != want {
				t.Errorf("got %v, %v, want error\n%s", got.Value, got.Err, want)
			}
		})
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// TestRequestsAsSent: headers go with the request, and with a redirect at the same host.
func TestRequestsAsSent(t *testing.T) {
	table := newTable(t)
	address := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/new/") {
			http.Redirect(w, r, "/new"+r.URL.RequestURI(), http.StatusPermanentRedirect)
			return
		}
		user, password, _ := r.BasicAuth()
		got := fmt.Sprintf("%s %s %s %s:%s %s", r.Method, r.URL.Path, r.FormValue("query"), user, password, r.Header.Get("X-Scope-OrgID"))
		if want := "GET /new/old/api/v1/query a + b me:hunter2 acme"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		_, _ = w.Write([]byte(vector(`"7"`)))
	})
	wantValue(t, table, promAt(t, table, address+"/old", "a + b", values{
		"authModes": "basic", "username": "me", "password": "hunter2", "customHeaders": "X-Scope-OrgID=acme",
	}), 7)
}

// slowServer answers the query "slow" only when it is released, and others at once.
type slowServer struct {
	release                   chan struct{}
	requests, inFlight, worst atomic.Int32
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	now := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for worst := s.worst.Load(); now > worst && !s.worst.CompareAndSwap(worst, now); worst = s.worst.Load() {
	}
	if strings.HasPrefix(r.FormValue("query"), "slow") {
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
	}
	_, _ = w.Write([]byte(vector(`"7"`)))
}

// TestHangingQuery: it delays no other, of the same server or in the same read, and is
// sent once whoever asks.
func TestHangingQuery(t *testing.T) {
	table, server := newTable(t), &slowServer{release: make(chan struct{})}
	address := fake(t, server.ServeHTTP)
	slow, quick := promAt(t, table, address, "slow", nil), promAt(t, table, address, "quick", nil)
	if slow.Server() == quick.Server() {
		t.Error("a query must not share another's fate")
	}
	first := make(chan []scaling.Outcome)
	go func() { first <- table.Read(t.Context(), []scaling.Query{slow, slow}) }()
	for server.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	wantValue(t, table, quick, 7)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	both := table.Read(ctx, []scaling.Query{slow, quick})
	if !errors.Is(both[0].Err, context.DeadlineExceeded) || both[0].Err.Error() != slow.String()+": no answer in time" {
		t.Errorf("got %v, want an error that names the query", both[0])
	}
	if both[1].Err != nil || both[1].Value != 7 {
		t.Errorf("got %v beside a query that hangs", both[1])
	}
	close(server.release)
	for _, got := range <-first {
		if got.Err != nil || got.Value != 7 {
			t.Errorf("got %v from a request that another one left", got)
		}
	}
	if n := server.requests.Load(); n != 3 {
		t.Errorf("%d requests, want one of the slow query and two of the other", n)
	}
}

// TestInFlight: of many queries a server has eight at a time.
func TestInFlight(t *testing.T) {
	table, server := newTable(t), &slowServer{release: make(chan struct{})}
	address := fake(t, server.ServeHTTP)
	var reads sync.WaitGroup
	for i := range 3 * maxInFlight {
		q := promAt(t, table, address, fmt.Sprintf("slow%d", i), nil)
		reads.Go(func() { wantValue(t, table, q, 7) })
	}
	for server.inFlight.Load() < maxInFlight {
		time.Sleep(time.Millisecond)
	}
	close(server.release)
	reads.Wait()
	if got := server.worst.Load(); got != maxInFlight {
		t.Errorf("%d requests at a time, want %d", got, maxInFlight)
	}
}

// TestPrometheusTimeouts: a request ends by the query's timeout, the table's or the
// context.
func TestPrometheusTimeouts(t *testing.T) {
	server := &slowServer{release: make(chan struct{})}
	address := fake(t, server.ServeHTTP)
	table := New(Options{Addresses: egress.Everywhere(), Timeout: 200 * time.Millisecond})
	t.Cleanup(table.Close)
	for _, tt := range []struct {
		timeout string
		want    time.Duration
	}{{"50ms", 50 * time.Millisecond}, {"0", 200 * time.Millisecond}} {
		q := promAt(t, table, address, "slow", values{"timeout": tt.timeout})
		started := time.Now()
		got := table.Read(t.Context(), []scaling.Query{q})[0]
		if took := time.Since(started); took < tt.want || took > tt.want+5*time.Second || !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("timeout %s: %v after %v, want %v", tt.timeout, got.Err, took, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := table.Read(ctx, []scaling.Query{promAt(t, table, address, "quick", nil)})[0]; !errors.Is(got.Err, context.Canceled) {
		t.Errorf("got %v, want a cancellation", got)
	}
}

// TestClosedTable: it reads nothing, and a query of no table is an error.
func TestClosedTable(t *testing.T) {
	table := New(Options{Addresses: egress.Everywhere()})
	q := promAt(t, table, "http://127.0.0.1:1", "up", nil)
	if got := table.Read(t.Context(), []scaling.Query{q, list(t, table, "127.0.0.1:1", "jobs")}); got[0].Err == nil || got[1].Err == nil {
		t.Errorf("queries of two servers were read: %v", got)
	}
	if got := readOne(t, table, q); got.Err == nil || !strings.HasSuffix(got.Err.Error(), "connection refused") {
		t.Errorf("got %v, want refused", got)
	}
	table.Close()
	if got := readOne(t, table, q); !errors.Is(got.Err, errClosed) {
		t.Errorf("got %v, want closed", got)
	}
}

// TestHTTPClients: TLS settings have a client each, which ends when nobody uses it.
func TestHTTPClients(t *testing.T) {
	address := fake(t, status(200, vector(`"7"`)))
	table := New(Options{Addresses: egress.Everywhere(), Idle: 20 * time.Millisecond})
	t.Cleanup(table.Close)
	clients := prometheusOf(table).clients.pool
	plain, other := promAt(t, table, address, "a", nil), promAt(t, table, address, "a", values{"source.unsafeSsl": "true"})
	_, release, err := clients.acquire(plain.(promQuery).at.Value().tls)
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, table, plain, 7)
	wantValue(t, table, promAt(t, table, address, "b", values{"authModes": "bearer", "token": "x"}), 7)
	wantValue(t, table, other, 7)
	for n := 2; n != 1; time.Sleep(time.Millisecond) { // the one that is in use stays
		clients.mu.Lock()
		n = len(clients.clients)
		clients.mu.Unlock()
		if n > 2 {
			t.Fatalf("%d clients for two TLS settings", n)
		}
	}
	release()
	for n := 1; n > 0; time.Sleep(time.Millisecond) {
		clients.mu.Lock()
		n = len(clients.clients)
		clients.mu.Unlock()
	}
}

// prometheusOf is the table's connections to Prometheus servers.
func prometheusOf(table *Table) *httpReader[promQuery] {
	for _, r := range table.readers {
		if prometheus, ok := r.(readerOf[promQuery]); ok {
			return prometheus.client.(*httpReader[promQuery])
		}
	}
	return nil
}
