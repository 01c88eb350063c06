package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// wantOneText reads five times and wants one text, which has a part.
func wantOneText(t *testing.T, table *Table, q scaling.Query, part string) {
	t.Helper()
	var first string
	for i := range 5 {
		got := readOne(t, table, q)
		switch {
		case got.Err == nil:
			t.Fatalf("read %d: got %v, want an error", i, got.Value)
		case i == 0:
			first = got.Err.Error()
		case got.Err.Error() != first:
			t.Errorf("the same fault has two texts:\n%s\n%s", first, got.Err)
		}
	}
	if !strings.HasPrefix(first, q.String()+": ") || !strings.Contains(first, part) || strings.Contains(first, "\n") {
		t.Errorf("got\n%s\nwant in it\n%s", first, part)
	}
}

// TestOneFaultOneTextHTTP: a fault that stays has one text.
func TestOneFaultOneTextHTTP(t *testing.T) {
	var count atomic.Int64
	moves := func(format string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			n := count.Add(1)
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, format, n)
		}
	}
	failing := func(reason string) http.HandlerFunc {
		return moves(`{"status":"error","errorType":"internal","error":"`+reason+`"}`, 500)
	}
	tests := []struct {
		name, says string
		answer     http.HandlerFunc
	}{
		{"reason", "500 Internal Server Error: internal", failing("gave up after 1m%d.003s, trace 4bf92f35")},
		{"page", "not an answer of Prometheus: up to 16 bytes of text/html", moves("<p>%d.5ms</p>", 200)},
		{"sample", "not an answer of Prometheus, which has data: up to 64 bytes of JSON", moves(`{"value":[170000000%d.5,"1"],"at":"here"}`, 200)},
		{"series", "several series, where one number is needed", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, result("vector", "["+strings.Repeat(`{"value":[1,"1"]},`, int(count.Add(1)))+`{}]`))
		}},
		{"no HTTP", ": the server does not speak HTTP, or its headers are longer than 64 KiB", raw(func(conn net.Conn) { _, _ = conn.Write([]byte("hello\r\n")) })},
		{"reset", "read tcp: read: connection reset by peer", raw(func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) })},
		{"closed", "EOF", raw(func(net.Conn) {})},
		{"broken off", "the answer breaks off: ", raw(func(conn net.Conn) {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"))
			time.Sleep(10 * time.Millisecond) // so that the headers arrive before the reset
			_ = conn.(*net.TCPConn).SetLinger(0)
		})},
		{"hangs", "no answer in time", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"hangs after its headers", "no answer in time", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := New(Options{Addresses: egress.Everywhere(), Timeout: patience(tt.name)})
			t.Cleanup(table.Close)
			count.Store(1)
			wantOneText(t, table, promAt(t, table, fake(t, tt.answer), "up", nil), tt.says)
		})
	}
	for name, address := range map[string]string{"refused": "http://" + closedPort(t), "no TLS": "https://" + strings.TrimPrefix(fake(t, status(200, "")), "http://")} {
		t.Run(name, func(t *testing.T) {
			table := newTable(t)
			wantOneText(t, table, promAt(t, table, address, "up", nil), map[string]string{
				"refused": ": dial tcp: connect: connection refused", "no TLS": "http: server gave HTTP response to HTTPS client",
			}[name])
		})
	}
}

// raw answers with what write does to the connection, which is closed after that.
func raw(write func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		write(conn)
		_ = conn.Close()
	}
}

// patience is the timeout of a test: short for what hangs, and for all else too long to
// matter on a busy machine.
func patience(name string) time.Duration {
	if strings.Contains(name, "hangs") {
		return 200 * time.Millisecond
	}
	return 2 * time.Second
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// TestExpiredCertificate: Go's own words have the time of day.
func TestExpiredCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.AddDate(1, 0, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(status(200, vector(`"7"`)))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	table := newTable(t)
	q := promAt(t, table, server.URL, "up", nil)
	wantOneText(t, table, q, ": tls: failed to verify certificate: x509: certificate is valid from 2001-02-03T04:05:06Z to 2002-02-03T04:05:06Z only")
	if invalid := (x509.CertificateInvalidError{}); !errors.As(readOne(t, table, q).Err, &invalid) {
		t.Error("the cause is lost")
	}
}

// TestOneFaultOneTextRedis: also before, while and after the breaker opens.
func TestOneFaultOneTextRedis(t *testing.T) {
	server := redistest.Start(t)
	do(t, admin(t, server.Addr()), "SET text x")
	do(t, admin(t, server.Addr()), "ACL SETUSER limited on >hunter2 ~* +ping")
	hanging := redistest.Start(t)
	hanging.Suspend()
	t.Cleanup(hanging.Resume)
	reset := listen(t, func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) })
	closed := listen(t, func(net.Conn) {})
	gone, away := closedPort(t), closedPort(t)
	tests := []struct {
		name, triggerType string
		metadata          values
		says              string
	}{
		{"refused", "redis", values{"address": gone}, ": dial tcp: connect: connection refused"},
		{"hangs", "redis", values{"address": hanging.Addr()}, ": no answer in time"},
		{"reset", "redis", values{"address": reset}, "connection reset by peer"},
		{"closed", "redis", values{"address": closed}, "EOF"},
		{"wrong type", "redis", values{"address": server.Addr(), "listName": "text"}, "WRONGTYPE key is a string"},
		{"wrong password", "redis", values{"address": server.Addr(), "username": "limited", "password": "hunter3"}, "WRONGPASS: the user name or the password is wrong"},
		{"no permission", "redis", values{"address": server.Addr(), "username": "limited", "password": "hunter2"}, "NOPERM: the ACL must allow EVAL"},
		{"no TLS", "redis", values{"address": server.Addr(), "source.enableTLS": "true"}, ": "},
		{"no sentinel", "redis-sentinel", values{"address": gone + "," + away, "sentinelMaster": "main"}, "unreachable: dial tcp: connect: connection refused"},
		{"sentinel hangs", "redis-sentinel", values{"address": hanging.Addr(), "sentinelMaster": "main"}, ": no answer in time"},
		{"no cluster", "redis-cluster", values{"address": gone + "," + away}, ": dial tcp: connect: connection refused"},
		{"a server that is no cluster", "redis-cluster", values{"address": server.Addr()}, "ERR cluster support disabled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := New(Options{Addresses: egress.Everywhere(), Timeout: patience(tt.name)})
			t.Cleanup(table.Close)
			m := values{"listName": "jobs"}
			for key, value := range tt.metadata {
				m[key] = value
			}
			wantOneText(t, table, query(t, table, tt.triggerType, m), tt.says)
		})
	}
}

// listen is a server that reads something and then ends the connection.
func listen(t *testing.T, end func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			end(conn)
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestFailuresInWords: what no test can bring about at will.
func TestFailuresInWords(t *testing.T) {
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "redis.shop", Server: "10.0.0.10:53", IsNotFound: true}}
	nested := &net.DNSError{Err: "read udp 10.0.0.1:50321->10.0.0.10:53: read: connection refused", Name: "redis", Server: "10.0.0.10:53"}
	foreign := &net.DNSError{Err: "no such host", Name: "planted", IsNotFound: true}
	broken := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	unknown := errors.New("planted")
	verify := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"no address", lookup, "dial tcp: lookup redis.shop: no such host"},
		{"no answer of the resolver", nested, "lookup redis: read udp: read: connection refused"},
		{"no address of a name that a sentinel has told", foreign, "lookup of a name that the server has given: no such host"},
		{"a connection", broken, "write tcp: write: broken pipe"},
		{"a connection, of whatever", &net.OpError{Op: "read", Net: "tcp", Err: unknown}, "read tcp"},
		{"joined", fmt.Errorf("all: %w", errors.Join(broken, lookup, broken, unknown)), "dial tcp: lookup redis.shop: no such host; write tcp: write: broken pipe"},
		{"joined otherwise", fmt.Errorf("all: %w", errors.Join(lookup, broken)), "dial tcp: lookup redis.shop: no such host; write tcp: write: broken pipe"},
		{"sentinels", fmt.Errorf(noSentinel+": %w", errors.Join(io.EOF, unknown)), noSentinel + ": EOF"},
		{"late", fmt.Errorf("dial: %w", context.DeadlineExceeded), "no answer in time"},
		{"anything else", unknown, "unknown"},
		{"an alert", &net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "remote error: tls: handshake failure"},
		{"another version", errors.New("tls: server selected unsupported protocol version 301"), "tls: no handshake, as where a server speaks no TLS or none of 1.2 or later"},
		{"a certificate of others", verify(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"planted"}}, Host: "redis"}), "tls: failed to verify certificate: x509: certificate is for other names than the one that was asked for"},
		{"a certificate by others", verify(x509.UnknownAuthorityError{Cert: &x509.Certificate{Subject: pkix.Name{CommonName: "planted"}}}), "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"a certificate that does not fit", verify(x509.CertificateInvalidError{Reason: x509.CANotAuthorizedForThisName, Detail: "planted"}), "tls: failed to verify certificate: x509: a root or intermediate certificate is not authorized to sign for this name: "},
		{"a certificate, of whatever", verify(unknown), "tls: failed to verify certificate: for a reason that only the server's certificates show"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := inWords(tt.err, "redis.shop:6379", "unknown")
			if got.Error() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if tt.name != "late" && !errors.Is(got, tt.err) {
				t.Error("the cause is lost")
			}
		})
	}
}

// TestSteady: errors of the cluster's own servers are quoted, but for what moves.
func TestSteady(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"ports", errors.New(`list: Get "https://10.96.0.1:443/apis": read tcp 10.0.0.1:54321->10.96.0.1:443: read: reset`), `list: Get "https://10.96.0.1:443/apis": read tcp: read: reset`},
		{"a resolver", errors.New("dial tcp: lookup api on 10.0.0.10:53: no such host"), "dial tcp: lookup api: no such host"},
		{"a measured time", errors.New("gave up after 1m9.003s at step 7s"), "gave up after … at step 7s"},
		{"milliseconds", errors.New("took 12ms"), "took …"},
		{"a clock", errors.New("at 2030-01-02T03:04:05Z"), "at …"},
		{"ids", errors.New("trace 4bf92f3577b34da6a3ce929d0e0e4736, request 0e1f9a2c-0000-4000-8000-000000000001, char 12"), "trace …, request …, char 12"},
		{"late", fmt.Errorf("client rate limiter: %w", context.DeadlineExceeded), "no answer in time"},
		{"not seen, and late", fmt.Errorf("pods of shop: %w: %w", scaling.ErrUnobserved, context.DeadlineExceeded), "pods of shop: not observed: context deadline exceeded"},
		{"long", errors.New(strings.Repeat("x ", 1000)), strings.Repeat("x ", 512) + "…"},
		{"lines", errors.New("a\nb"), "a b"},
	}
	for _, tt := range tests {
		got := steady(tt.err)
		if got.Error() != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if tt.name != "late" && !errors.Is(got, tt.err) {
			t.Errorf("%s: the cause is lost", tt.name)
		}
	}
}
