package source

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/egress"
)

// marker is what no message may show: it stands for whatever a server has that Dashpot's pod
// can reach and those who write triggers cannot.
const marker = "planted"

// TestNothingIsReadBack: whatever a server says, and wherever, no error and no note of it
// has a word of it, and a user is told what kind of thing it was.
func TestNothingIsReadBack(t *testing.T) {
	say := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/"+marker)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	lines := func(text string) http.HandlerFunc {
		return raw(func(conn net.Conn) { _, _ = conn.Write([]byte(text)) })
	}
	move := func(code int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(code)
		}
	}
	const noHTTP = "the server does not speak HTTP, or its headers are longer than 64 KiB"
	prometheus, api := promql(nil), api(values{"valueLocation": "a"})
	in := func(format string) values { return merge(api, values{"format": format}) }
	tests := []struct {
		name     string
		metadata values
		answer   http.HandlerFunc
		says     string
	}{
		{"a banner", prometheus, lines("220 planted ESMTP\r\n"), noHTTP},
		{"a status line", prometheus, lines("HTTP/1.1 planted planted\r\n\r\n"), noHTTP},
		{"a reason phrase", prometheus, lines("HTTP/1.1 599 planted\r\n\r\n"), ": 599"},
		{"a header line", prometheus, lines("HTTP/1.1 200 OK\r\nplanted planted\r\n\r\n"), noHTTP},
		{"a length", prometheus, lines("HTTP/1.1 200 OK\r\nContent-Length: planted\r\n\r\n"), noHTTP},
		{"an encoding", prometheus, lines("HTTP/1.1 200 OK\r\nTransfer-Encoding: planted\r\n\r\n"), noHTTP},
		{"chunks", prometheus, lines("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nplanted\r\n"), "the answer breaks off: it is no HTTP"},
		{"a redirect", prometheus, move(302, "http://planted.example/planted"), "302 Found: redirected to another host, which is not followed"},
		{"a redirect to nowhere", prometheus, move(302, "http://%planted"), noHTTP},
		{"a page", prometheus, say(200, "<html>planted"), "not an answer of Prometheus: up to 16 bytes of text/html"},
		{"JSON", prometheus, say(200, `{"planted":"planted"}`), "not an answer of Prometheus, which has data: up to 32 bytes of JSON"},
		{"a type of results", prometheus, say(200, `{"data":{"resultType":"planted"}}`), "of a type that Prometheus does not have"},
		{"a result", prometheus, say(200, result("vector", `"planted"`)), "not a vector: its result is no list of series"},
		{"a sample", prometheus, say(200, vector(`"planted"`)), "a text that is no number"},
		{"an error", prometheus, say(500, `{"errorType":"planted","error":"planted"}`), "500 Internal Server Error: an error of another type"},
		{"a reason", prometheus, say(400, `{"errorType":"bad_data","error":"1:2: parse error: planted"}`), "400 Bad Request: bad_data: 1:2: parse error"},
		{"warnings", prometheus, say(200, `{"warnings":["planted"],"data":{"result":[]}}`), "the server warns of this answer"},
		{"infos", prometheus, say(200, `{"infos":["planted"],"data":{"result":[]}}`), "the server has a remark"},

		{"a page of an API", api, say(403, "planted"), "403 Forbidden"},
		{"no JSON", api, say(200, "<html>planted"), "not JSON, as format says it is: up to 16 bytes of text/html"},
		{"no YAML", in("yaml"), say(200, "planted: ["), "not YAML, as format says it is: up to 16 bytes of text/plain"},
		{"no XML", in("xml"), say(200, `{"planted":1}`), "not XML, as format says it is: up to 16 bytes of JSON"},
		{"no exposition", in("prometheus"), say(200, "planted{"), "not in the text format of Prometheus, as format says it is: up to 8 bytes of text/plain"},
		{"a text", api, say(200, `{"a":"planted"}`), "valueLocation leads to a text of up to 8 bytes, not to a number or quantity"},
		{"a mapping", api, say(200, `{"a":{"planted":1}}`), "valueLocation leads to a mapping, not to a number"},
		{"an element", in("xml"), say(200, "<a>planted</a>"), "valueLocation leads to a text of up to 8 bytes"},
		{"something else", api, say(200, `{"planted":5}`), "no data: nothing is at valueLocation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, m, triggerType := newTable(t), merge(tt.metadata), "metrics-api"
			m["url"] = fake(t, tt.answer)
			if _, ok := m["serverAddress"]; ok {
				triggerType, m["serverAddress"] = "prometheus", m["url"]
				delete(m, "url")
			}
			wantOnlyOurs(t, table, triggerType, m, tt.says)
		})
	}
}

// pemOf is a certificate as ca has it.
func pemOf(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

func wantOnlyOurs(t *testing.T, table *Table, triggerType string, m values, says string) {
	t.Helper()
	o := readOne(t, table, query(t, table, triggerType, m))
	words := o.Note
	if o.Err != nil {
		words = o.Err.Error()
	}
	if strings.Contains(strings.ToLower(words), marker) || !strings.Contains(words, says) {
		t.Errorf("got\n%s\nwant in it\n%s", words, says)
	}
}

// TestCertificatesAreNotReadBack: names in a certificate are names of others.
func TestCertificatesAreNotReadBack(t *testing.T) {
	server := httptest.NewTLSServer(status(200, ""))
	t.Cleanup(server.Close)
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	table := newTable(t)
	o := readOne(t, table, promAt(t, table, address, "up", values{"ca": pemOf(server.Certificate())}))
	const want = "tls: failed to verify certificate: x509: certificate is for other names than the one that was asked for"
	if o.Err == nil || !strings.HasSuffix(o.Err.Error(), want) || strings.Contains(o.Err.Error(), "example.com") {
		t.Errorf("got %v, want %s", o.Err, want)
	}
}

// TestRedisIsNotReadBack: what a server replies with may be no word of Redis.
func TestRedisIsNotReadBack(t *testing.T) {
	const noRedis = "the server does not answer as Redis does"
	for reply, says := range map[string]string{
		"-ERR planted":                     ": ERR",
		"-ERR DB index is out of range":    ": ERR DB index is out of range",
		"-WRONGTYPE planted":               ": WRONGTYPE: this type of trigger reads others",
		"-NOAUTH planted":                  ": NOAUTH: the server wants a password",
		"-MOVED 5 planted.example:6379":    ": MOVED: the key is on another node",
		"-LOADING planted":                 ": LOADING: ",
		"-READONLY planted":                ": READONLY: ",
		"-NOPERM planted":                  ": NOPERM: ",
		"-DENIED planted":                  ": DENIED: ",
		"-PLANTED planted":                 "an error that is none of Redis'",
		"HTTP/1.1 400 planted":             noRedis,
		"220 planted ESMTP":                noRedis,
		"+planted":                         noRedis,
		"$7\r\nplanted":                    noRedis,
		":1planted":                        noRedis,
		"*1\r\n$7\r\nplanted":              noRedis,
		"*planted":                         noRedis,
		"-NOSCRIPT planted":                ": NOSCRIPT",
		"-ERR max number of clients +1":    ": ERR",
		"-CLUSTERDOWN planted":             ": CLUSTERDOWN: ",
		"-ERR Client sent AUTH, planted":   ": ERR",
		"-WRONGPASS planted":               ": WRONGPASS: the user name or the password is wrong",
		"-WRONGTYPE key is a set, planted": ": WRONGTYPE key is a set: ",
	} {
		t.Run(reply, func(t *testing.T) {
			address := listen(t, func(conn net.Conn) {
				for buffer := make([]byte, 4096); ; {
					_, _ = fmt.Fprintf(conn, "%s\r\n", reply)
					if _, err := conn.Read(buffer); err != nil {
						return
					}
				}
			})
			table := New(Options{Addresses: egress.Everywhere(), Timeout: patience("hangs")})
			t.Cleanup(table.Close)
			wantOnlyOurs(t, table, "redis", values{"address": address, "listName": "jobs"}, says)
			if strings.HasPrefix(reply, "-ERR planted") || says == noRedis { // the first questions of these are go-redis' own
				wantOnlyOurs(t, table, "redis-cluster", values{"address": address, "listName": "jobs"}, ": ")
				wantOnlyOurs(t, table, "redis-sentinel", values{"address": address, "listName": "jobs", "sentinelMaster": "main"}, ": ")
			}
		})
	}
}

// FuzzReplied: an error of Redis' has nothing in it that is not ours.
func FuzzReplied(f *testing.F) {
	for _, said := range []string{"", "ERR planted", "WRONGTYPE key is a planted", "planted", "MOVED planted", "ERR DB index is out of range planted"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		got := replied(said + " " + marker)
		if strings.Contains(got, marker) || len(got) > 300 || strings.ContainsAny(got, "\r\n") {
			t.Errorf("%q becomes %q", said, got)
		}
	})
}
