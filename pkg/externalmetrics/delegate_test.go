package externalmetrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/external_metrics"

	"github.com/dashpot-project/dashpot/pkg/delegate"
)

// kedaLabel is what the HPAs of KEDA send, and by which its adapter is told from others.
const kedaLabel = "scaledobject.keda.sh/name"

// upstream starts another server of external metrics, which has one value of everything.
func upstream(tb testing.TB, answer func(http.ResponseWriter, *http.Request)) *httptest.Server {
	tb.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(answer))
	tb.Cleanup(s.Close)
	return s
}

func three(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},` +
		`"items":[{"metricName":"s0-redis-jobs","metricLabels":null,"timestamp":"2026-09-01T12:00:00Z","value":"3"}]}` + "\n"))
}

// delegates connects to servers by the lines of a file, without looking at certificates.
func delegates(tb testing.TB, lines ...string) *delegate.Set {
	tb.Helper()
	file, token := filepath.Join(tb.TempDir(), "delegates.yaml"), filepath.Join(tb.TempDir(), "token")
	text := "delegates:\n"
	for _, line := range lines {
		text += "- {insecureSkipVerify: true, tokenFile: " + token + ", " + line + "}\n"
	}
	for name, content := range map[string]string{file: text, token: "alice-token"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	plan, err := delegate.NewPlan(nil, file)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := plan.Connect(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// What the API server's client gets through us is, byte by byte, what it would get without
// us.
func TestADelegatesAnswerInFull(t *testing.T) {
	other := upstream(t, three)
	s := serve(t, Options{Others: delegates(t, "name: keda, url: '"+other.URL+"'")})
	got := s.request(t, client(), "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-redis-jobs?labelSelector="+kedaLabel+"%3Dworker", "Authorization", "Bearer alice-token")
	recorder := httptest.NewRecorder()
	three(recorder, nil)
	if got.status != http.StatusOK || got.body != recorder.Body.String() {
		t.Errorf("got  %d %s\nwant %s", got.status, got.body, recorder.Body)
	}
}

// late are others that are known only once all servers run.
type late struct {
	known chan struct{}
	set   *delegate.Set
}

func (l *late) Get(ctx context.Context, namespace, metric string, selector labels.Selector) (*external_metrics.ExternalMetricValueList, string, error) {
	<-l.known
	return l.set.Get(ctx, namespace, metric, selector)
}

func (l *late) List(ctx context.Context) []string {
	select {
	case <-l.known:
	case <-ctx.Done():
		return nil
	}
	return l.set.List(ctx)
}

func (l *late) Passed(h http.Header) bool {
	<-l.known
	return l.set.Passed(h)
}

// Two that name each other: whoever is asked asks the other once, and says so.
func TestTwoThatNameEachOther(t *testing.T) {
	a, b := &late{known: make(chan struct{})}, &late{known: make(chan struct{})}
	var calls atomic.Int64
	count := func(Call) { calls.Add(1) }
	first := serve(t, Options{Others: a, Observe: count})
	second := serve(t, Options{Others: b, Observe: count, Policies: metricsOf("mails")})
	a.set, b.set = delegates(t, "name: second, url: '"+second.url+"'"), delegates(t, "name: first, url: '"+first.url+"'")
	close(a.known)
	close(b.known)

	if list, err := first.metrics(t, "").NamespacedMetrics("shop").List("mails", labels.Everything()); err != nil || list.Items[0].MetricName != "mails" {
		t.Errorf("what the second has: %v, %v", list, err)
	}
	calls.Store(0)
	_, err := first.metrics(t, "").NamespacedMetrics("shop").List("orders", labels.Everything())
	want := "StabilizedMetric shop/orders: no such StabilizedMetric of that name; " +
		"delegate second: StabilizedMetric shop/orders: no such StabilizedMetric of that name; " +
		"another Dashpot has passed the query on to this one, which does not pass it on again"
	if err == nil || err.Error() != want || calls.Load() != 2 {
		t.Errorf("after %d requests %v\nwant 2 and %s", calls.Load(), err, want)
	}
}

// faults are the ways in which a delegate fails.
func faults() map[string]func(http.ResponseWriter, *http.Request) {
	return map[string]func(http.ResponseWriter, *http.Request){
		"500":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) },
		"404":     http.NotFound,
		"garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"huge": func(w http.ResponseWriter, r *http.Request) {
			for line := []byte(strings.Repeat(" ", 1<<16)); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		},
		"slow": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"hung":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"aborted": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"stopped": nil,
	}
}

// Delegates fail in every way that there is, each with metrics of its own by rule. Ours
// and those of a healthy delegate are answered all the same, and no delegate is asked for
// what is not its own.
func TestOnlyTheirOwnMetricsFail(t *testing.T) {
	var strays atomic.Int64
	var lines []string
	for name, fault := range faults() {
		broken := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/namespaces/") && !strings.HasSuffix(r.URL.Path, "/"+name+"-depth") {
				strays.Add(1)
			}
			fault(w, r)
		})
		if fault == nil {
			broken.Close()
		}
		lines = append(lines, "name: d"+name+", timeout: 0.1, match: {metrics: ['"+name+"-*']}, url: '"+broken.URL+"'")
	}
	healthy := upstream(t, three)
	s := serve(t, Options{Others: delegates(t, append(lines, "name: prom, url: '"+healthy.URL+"'")...)})
	hpas := s.metrics(t, "").NamespacedMetrics("shop")
	for round := range 10 {
		for name := range faults() {
			if list, err := hpas.List(name+"-depth", labels.Everything()); err == nil {
				t.Errorf("%d: %s: a value: %v", round, name, list)
			} else if !strings.HasPrefix(err.Error(), "delegate d"+name+" at https://") {
				t.Errorf("%d: %s: the error does not say whose it is: %v", round, name, err)
			}
			for metric, want := range map[string]string{"jobs": "7500m", "requests": "3"} {
				if list, err := hpas.List(metric, labels.Everything()); err != nil || list.Items[0].Value.String() != want {
					t.Errorf("%d: beside %s: %s: %v, %v", round, name, metric, list, err)
				}
			}
		}
	}
	if strays.Load() > 0 {
		t.Errorf("delegates that fail were asked %d times for what is not their own", strays.Load())
	}
}

// BenchmarkDelegation is one request for one value over TLS: to another server direct, to
// us for a value of our own, and for the other server's through us. All share the machine.
func BenchmarkDelegation(b *testing.B) {
	other := upstream(b, three)
	s := serve(b, Options{Others: delegates(b, "name: keda, url: '"+other.URL+"', match: {labels: ['"+kedaLabel+"']}")})
	theirs := "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-redis-jobs?labelSelector=" + kedaLabel + "%3Dworker"
	c := client()
	var direct float64
	for _, to := range []struct {
		name   string
		server served
		path   string
	}{{"direct", served{url: other.URL}, theirs}, {"own", s, jobsPath}, {"delegated", s, theirs}} {
		b.Run(to.name, func(b *testing.B) {
			ask := func() {
				if got := to.server.request(b, c, to.path, "Authorization", "Bearer alice-token"); got.status != http.StatusOK {
					b.Fatalf("%d %s", got.status, got.body)
				}
			}
			ask() // which connects, and asks for the permission
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
			each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if direct == 0 {
				direct = each
			}
			b.ReportMetric(each/direct, "times-direct")
		})
	}
}
