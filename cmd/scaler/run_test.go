package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/process/certtest"
	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// patience is how long a test waits for what has to happen. It is no measure.
const patience = 30 * time.Second

// scaler is one run() of the program.
type scaler struct {
	t              *testing.T
	http           string
	announced      chan [2]string // message and address
	cancel         context.CancelFunc
	ended          chan error
	grpcListenerAt string
}

// startScaler runs the program on free ports, with what a command line says, until
// the test ends.
func startScaler(t *testing.T, args ...string) *scaler {
	t.Helper()
	o, err := parse(append([]string{"--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--observe=off", "--allow-address=127.0.0.0/8"}, args...),
		func(string) string { return "" }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &scaler{t: t, announced: make(chan [2]string, 10), cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- run(ctx, o, slog.New(slog.NewJSONHandler(s, nil))) }()
	t.Cleanup(cancel)
	s.http = s.address("serving HTTP")
	return s
}

// Write takes the lines of the log, and keeps the addresses.
func (s *scaler) Write(line []byte) (int, error) {
	var entry struct {
		Msg     string `json:"msg"`
		Address string `json:"address"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		s.t.Errorf("log line %q: %v", line, err)
	}
	if entry.Address != "" {
		s.announced <- [2]string{entry.Msg, entry.Address}
	}
	return len(line), nil
}

// address waits for the log to tell an address.
func (s *scaler) address(message string) string {
	s.t.Helper()
	select {
	case said := <-s.announced:
		if said[0] != message {
			s.t.Fatalf("the log says %q; want %q", said[0], message)
		}
		return said[1]
	case err := <-s.ended:
		s.t.Fatalf("run ended before it said %q: %v", message, err)
	case <-time.After(patience):
		s.t.Fatalf("run did not say %q", message)
	}
	return ""
}

// dial connects to the gRPC server, once it serves.
func (s *scaler) dial(transport credentials.TransportCredentials) *grpc.ClientConn {
	s.t.Helper()
	if s.grpcListenerAt == "" {
		s.grpcListenerAt = s.address("serving KEDA")
	}
	conn, err := grpc.NewClient(s.grpcListenerAt, grpc.WithTransportCredentials(transport))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *scaler) client() pb.ExternalScalerClient {
	s.t.Helper()
	return pb.NewExternalScalerClient(s.dial(insecure.NewCredentials()))
}

// request makes an HTTP request and returns its answer.
func (s *scaler) request(method, path string) (status int, body string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.http+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// want checks the answer of an HTTP request.
func (s *scaler) want(method, path string, status int, text string) {
	s.t.Helper()
	if got, body := s.request(method, path); got != status || !strings.Contains(body, text) {
		s.t.Errorf("%s %s: %d %s; want %d with %q", method, path, got, body, status, text)
	}
}

// end does what SIGTERM does, and expects an orderly end.
func (s *scaler) end() {
	s.t.Helper()
	s.cancel()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("run ended with %v; want nil", err)
		}
	case <-time.After(patience):
		s.t.Error("run did not end")
	}
}

// queue is a Redis server with a list, and a client that fills it.
func queue(t *testing.T) (*redistest.Server, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

func push(t *testing.T, client *redis.Client, jobs int) {
	t.Helper()
	for range jobs {
		if err := client.RPush(t.Context(), "jobs", "job").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// worker is a ScaledObject over the list of a server.
func worker(server *redistest.Server, extra ...string) *pb.ScaledObjectRef {
	metadata := map[string]string{
		"scalerAddress": "dashpot:9090", "source": "redis", "address": server.Addr(), "listName": "jobs", "listLength": "5",
	}
	for i := 0; i < len(extra); i += 2 {
		metadata[extra[i]] = extra[i+1]
	}
	return &pb.ScaledObjectRef{Namespace: "shop", Name: "worker", ScalerMetadata: metadata}
}

// ask does what KEDA does at a poll: the spec, then the metric of that name.
func ask(t *testing.T, client pb.ExternalScalerClient, ref *pb.ScaledObjectRef) (target, value float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	spec, err := client.GetMetricSpec(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: spec.MetricSpecs[0].MetricName})
	for status.Code(err) == codes.Unavailable { // a machine that is busy has no reading within the patience
		time.Sleep(200 * time.Millisecond)
		metrics, err = client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: spec.MetricSpecs[0].MetricName})
	}
	if err != nil {
		t.Fatal(err)
	}
	return spec.MetricSpecs[0].TargetSizeFloat, metrics.MetricValues[0].MetricValueFloat
}

// TestRun is a life of the scaler on the memory store: metrics, the trace, a poke
// that wakes an open stream, and an end that breaks nothing off.
func TestRun(t *testing.T) {
	server, jobs := queue(t)
	s := startScaler(t)
	client := s.client()
	s.want("GET", "/healthz", 200, "ok")
	s.want("GET", "/readyz", 200, "ok")
	s.want("POST", "/v1/poke/shop/worker", 404, "no stream of this object is open")

	ref := worker(server, "behavior", "{}", "metricName", "jobs", "maxReplicaCount", "20")
	stream, err := client.StreamIsActive(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the stream is watched", func() bool {
		status, _ := s.request("GET", "/v1/policies/shop/worker")
		return status == 200
	})
	push(t, jobs, 37)
	s.want("POST", "/v1/poke/shop/worker", 202, `"poked": "shop/worker"`)
	if answer, err := stream.Recv(); err != nil || !answer.Result {
		t.Errorf("stream: %v, error %v; want true", answer, err)
	}
	if target, value := ask(t, client, ref); target != 1 || value != 8 {
		t.Errorf("value %v at target %v; want the 8 replicas that 37 jobs need", value, target)
	}

	s.want("GET", "/v1/policies/shop/worker", 200, `"replicas": 8`)
	s.want("GET", "/v1/policies", 200, `"OpenLoop"`)
	s.want("GET", "/metrics", 200, `dashpot_policy_decided_replicas{kind="ScaledObject",name="worker",namespace="shop",record="jobs"} 8`)
	s.want("GET", "/metrics", 200, `dashpot_rpc_duration_seconds_count{code="OK",method="/externalscaler.ExternalScaler/GetMetrics"} 1`)
	s.want("DELETE", "/v1/policies/shop/worker", 200, `"forgotten": 1`)

	s.end()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v; want OK", err)
	}
	if conn, err := net.Dial("tcp", s.http); err == nil {
		_ = conn.Close()
		t.Error("HTTP is still served")
	}
}

// TestTwoReplicas share a Redis: a decision of one is the other's, and a poke of one
// reaches the stream of the other.
func TestTwoReplicas(t *testing.T) {
	server, jobs := queue(t)
	first, second := startScaler(t, "--redis-url="+server.URL()), startScaler(t, "--redis-url="+server.URL())
	ref := worker(server, "behavior", "{}", "maxReplicaCount", "20")
	one, two := first.client(), second.client()
	stream, err := two.StreamIsActive(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the stream is watched", func() bool {
		status, _ := second.request("GET", "/v1/policies/shop/worker")
		return status == 200
	})
	push(t, jobs, 37)
	first.want("POST", "/v1/poke/shop/worker", 202, "shop/worker")
	if answer, err := stream.Recv(); err != nil || !answer.Result {
		t.Errorf("stream: %v, error %v; want true", answer, err)
	}
	if err := jobs.Del(t.Context(), "jobs").Err(); err != nil {
		t.Fatal(err)
	}
	if _, value := ask(t, one, ref); value != 8 {
		t.Errorf("the first replica sends %v; want the 8 that the second has decided", value)
	}
	first.end()
	second.end()
}

// TestStartWithoutRedis waits for it without serving KEDA, says so, and once it has
// answered goes on without it.
func TestStartWithoutRedis(t *testing.T) {
	server, _ := queue(t)
	server.Kill()
	s := startScaler(t, "--redis-url="+server.URL())
	until(t, "the reason is told", func() bool {
		status, body := s.request("GET", "/readyz")
		return status == 503 && strings.Contains(body, "store: ping Redis")
	})
	s.want("GET", "/healthz", 200, "ok")
	if len(s.announced) > 0 {
		t.Errorf("not ready, and the log says %q", <-s.announced)
	}
	server.Restart()
	client := s.client()
	s.want("GET", "/readyz", 200, "ok")
	server.Kill()
	s.want("GET", "/readyz", 200, "ok")
	if _, err := client.GetMetricSpec(t.Context(), worker(server)); err != nil {
		t.Error(err)
	}
	s.end()
}

// TestStartWithoutCluster is alive and not ready for as long as nobody answers, be it
// to learn the instance or to observe, and ends in order all the same.
func TestStartWithoutCluster(t *testing.T) {
	file := kubeconfig(t, "http://127.0.0.1:1")
	for _, test := range []struct{ flag, reason string }{
		{"--redis-url=redis://127.0.0.1:1", "cluster: identify the cluster"},
		{"--instance=test", "cluster: ScaledObjects are not listed yet"},
	} {
		s := startScaler(t, test.flag, "--observe=auto", "--kubeconfig="+file)
		until(t, "the reason is told", func() bool {
			status, body := s.request("GET", "/readyz")
			return status == 503 && strings.Contains(body, test.reason)
		})
		s.want("GET", "/healthz", 200, "ok")
		s.end()
	}
}

// TestMutualTLS refuses who shows no certificate, or that of another authority.
func TestMutualTLS(t *testing.T) {
	ours, theirs := certtest.NewAuthority(t, "ours"), certtest.NewAuthority(t, "theirs")
	dir := t.TempDir()
	cert, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	pair := ours.Issue(t, "scaler")
	certtest.Write(t, cert, pair.Cert)
	certtest.Write(t, key, pair.Key)
	certtest.Write(t, ca, ours.PEM)
	s := startScaler(t, "--tls-cert="+cert, "--tls-key="+key, "--tls-client-ca="+ca)
	for _, test := range []struct {
		name      string
		transport credentials.TransportCredentials
		served    bool
	}{
		{"our client", credentials.NewTLS(ours.Client(t, ours.Issue(t, "keda"))), true},
		{"client without a certificate", credentials.NewTLS(ours.Client(t)), false},
		{"client of another authority", credentials.NewTLS(ours.Client(t, theirs.Issue(t, "keda"))), false},
		{"client without TLS", insecure.NewCredentials(), false},
	} {
		health := healthpb.NewHealthClient(s.dial(test.transport))
		answer, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "readiness"})
		if served := err == nil && answer.Status == healthpb.HealthCheckResponse_SERVING; served != test.served {
			t.Errorf("%s: served %v, error %v; want %v", test.name, served, err, test.served)
		}
	}
	s.end()
}

func TestDecisionIsJSONWithItsTrace(t *testing.T) {
	server, jobs := queue(t)
	push(t, jobs, 12)
	s := startScaler(t)
	if target, value := ask(t, s.client(), worker(server)); target != 5 || value != 12 {
		t.Errorf("value %v at target %v; want the reading as KEDA's own trigger sends it", value, target)
	}
	_, body := s.request("GET", "/v1/policies/shop/worker")
	var shown struct {
		Policies []scaling.Explanation `json:"policies"`
	}
	if err := json.Unmarshal([]byte(body), &shown); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if len(shown.Policies) != 1 || shown.Policies[0].Mode != scaling.PassThrough || shown.Policies[0].Triggers[0].Value != 12 {
		t.Errorf("shows %s; want one pass-through policy with its reading of 12", body)
	}
	s.end()
}

func TestRunFailsForAPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, flag := range []string{"--grpc-address=", "--http-address="} {
		o, err := parse([]string{"--observe=off", "--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", flag + listener.Addr().String()},
			func(string) string { return "" }, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), o, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%s: ended with %v; want the reason", flag, err)
		}
	}
}

// until waits for something that has to happen.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !happened() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not happen", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
