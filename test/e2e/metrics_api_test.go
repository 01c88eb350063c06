//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/prometest"
)

// apiAnswers are what the server of the cases answers, by the request's path.
var apiAnswers = map[string]string{
	"/json": `{"queues":[{"name":"a","length":41.5,"text":"64","size":"50Mi","milli":"1500m","none":null,"on":true,"less":-3,"word":"many"}],` +
		`"third":13.8333333333}`,
	"/behind":     `{"a":5} and more`,
	"/yaml":       "queues: [{length: 41.5, whole: 7, text: '64', size: 50Mi, none: ~}]\nendless: .inf\n2: {x: 5}\n",
	"/list":       "[{length: 7}]",
	"/xml":        `<queues><queue name="a" size="5"><length>12</length></queue></queues>`,
	"/exposition": "# TYPE jobs gauge\njobs{queue=\"a\"} 5\njobs{queue=\"b\"} 6.5\n# TYPE done counter\ndone 41\nfree 3\nnothing NaN\n# TYPE s histogram\ns_bucket{le=\"+Inf\"} 3\ns_sum 9\ns_count 3\n",
}

// startAPI starts a server with these answers, some behind a door that its path names.
func startAPI(t *testing.T) string {
	t.Helper()
	doors := map[string]func(*http.Request) bool{
		"/parameter":  func(r *http.Request) bool { return r.URL.RawQuery == "queue=a&x=1" },
		"/key-header": func(r *http.Request) bool { return r.Header.Get("X-API-KEY") == "abc" },
		"/key-named":  func(r *http.Request) bool { return r.Header.Get("X-Mine") == "abc" },
		"/key-query":  func(r *http.Request) bool { return r.URL.RawQuery == "api_key=a%26b" },
		"/key-both":   func(r *http.Request) bool { return r.URL.RawQuery == "k=abc&queue=a" },
		"/bearer":     func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer abc" },
		"/basic": func(r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			return user == "me" && password == "secret"
		},
		"/slow": func(r *http.Request) bool {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Second):
			}
			return true
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := apiAnswers[r.URL.Path]; answer != "" {
			_, _ = w.Write([]byte(answer))
			return
		}
		door := doors[r.URL.Path]
		switch {
		case door != nil && door(r):
			_, _ = w.Write([]byte(apiAnswers["/json"]))
		case r.URL.Path == "/accepted":
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(apiAnswers["/json"]))
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/json", http.StatusFound)
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "http://"+strings.Replace(r.Host, "127.0.0.1", "localhost", 1)+"/json", http.StatusFound)
		default:
			http.Error(w, "no", http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// testMetricsAPIAsKEDA asks KEDA's adapter for what KEDA's own metrics-api trigger and ours
// report of one server's answer, for every key and format of the type.
func testMetricsAPIAsKEDA(t *testing.T) { testTwins(t, "metrics-api", metricsAPICases(t)) }

// metricsAPICases has every key of the trigger type and every format.
func metricsAPICases(t *testing.T) []twinCase {
	t.Helper()
	address := startAPI(t)
	at := func(path, location string, more ...string) map[string]string {
		m := map[string]string{"url": address + path, "valueLocation": location, "targetValue": "5"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	json := func(field string, more ...string) map[string]string { return at("/json", "queues.0."+field, more...) }
	behind := func(door string, more ...string) map[string]string { return at(door, "queues.0.length", more...) }
	yaml := func(location string) map[string]string { return at("/yaml", location, "format", "yaml") }
	exposed := func(selector string) map[string]string { return at("/exposition", selector, "format", "prometheus") }
	cases := []twinCase{
		{name: "number", metadata: json("length"), value: "41500m"},
		{name: "text", metadata: json("text"), value: "64"},
		{name: "quantity", metadata: json("size"), value: "52428800"},
		{name: "milli", metadata: json("milli"), value: "1500m"},
		{name: "gjson", metadata: at("/json", `queues.#(name=="a").length`), value: "41500m"},
		{name: "rounding", metadata: at("/json", "third"), value: "13833m"},
		{name: "target", metadata: json("length", "targetValue", "0.5"), value: "41500m"},
		{name: "activation-above", metadata: json("length", "activationTargetValue", "50"), value: "41500m", idle: true},
		{name: "activation-equal", metadata: json("length", "activationTargetValue", "41.5"), value: "41500m", idle: true},
		{name: "activation-below", metadata: json("length", "activationTargetValue", "41.4"), value: "41500m"},
		{name: "negative", metadata: json("less"), value: "0"},
		{name: "null", metadata: json("none"), value: failure, says: "no data: null"},
		{name: "absent", metadata: json("other"), value: failure, says: "nothing is at valueLocation"},
		{name: "flag", metadata: json("on"), value: failure, says: "true or false"},
		{name: "word", metadata: json("word"), value: failure, says: "not to a number"},
		{name: "exposition-as-json", metadata: at("/exposition", "jobs"), value: failure, says: "not JSON"},
		{name: "behind-json", metadata: at("/behind", "a"), value: "5", differs: failure, says: "not JSON", reason: "what is not JSON may be half an answer"},
		{name: "no-target", metadata: json("length", "targetValue", "0"), value: failure},
		{name: "no-format", metadata: json("length", "format", "toml"), value: failure},
		{name: "yaml", metadata: yaml("queues.0.length"), value: "41500m"},
		{name: "yaml-whole", metadata: yaml("queues.0.whole"), value: "7"},
		{name: "yaml-text", metadata: yaml("queues.0.text"), value: "64"},
		{name: "yaml-quantity", metadata: yaml("queues.0.size"), value: "52428800"},
		{name: "yaml-null", metadata: yaml("queues.0.none"), value: failure, says: "no data: null"},
		{name: "yaml-absent", metadata: yaml("queues.1.length"), value: failure, says: "nothing is at valueLocation"},
		{name: "yaml-infinite", metadata: yaml("endless"), value: "0", awake: true, differs: failure, says: "+Inf", reason: "what is no number is not 0"},
		{name: "yaml-too-long", metadata: yaml("queues.0.whole.more"), value: "7", differs: failure, says: "nothing is at valueLocation", reason: "a path that does not exist leads nowhere"},
		{name: "yaml-list", metadata: at("/list", "0.length", "format", "yaml"), value: failure, differs: "7", reason: "KEDA takes nothing but a mapping"},
		{name: "xml", metadata: at("/xml", "queues.queue.length", "format", "xml"), value: failure, differs: "12", reason: "KEDA's decoder of XML does not work"},
		{name: "xml-attribute", metadata: at("/xml", "queues.queue.@size", "format", "xml"), value: failure, differs: "5", reason: "KEDA's decoder of XML does not work"},
		{name: "series", metadata: exposed("done"), value: "41"},
		{name: "series-untyped", metadata: exposed("free"), value: "3"},
		{name: "series-labels", metadata: exposed(`jobs{queue="b"}`), value: "6500m"},
		{name: "series-absent", metadata: exposed(`jobs{queue="c"}`), value: failure, says: "nothing is at valueLocation"},
		{name: "series-several", metadata: exposed("jobs"), value: "5", differs: failure, says: "several series", reason: "which of several is the first says nothing"},
		{name: "series-unequal", metadata: exposed(`jobs{queue!="b"}`), value: "6500m", differs: failure, reason: "KEDA takes != for ="},
		{name: "series-nan", metadata: exposed("nothing"), value: "0", differs: failure, says: "NaN", reason: "what is no number is not 0"},
		{name: "series-histogram", metadata: exposed("s"), value: failure, says: "histogram"},
		{name: "series-sum", metadata: exposed("s_sum"), value: failure},
		{name: "parameters", metadata: behind("/parameter?queue=a&x=1"), value: "41500m"},
		{name: "status-401", metadata: behind("/closed"), value: failure, says: "401"},
		{name: "status-202", metadata: behind("/accepted"), value: failure, says: "202"},
		{name: "moved", metadata: behind("/moved"), value: "41500m"},
		{name: "moved-elsewhere", metadata: behind("/elsewhere"), value: "41500m", differs: failure, says: "redirected", reason: "credentials would go with it"},
		{name: "timeout-short", metadata: behind("/slow", "timeout", "300"), value: failure, says: "no answer"},
		{name: "timeout-long", metadata: behind("/slow", "timeout", "2500ms"), value: "41500m"},
	}
	cases = append(cases, apiAuthCases(address, behind)...)
	return append(cases, apiTLSCases(t)...)
}

func apiAuthCases(address string, behind func(door string, more ...string) map[string]string) []twinCase {
	key := map[string]string{"apiKey": "abc"}
	user := map[string]string{"username": "me", "password": "secret"}
	return []twinCase{
		{name: "key-header", metadata: behind("/key-header", "authMode", "apiKey"), secret: key, value: "41500m"},
		{name: "key-in-metadata", metadata: behind("/key-header", "authModes", "apiKey", "apiKey", "abc"), value: "41500m"},
		{name: "key-named", metadata: behind("/key-named", "authMode", "apiKey", "method", "header", "keyParamName", "X-Mine"), secret: key, value: "41500m"},
		{name: "key-query", metadata: behind("/key-query", "authMode", "apiKey", "method", "query"), secret: map[string]string{"apiKey": "a&b"}, value: "41500m"},
		{name: "key-both", metadata: behind("/key-both?queue=a", "authMode", "apiKey", "method", "query", "keyParamName", "k"), secret: key, value: "41500m"},
		{name: "key-without-mode", metadata: behind("/key-header", "apiKey", "abc"), value: failure, says: "401"},
		{name: "mode-without-key", metadata: behind("/key-header", "authMode", "apiKey"), value: failure},
		{name: "bearer", metadata: behind("/bearer", "authMode", "bearer"), secret: map[string]string{"token": "abc"}, value: "41500m"},
		{name: "basic", metadata: behind("/basic", "authModes", "basic"), secret: user, value: "41500m"},
		{
			name: "basic-in-the-url", value: "41500m",
			metadata: behind("/basic", "url", strings.Replace(address, "//", "//me:secret@", 1)+"/basic"),
		},
		{name: "custom", metadata: behind("/basic", "authModes", "custom"), secret: user, value: failure},
		{name: "bearer-and-basic", metadata: behind("/basic", "authModes", "bearer,basic"), secret: user, value: failure},
		{name: "aggregate", metadata: behind("/parameter", "aggregateFromKubeServiceEndpoints", "true"), value: failure},
	}
}

// apiTLSCases ask Prometheus's own API, for which C36 has the path.
func apiTLSCases(t *testing.T) []twinCase {
	t.Helper()
	open := prometest.Start(t, prometest.WithTLS())
	secured := prometest.Start(t, prometest.WithClientCertificates(), prometest.WithBasicAuth())
	open.Set("jobs", 42)
	secured.Set("jobs", 43)
	asked := func(s *prometest.Server, query string, more ...string) map[string]string {
		m := map[string]string{"url": s.URL() + "/api/v1/query?query=" + query, "valueLocation": "data.result.0.value.1", "targetValue": "5"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	unsafe := func(c twinCase) twinCase {
		c.keda, c.ours = map[string]string{"unsafeSsl": "true"}, map[string]string{"source.unsafeSsl": "true"}
		return c
	}
	cert, key := secured.ClientCertificate()
	both := map[string]string{
		"ca": secured.CA(), "cert": cert, "key": key, "username": prometest.User, "password": prometest.Password,
	}
	return []twinCase{
		{name: "tls-and-basic", metadata: asked(secured, "jobs", "authModes", "tls,basic"), secret: both, value: "43"},
		{name: "unknown-authority", metadata: asked(open, "jobs"), value: failure, says: "certificate signed by unknown authority"},
		unsafe(twinCase{name: "unsafe-ssl", metadata: asked(open, "jobs"), value: "42"}),
		unsafe(twinCase{name: "empty-result", metadata: asked(open, "nothing"), value: failure, says: "nothing is at valueLocation"}),
		{
			name: "authority-alone", metadata: asked(open, "jobs"), secret: map[string]string{"ca": open.CA()},
			value: failure, differs: "42", reason: "KEDA does not look at ca without authModes",
		},
	}
}
