//go:build e2e

package e2e

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/prometest"
)

// testPrometheusAsKEDA asks KEDA's adapter for what KEDA's own prometheus trigger and ours
// report of one server's state, for every key of the type.
func testPrometheusAsKEDA(t *testing.T) {
	testTwins(t, "prometheus", promCases(startPromServers(t)))
}

// testTwoPromQueries: two queries of one object are two metrics with their own values
// (C28 e).
func testTwoPromQueries(t *testing.T) {
	server := prometest.Start(t)
	server.Set("jobs", 41.5)
	server.Set("orders", 2)
	k := newKedaSide(t, "prometheus")
	k.applyScaled("two", nil,
		externalTrigger("prometheus", promMetadata(server.URL(), "jobs")),
		externalTrigger("prometheus", promMetadata(server.URL(), "orders")))
	k.await("two", "s0-prometheus", "41500m")
	k.await("two", "s1-prometheus", "2")
}

// promServers are what the cases ask.
type promServers struct {
	plain, open, secured *prometest.Server
	gate                 string
}

func startPromServers(t *testing.T) promServers {
	t.Helper()
	s := promServers{
		plain:   prometest.Start(t),
		open:    prometest.Start(t, prometest.WithTLS()),
		secured: prometest.Start(t, prometest.WithClientCertificates(), prometest.WithBasicAuth()),
	}
	s.plain.Set("jobs", 41.5)
	s.plain.Set("idle", 0)
	s.plain.Set(`queue{name="a"}`, 1)
	s.plain.Set(`queue{name="b"}`, 2)
	s.open.Set("jobs", 42)
	s.secured.Set("jobs", 43)
	s.gate = startGate(t, s.plain)
	return s
}

// startGate starts a server that lets a request through to Prometheus if it has what the
// first element of its path calls for, or gives the answer that this names.
func startGate(t *testing.T, behind *prometest.Server) string {
	t.Helper()
	target, err := url.Parse(behind.URL())
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"null":  `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,null]}]}}`,
		"other": `{"foo":1}`,
		"html":  `<html>log in</html>`,
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
	passes := map[string]func(*http.Request) bool{
		"any":       func(*http.Request) bool { return true },
		"namespace": func(r *http.Request) bool { return r.FormValue("namespace") == "shop" },
		"parameter": func(r *http.Request) bool { return r.FormValue("dedup") == "true" && r.FormValue("x") == "a b" },
		"header": func(r *http.Request) bool {
			return r.Header.Get("X-Scope-OrgID") == "acme" && r.Header.Get("X-B") == "c"
		},
		"equals": func(r *http.Request) bool { return r.Header.Get("X-B") == "c=" },
		"bearer": func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer abc" },
		"basic":  func(r *http.Request) bool { return r.Header.Get("Authorization") == basic },
		"custom": func(r *http.Request) bool { return r.Header.Get("X-Key") == "abc" },
		"slow": func(r *http.Request) bool {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Second):
			}
			return true
		},
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wish, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if answer := answers[wish]; answer != "" {
			_, _ = w.Write([]byte(answer))
			return
		}
		if pass := passes[wish]; pass == nil || !pass(r) {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		r.URL.Path = "/" + path
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// promCases has every key of the trigger type.
func promCases(s promServers) []twinCase {
	plain := func(query string, more ...string) map[string]string {
		return promMetadata(s.plain.URL(), query, more...)
	}
	gate := func(wish string, more ...string) map[string]string {
		return promMetadata(s.gate+"/"+wish, "jobs", more...)
	}
	cert, key := s.secured.ClientCertificate()
	return []twinCase{
		{name: "query", metadata: plain("jobs"), value: "41500m"},
		{name: "threshold", metadata: plain("jobs", "threshold", "0.5"), value: "41500m"},
		{name: "activation-threshold-above", metadata: plain("jobs", "activationThreshold", "50"), value: "41500m", idle: true},
		{name: "activation-threshold-equal", metadata: plain("jobs", "activationThreshold", "41.5"), value: "41500m", idle: true},
		{name: "activation-threshold-below", metadata: plain("jobs", "activationThreshold", "41.4"), value: "41500m"},
		{name: "rounding", metadata: plain("jobs / 3"), value: "13833m"},
		{name: "negative", metadata: plain("-jobs"), value: "0"},
		{name: "empty", metadata: plain("nothing"), value: "0"},
		{name: "empty-strict", metadata: plain("nothing", "ignoreNullValues", "false"), value: failure, says: "no series"},
		{name: "nan", metadata: plain("idle / idle"), value: "0"},
		{name: "nan-strict", metadata: plain("idle / idle", "ignoreNullValues", "false"), value: failure, says: "NaN"},
		{name: "infinite", metadata: plain("jobs / idle"), value: "0"},
		{name: "infinite-strict", metadata: plain("jobs / idle", "ignoreNullValues", "false"), value: failure, says: "+Inf"},
		{name: "null", metadata: gate("null"), value: "0"},
		{name: "null-strict", metadata: gate("null", "ignoreNullValues", "false"), value: "0", differs: failure, says: "null", reason: "ignoreNullValues false says that null is an error"},
		{name: "several", metadata: plain("queue"), value: failure, says: "several series"},
		{name: "scalar", metadata: plain("scalar(jobs)"), value: failure, says: "scalar"},
		{name: "string", metadata: plain(`"a"`), value: failure, says: "string"},
		{name: "matrix", metadata: plain("jobs[1m]"), value: "0", differs: failure, says: "matrix", reason: "a wrong query is no idle service"},
		{name: "syntax", metadata: plain("sum(jobs"), value: failure, says: "bad_data"},
		{name: "html", metadata: gate("html"), value: failure, says: "text/html"},
		{name: "other-json", metadata: gate("other"), value: "0", differs: failure, says: "not an answer of Prometheus", reason: "what does not answer as Prometheus does says nothing of the service"},
		{name: "namespace", metadata: gate("namespace", "namespace", "shop"), value: "41500m"},
		{name: "query-parameters", metadata: gate("parameter", "queryParameters", "dedup=true, x=a b"), value: "41500m"},
		{name: "custom-headers", metadata: gate("header", "customHeaders", "X-Scope-OrgID=acme, X-B=c"), value: "41500m"},
		{name: "custom-header-equals", metadata: gate("equals", "customHeaders", "X-B=c="), value: failure, differs: "41500m", reason: "KEDA takes no = in a header's value, as the end of base64 has it"},
		{name: "timeout-short", metadata: gate("slow", "timeout", "300"), value: failure, says: "no answer"},
		{name: "timeout-long", metadata: gate("slow", "timeout", "2500ms"), value: "41500m"},
		{name: "address-with-credentials", metadata: promMetadata(strings.Replace(s.gate, "//", "//me:secret@", 1)+"/basic", "jobs"), value: "41500m"},
		{name: "refused", metadata: gate("bearer"), value: failure, says: "401"},
		{name: "bearer", metadata: gate("bearer", "authModes", "bearer"), secret: map[string]string{"bearerToken": "abc\n"}, value: "41500m"},
		{name: "basic", metadata: gate("basic", "authModes", "basic"), secret: map[string]string{"username": "me", "password": "secret"}, value: "41500m"},
		{name: "custom", metadata: gate("custom", "authModes", "custom"), secret: map[string]string{"customAuthHeader": "X-Key", "customAuthValue": "abc"}, value: "41500m"},
		{
			name: "tls-and-basic", metadata: promMetadata(s.secured.URL(), "jobs", "authModes", "tls,basic"), value: "43",
			secret: map[string]string{"ca": s.secured.CA(), "cert": cert, "key": key, "username": prometest.User, "password": prometest.Password},
		},
		{
			name: "no-client-certificate", metadata: promMetadata(s.secured.URL(), "jobs", "authModes", "basic"), value: failure, says: "client certificate required",
			secret: map[string]string{"ca": s.secured.CA(), "username": prometest.User, "password": prometest.Password},
		},
		{name: "unknown-authority", metadata: promMetadata(s.open.URL(), "jobs"), value: failure, says: "certificate signed by unknown authority"},
		{
			name: "unsafe-ssl", metadata: promMetadata(s.open.URL(), "jobs"), value: "42",
			keda: map[string]string{"unsafeSsl": "true"}, ours: map[string]string{"source.unsafeSsl": "true"},
		},
		{
			name: "authority-alone", metadata: promMetadata(s.open.URL(), "jobs"), secret: map[string]string{"ca": s.open.CA()},
			value: failure, differs: "42", reason: "KEDA does not look at ca without authModes",
		},
	}
}

// promMetadata is that of a trigger, with further keys and values.
func promMetadata(address, query string, more ...string) map[string]string {
	m := map[string]string{"serverAddress": address, "query": query, "threshold": "5"}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}
