package source

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// reaching is a table whose triggers may lead to the networks.
func reaching(t *testing.T, networks ...string) *Table {
	t.Helper()
	rules, err := egress.Parse(networks, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := New(Options{Addresses: rules, Timeout: time.Minute})
	t.Cleanup(table.Close)
	return table
}

// triggersAt are triggers of each type that connects to anything, at one address.
func triggersAt(address string) map[string]values {
	redis := values{"address": address, "listName": "jobs", "stream": "jobs", "sentinelMaster": "main"}
	all := map[string]values{
		"prometheus":  {"serverAddress": "http://" + address, "query": "jobs", "threshold": "5"},
		"metrics-api": {"url": "http://" + address, "valueLocation": "jobs", "targetValue": "5"},
	}
	for _, name := range []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"} {
		all[name] = redis
	}
	return all
}

// wantDenied reads a trigger, and wants the rule named.
func wantDenied(t *testing.T, table *Table, name string, metadata values, rule string) {
	t.Helper()
	got := readTrigger(t, table, name, metadata)
	if got.Err == nil || !strings.Contains(got.Err.Error(), rule+" are denied to triggers") {
		t.Errorf("%s at %v: got %v, want it denied for %s", name, metadata, got, rule)
	}
}

func readTrigger(t *testing.T, table *Table, name string, metadata values) scaling.Outcome {
	t.Helper()
	trigger, _, _ := parse(table, name, metadata)
	return readOne(t, table, trigger.Query)
}

// TestDeniedAddresses: no type of trigger gets to where nothing may lead, however it is
// written, and whether or not anybody listens there.
func TestDeniedAddresses(t *testing.T) {
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const loopback, linkLocal = "127.0.0.0/8 (loopback)", "169.254.0.0/16 (link-local, with clouds' metadata)"
	table := reaching(t)
	for host, rule := range map[string]string{
		"127.0.0.1": loopback, "::ffff:127.0.0.1": loopback, "localhost": "(loopback)", "::1": "::1/128 (loopback)",
		"0.0.0.0": "0.0.0.0/8 (this host)", "169.254.169.254": linkLocal, "::ffff:169.254.169.254": linkLocal,
		"64:ff9b::169.254.169.254": linkLocal, "fd00:ec2::254": "fd00:ec2::/32 (metadata of AWS)",
	} {
		for name, metadata := range triggersAt(net.JoinHostPort(host, port)) {
			wantDenied(t, table, name, metadata, rule)
		}
	}
	if asked > 0 {
		t.Errorf("a server that is denied was asked %d times", asked)
	}
}

// TestSocketsAreNoAddress: go-redis takes an address that begins with a slash for a socket in
// the file system.
func TestSocketsAreNoAddress(t *testing.T) {
	path := t.TempDir() + "/redis.sock:1"
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, metadata := range triggersAt(path) {
		if _, _, m := parse(newTable(t), name, metadata); m.Err() == nil || !strings.Contains(m.Err().Error(), "must be") {
			t.Errorf("%s: got error %v, want one about the address", name, m.Err())
		}
	}
	client := redisServer{addresses: path}.connect(time.Minute, egress.Dialer{Rules: egress.Everywhere()})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); !errors.As(err, new(egress.DeniedError)) {
		t.Errorf("got %v, want it denied", err)
	}
}

// TestServersThatLeadElsewhere: a server that is allowed names one that is not, as a sentinel
// its primary, or as a node of a cluster another.
func TestServersThatLeadElsewhere(t *testing.T) {
	const rule = "169.254.0.0/16 (link-local, with clouds' metadata)"
	liar := lyingRedis(t, "169.254.169.254", "6379")
	table := reaching(t, "127.0.0.0/8")
	for _, name := range []string{"redis-sentinel", "redis-cluster", "redis-sentinel-streams", "redis-cluster-streams"} {
		wantDenied(t, table, name, triggersAt(liar)[name], rule)
	}
}

// lyingRedis says as a sentinel that the primary is elsewhere, and as a node of a cluster
// that all slots are.
func lyingRedis(t *testing.T, host, port string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		for buffer := make([]byte, 4096); ; {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			said := strings.ToLower(string(buffer[:n]))
			switch {
			case strings.Contains(said, "get-master-addr-by-name"):
				_, _ = fmt.Fprintf(conn, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
			case strings.Contains(said, "slots"):
				_, _ = fmt.Fprintf(conn, "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$1\r\na\r\n", len(host), host, port)
			default:
				_, _ = fmt.Fprint(conn, "-ERR unknown command\r\n")
			}
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
	return listener.Addr().String()
}

// TestRedirectsAreChecked: a redirect to another host is not followed, and one that would be
// is dialled as anything else.
func TestRedirectsAreChecked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	t.Cleanup(server.Close)
	table := reaching(t, "127.0.0.1")
	for to, want := range map[string]string{
		"http://169.254.169.254/latest/meta-data": "redirected to another host, which is not followed",
		"http://127.0.0.2/":                       "redirected to another host, which is not followed",
		"http://[::ffff:127.0.0.1]/":              "redirected to another host, which is not followed",
		"file:///etc/passwd":                      "redirected to another host, which is not followed",
	} {
		got := readTrigger(t, table, "metrics-api", values{"url": server.URL + "?to=" + url.QueryEscape(to), "valueLocation": "jobs", "targetValue": "5"})
		if got.Err == nil || !strings.Contains(got.Err.Error(), want) {
			t.Errorf("a redirect to %s: got %v, want %s", to, got, want)
		}
	}
	// Were it followed, this is what it would meet.
	rules, err := egress.Parse([]string{"127.0.0.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	credulous := http.Client{Transport: newRoutes(nil, egress.Dialer{Rules: rules}, direct)}
	response, err := credulous.Get(server.URL + "?to=" + url.QueryEscape("http://127.0.0.2:1/"))
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.As(err, new(egress.DeniedError)) {
		t.Errorf("a redirect that is followed: got %v, want it denied", err)
	}
}

func direct(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // as http.ProxyFromEnvironment

// TestProxies: the operator's proxy may be anywhere, and is asked for nothing that is denied.
func TestProxies(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: newRoutes(nil, egress.Dialer{}, func(*http.Request) (*url.URL, error) { return at, nil })}
	defer client.CloseIdleConnections()
	for target, denied := range map[string]bool{
		"http://203.0.113.7/jobs": false, "http://metrics.invalid/jobs": false,
		"http://169.254.169.254/jobs": true, "http://localhost/jobs": true, "http://[::ffff:127.0.0.1]/jobs": true,
	} {
		response, err := client.Get(target)
		if err == nil {
			_ = response.Body.Close()
		}
		if errors.As(err, new(egress.DeniedError)) != denied || (err != nil) != denied {
			t.Errorf("%s: got %v, want denied %v", target, err, denied)
		}
		if !denied {
			if got := <-asked; got != target {
				t.Errorf("the proxy was asked for %s, want %s", got, target)
			}
		}
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}
}
