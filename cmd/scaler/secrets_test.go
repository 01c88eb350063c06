package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// planted finds a secret of this test, all of which begin with that word, in plain, in
// hexadecimal, and in base64 with any number of letters before it. A basic login is
// user:password, and both are planted.
var planted = regexp.MustCompile(`(?i)planted|706c616e746564|cGxhbnRlZ|UGxhbnRlZ|BsYW50ZW|wbGFudGVk`)

// wholeProgram is the program as an operator runs it, and all that it has written.
type wholeProgram struct {
	http, grpc string
	child      *child.Process

	mu  sync.Mutex
	log strings.Builder
}

// startProgram runs the program with its log at debug, until it serves KEDA.
func startProgram(t *testing.T, args ...string) *wholeProgram {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{
		"--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--observe=off",
		"--log-level=debug", "--log-format=json",
	}, args...)...)
	cmd.Env = append(os.Environ(), programVariable+"=1", "NO_PROXY=*", "no_proxy=*")
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	var err error
	p := &wholeProgram{}
	if p.child, err = child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.child.Kill(); _ = write.Close() })
	serving := make(chan struct{})
	go p.listen(read, serving)
	select {
	case <-serving:
	case <-p.child.Done():
		t.Fatalf("the scaler ended: %v\n%s", p.child.Err(), p.said())
	case <-time.After(time.Minute):
		t.Fatalf("the scaler does not serve:\n%s", p.said())
	}
	return p
}

// listen keeps what the program writes, and finds its addresses in it.
func (p *wholeProgram) listen(from io.Reader, serving chan<- struct{}) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		var line struct {
			Msg     string `json:"msg"`
			Address string `json:"address"`
		}
		_ = json.Unmarshal(lines.Bytes(), &line) // a line that is none is kept too
		switch line.Msg {
		case "serving HTTP":
			p.http = line.Address
		case "serving KEDA":
			p.grpc = line.Address
			close(serving)
		}
		p.mu.Unlock()
	}
}

func (p *wholeProgram) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *wholeProgram) get(t *testing.T, path string) string {
	t.Helper()
	response, err := http.Get("http://" + p.http + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// guarded is an HTTP server that answers who shows the login, and tells all others what
// they have shown.
func guarded(t *testing.T, login func(*http.Request) bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login(r) {
			_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]},"jobs":12}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "error": fmt.Sprint(r.Header, r.URL, r.Header.Get("Authorization"))})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func bearer(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer planted-token" }

func basic(r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	return user == "planted-user" && password == "planted-password"
}

func refuse(*http.Request) bool { return false }

// TestPlantedSecrets runs the scaler with its log at debug, for policies that have
// passwords, tokens and logins in all their ways, at servers that take them and servers that
// refuse them, or are away, and while its own Redis is there and away. Nothing that anybody
// can see of it has a secret.
func TestPlantedSecrets(t *testing.T) {
	records := redistest.Start(t, redistest.WithArgs("--requirepass", "planted-own"))
	locked := redistest.Start(t, redistest.WithArgs("--requirepass", "planted-password"))
	open := redistest.Start(t)
	for server, password := range map[*redistest.Server]string{locked: "planted-password", open: ""} {
		fill := redis.NewClient(&redis.Options{Addr: server.Addr(), Password: password})
		defer fill.Close() //nolint:gocritic // there are two
		push(t, fill, 12)
	}
	p := startProgram(t, "--allow-address=127.0.0.0/8", "--redis-url=redis://:planted-own@"+records.Addr())

	list := func(addr string, more ...string) map[string]string {
		return with(map[string]string{"source": "redis", "address": addr, "listName": "jobs"}, more...)
	}
	prometheus := func(url string, more ...string) map[string]string {
		return with(map[string]string{"source": "prometheus", "serverAddress": url, "query": "jobs", "threshold": "5"}, more...)
	}
	api := func(url string, more ...string) map[string]string {
		return with(map[string]string{"source": "metrics-api", "url": url, "valueLocation": "jobs", "targetValue": "5"}, more...)
	}
	user := []string{"authModes", "basic", "username", "planted-user", "password", "planted-password"}
	key := []string{"authModes", "apiKey", "apiKey", "planted-key", "method", "query"}
	withLogin := strings.Replace(guarded(t, basic), "://", "://planted-user:planted-password@", 1)
	served := map[string]map[string]string{
		"redis":            list(locked.Addr(), "password", "planted-password"),
		"redis-open":       list(open.Addr(), "password", "planted-password"),
		"unknown-key":      list(open.Addr(), "credentials", "planted-password"),
		"redis-by-default": list(locked.Addr(), "username", "default", "password", "planted-password"),
		"bearer":           prometheus(guarded(t, bearer), "authModes", "bearer", "bearerToken", "planted-token"),
		"basic":            prometheus(guarded(t, basic), user...),
		"basic-in-url":     prometheus(withLogin),
		"custom": prometheus(guarded(t, func(r *http.Request) bool { return r.Header.Get("X-Key") == "planted-key" }),
			"authModes", "custom", "customAuthHeader", "X-Key", "customAuthValue", "planted-key"),
		"headers": prometheus(guarded(t, func(r *http.Request) bool { return r.Header.Get("X-Scope") == "planted-tenant" }),
			"customHeaders", "X-Scope=planted-tenant"),
		"key": api(guarded(t, func(r *http.Request) bool { return r.URL.Query().Get("api_key") == "planted-key" }), key...),
	}
	failing := map[string]map[string]string{
		"redis-wrong":        list(locked.Addr(), "password", "planted-wrong"),
		"redis-user":         list(locked.Addr(), "username", "planted-user", "password", "planted-password"),
		"redis-away":         list("127.0.0.1:1", "password", "planted-password"),
		"redis-denied":       list("169.254.169.254:6379", "password", "planted-password"),
		"redis-in-address":   list("planted-user:planted-password@" + open.Addr()),
		"redis-in-host":      with(list(""), "host", "planted-user:planted-password@127.0.0.1", "port", "6379"),
		"redis-with-at":      list("planted-password@" + open.Addr()),
		"redis-url":          list("redis://planted-user:planted-password@" + open.Addr()),
		"sentinel":           with(list(open.Addr(), "sentinelMaster", "main", "sentinelPassword", "planted-password"), "source", "redis-sentinel"),
		"cluster":            with(list(locked.Addr(), "password", "planted-wrong"), "source", "redis-cluster"),
		"bearer-refused":     prometheus(guarded(t, refuse), "authModes", "bearer", "bearerToken", "planted-token"),
		"basic-refused":      prometheus(guarded(t, refuse), user...),
		"url-refused":        prometheus(strings.Replace(guarded(t, refuse), "://", "://planted-user:planted-password@", 1)),
		"url-wrong":          prometheus("http://planted-user:planted-password@prometheus:port"),
		"headers-refused":    prometheus(guarded(t, refuse), "customHeaders", "X-Scope=planted-tenant"),
		"headers-wrong":      prometheus(guarded(t, refuse), "customHeaders", "X-Scope: planted-tenant"),
		"token-of-two-lines": prometheus(guarded(t, refuse), "authModes", "bearer", "bearerToken", "planted-token\r\nX-Planted: yes"),
		"key-refused":        api(guarded(t, refuse), key...),
		"certificate-wrong":  api("https://127.0.0.1:1", "authModes", "tls", "cert", "planted-certificate", "key", "planted-key"),
		"authority-wrong":    api("https://127.0.0.1:1", "ca", "planted-authority"),
		"misspelled":         list(open.Addr(), "pasword", "planted-password"),
		"no-such-source":     with(list(open.Addr(), "password", "planted-password"), "source", "rediss"),
		"shadow":             list(locked.Addr(), "password", "planted-wrong", "behavior", "{}", "shadow", "true"),
		"stabilised":         list(locked.Addr(), "password", "planted-wrong", "behavior", "{}"),
	}
	shown := map[string]string{}
	client := pb.NewExternalScalerClient(dial(t, p.grpc))
	ask := func(policies map[string]map[string]string, want float64) {
		for name, metadata := range policies {
			shown["gRPC of "+name] += callAll(t, client, name, metadata, want)
		}
	}
	ask(served, 12)
	ask(failing, none)
	dump(t, records, shown)
	records.Kill()
	ask(failing, none)
	shown["/metrics"], shown["/v1/policies"] = p.get(t, "/metrics"), p.get(t, "/v1/policies")
	shown["/readyz"], shown["/healthz"] = p.get(t, "/readyz"), p.get(t, "/healthz")
	shown["the log"] = p.said()
	for where, text := range shown {
		if at := planted.FindStringIndex(text); at != nil {
			t.Errorf("%s has a secret: …%s…", where, text[max(0, at[0]-200):min(len(text), at[1]+60)])
		}
	}
	for where, name := range map[string]string{"/metrics": "bearer-refused", "/v1/policies": "redis-wrong", "the log": "basic-refused", "the records": "stabilised"} {
		if !strings.Contains(shown[where], name) {
			t.Errorf("%s says nothing of %s, so that it was no proof:\n%s", where, name, shown[where])
		}
	}
}

func with(metadata map[string]string, more ...string) map[string]string {
	metadata = maps.Clone(metadata)
	for pair := range slices.Chunk(more, 2) {
		metadata[pair[0]] = pair[1]
	}
	return metadata
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// none is the number of a policy that fails.
const none = -1.0

// callAll makes all of KEDA's calls for one policy, and returns everything that comes back.
// want is the number to get, or none.
func callAll(t *testing.T, client pb.ExternalScalerClient, name string, metadata map[string]string, want float64) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ref := &pb.ScaledObjectRef{Namespace: "shop", Name: name, ScalerMetadata: metadata}
	spec, err := client.GetMetricSpec(ctx, ref)
	said := fmt.Sprint(spec, told(err))
	got := none
	for range 100 { // a machine that is busy has no reading within the patience
		metrics, err := client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref})
		said += fmt.Sprint(metrics, told(err))
		if values := metrics.GetMetricValues(); len(values) == 1 {
			got = values[0].MetricValueFloat
		}
		if got == want {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if got != want {
		t.Errorf("%s: got %v of %s; want %v", name, got, said, want)
	}
	active, err := client.IsActive(ctx, ref)
	said += fmt.Sprint(active, told(err))
	stream, err := client.StreamIsActive(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	cancelled := time.AfterFunc(100*time.Millisecond, cancel)
	defer cancelled.Stop()
	event, err := stream.Recv()
	return said + fmt.Sprint(event, told(err))
}

// told is all that a client learns of an error.
func told(err error) string {
	s := status.Convert(err)
	return fmt.Sprint(err, s.Message(), s.Details())
}

// dump adds all that the records' Redis has.
func dump(t *testing.T, records *redistest.Server, shown map[string]string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: records.Addr(), Password: "planted-own"})
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		fields, err := client.HGetAll(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		shown["the records"] += fmt.Sprintln(key, fields)
	}
}
