package policy_test

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// planted is a secret that can be told from those of other keys. It is a legal name of a
// header, and in customHeaders one has the value.
func planted(key string) string {
	if key == "customHeaders" {
		return "X-Scope-OrgID=planted-tenant,THANOS-TENANT=planted-thanos,X-Key=Key planted-key"
	}
	return "Planted-" + key
}

// TestNoSecretLeaves: every key of every trigger type that may come from a Secret has one,
// and none is in anything that is shown: the policy's names and findings, its query, and
// the errors and notes of servers that repeat what they were sent, in a header or in the
// URL's parameters.
func TestNoSecretLeaves(t *testing.T) {
	pem := []string{"ca", "cert", "key"} // which have to be good to be sent anywhere
	redis := [][]string{nil}
	sentinel := [][]string{nil, {"sentinelUsername", "sentinelPassword"}} // the server is asked only behind the sentinel
	http := [][]string{pem}
	variants := map[string][][]string{ // for each type the keys to leave out, once per reading
		"redis": redis, "redis-streams": redis, "redis-cluster": redis, "redis-cluster-streams": redis,
		"redis-sentinel": sentinel, "redis-sentinel-streams": sentinel, "prometheus": http, "metrics-api": http,
	}
	sources := source.New(source.Options{Timeout: 5 * time.Second, Addresses: egress.Everywhere()})
	t.Cleanup(sources.Close)
	parser := policy.Parser{Sources: sources}
	for _, name := range sources.Types() {
		secrets := values{}
		for _, k := range sources.Keys(name) {
			if k.Secret {
				secrets[k.Name] = planted(k.Name)
			}
		}
		if (variants[name] == nil) != (len(secrets) == 0) {
			t.Errorf("%s: a type with secrets and without a test", name)
		}
		authModes := []string{""}
		switch name {
		case "prometheus":
			authModes = []string{"", "bearer", "basic", "custom", "tls", "bearer,basic", "oauth"}
		case "metrics-api":
			authModes = []string{"apiKey", "apiKey?", "bearer", "basic", "tls", "apiKey,bearer", "oauth"}
		}
		for _, modes := range authModes {
			for _, without := range append(variants[name], nil) {
				own := maps.Clone(secrets)
				maps.DeleteFunc(own, func(key, _ string) bool { return slices.Contains(without, key) })
				for _, e := range echoes(t, name) {
					t.Run(fmt.Sprintf("%s/%s/without %v/%s", name, modes, without, e.how), func(t *testing.T) {
						checkSecrets(t, parser, sources, e, places(name, e.at, modes), own)
					})
				}
			}
		}
	}
}

// places is the metadata of a trigger at a server, but for its secrets. A ? behind a mode
// makes a parameter of its key.
func places(name, at, modes string) values {
	if name == "prometheus" {
		return values{"type": name, "serverAddress": at, "query": "up", "threshold": "5", "authModes": modes}
	}
	if name == "metrics-api" {
		m := values{"type": name, "url": at, "valueLocation": "data.resultType", "targetValue": "5"}
		mode, inQuery := strings.CutSuffix(modes, "?")
		if m["authModes"] = mode; inQuery {
			m["method"] = "query"
		}
		return m
	}
	return values{"type": name, "address": at, "listName": "jobs", "stream": "jobs", "sentinelMaster": "main"}
}

func checkSecrets(t *testing.T, parser policy.Parser, sources *source.Table, server *echo, metadata, secrets values) {
	t.Helper()
	behindKEDA := with(values{"source": metadata["type"]}, secrets)
	maps.Copy(behindKEDA, metadata)
	delete(behindKEDA, "type")
	for _, p := range []*scaling.Policy{
		parser.ParseMetric("jobs", nil, []values{metadata}, []values{secrets}),
		parser.Parse(behindKEDA),
	} {
		shown := append([]string{p.Metric, p.Record, fmt.Sprint(p.Invalid), fmt.Sprintf("%+v", *p)}, p.Warnings...)
		if p.Invalid == nil {
			q := p.Triggers[0].Query
			shown = append(shown, p.Triggers[0].Type, q.String(), q.Server(), fmt.Sprintf("%v %+v %#v %x", q, q, q, q))
			server.repeated.Store(false)
			got := sources.Read(t.Context(), []scaling.Query{q})[0]
			shown = append(shown, fmt.Sprint(got.Err, got.Note))
			if tls := metadata["authModes"] == "tls" && metadata["type"] == "metrics-api"; server.repeated.Load() == tls { // whose certificate is no echo
				t.Errorf("the server has repeated a secret: %v; it says %v", !tls, got)
			}
		}
		for _, text := range shown {
			if strings.Contains(strings.ToLower(text), "planted") || strings.Contains(text, "UGxhbnRlZC") || strings.Contains(text, fmt.Sprintf("%x", "lanted")) {
				t.Errorf("a secret shows: %s", text)
			}
		}
	}
}

// echo is a server that says what it was sent, and how it does.
type echo struct {
	how, at string
	// repeated: a secret was in it.
	repeated atomic.Bool
}

// note looks for secrets in what is said, in plain or in Basic's letters.
func (e *echo) note(said string) {
	if strings.Contains(strings.ToLower(said), "planted") || strings.Contains(said, "UGxhbnRlZC") {
		e.repeated.Store(true)
	}
}

func echoes(t *testing.T, name string) []*echo {
	t.Helper()
	if name != "prometheus" && name != "metrics-api" {
		return []*echo{echoRESP(t)}
	}
	var all []*echo
	for how, answer := range map[string]func(http.ResponseWriter, string){
		"reason": func(w http.ResponseWriter, said string) {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": said, "error": said})
		},
		"page": func(w http.ResponseWriter, said string) { _, _ = fmt.Fprintf(w, "<p>%s</p>", html.EscapeString(said)) },
		"type": func(w http.ResponseWriter, said string) { _, _ = fmt.Fprintf(w, `{"data":{"resultType":%q}}`, said) },
		"warning": func(w http.ResponseWriter, said string) {
			_, _ = fmt.Fprintf(w, `{"warnings":[%q],"data":{"result":[]}}`, said)
		},
		"value": func(w http.ResponseWriter, said string) {
			_, _ = fmt.Fprintf(w, `{"data":{"result":[{"value":[1,%q]}]}}`, said)
		},
		"move": func(w http.ResponseWriter, said string) {
			w.Header().Set("Location", "https://login."+strings.Map(func(r rune) rune {
				if strings.ContainsRune("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", r) {
					return r
				}
				return '.'
			}, said))
			w.WriteHeader(http.StatusFound)
		},
		"no HTTP": func(w http.ResponseWriter, said string) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = fmt.Fprintf(conn, "%s\r\n\r\n", strings.ReplaceAll(said, " ", "_"))
			_ = conn.Close()
		},
	} {
		e := &echo{how: how}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			delete(r.Header, "Accept-Encoding")
			delete(r.Header, "User-Agent")
			said := fmt.Sprint(r.Header)
			if user, password, ok := r.BasicAuth(); ok {
				said += user + " is not " + password
			}
			said += r.URL.RawQuery + fmt.Sprint(r.URL.Query())
			e.note(said)
			answer(w, said)
		}))
		t.Cleanup(server.Close)
		e.at = server.URL
		all = append(all, e)
	}
	return all
}

// echoRESP answers each command with an error that repeats it, but as a sentinel it says
// that it is the primary too.
func echoRESP(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	e := &echo{how: "error", at: listener.Addr().String()}
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		for buffer := make([]byte, 4096); ; {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			said := strings.ReplaceAll(string(buffer[:n]), "\r\n", " ")
			if strings.Contains(said, "get-master-addr-by-name") && !strings.Contains(strings.ToLower(said), "auth") {
				_, _ = fmt.Fprintf(conn, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
				continue
			}
			e.note(said)
			_, _ = fmt.Fprintf(conn, "-ERR what is %s?\r\n", said)
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return e
}
