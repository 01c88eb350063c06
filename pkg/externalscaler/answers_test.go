package externalscaler_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

var update = flag.Bool("update", false, "rewrite testdata; commit the difference only if you understand it")

// situation is something that can be the matter with a trigger.
type situation struct {
	name string
	// change is what differs in the metadata; an empty value removes the key.
	change map[string]string
	// source replaces the real one.
	source sourceFunc
}

type sourceFunc func(ctx context.Context, queries []scaling.Query) []scaling.Outcome

func (f sourceFunc) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	return f(ctx, queries)
}

// reads answers every query with one value.
func reads(value float64) sourceFunc {
	return func(_ context.Context, queries []scaling.Query) []scaling.Outcome {
		outcomes := make([]scaling.Outcome, len(queries))
		for i := range outcomes {
			outcomes[i].Value = value
		}
		return outcomes
	}
}

// hangs answers nothing until it is given up.
func hangs(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	<-ctx.Done()
	outcomes := make([]scaling.Outcome, len(queries))
	for i := range outcomes {
		outcomes[i].Err = ctx.Err()
	}
	return outcomes
}

func situations(closedPort string) []situation {
	return []situation{
		{name: "37 jobs"},
		{name: "empty queue", change: map[string]string{"listName": "empty"}},
		{name: "key of a wrong Redis type", change: map[string]string{"listName": "text"}},
		{name: "unknown source", change: map[string]string{"source": "rabbit"}},
		{name: "missing key", change: map[string]string{"listName": ""}},
		{name: "target 0", change: map[string]string{"listLength": "0"}},
		{name: "negative reading", source: reads(-1)},
		{name: "NaN", source: reads(math.NaN())},
		{name: "infinity", source: reads(math.Inf(1))},
		{name: "source timeout", source: hangs},
		{name: "source down", change: map[string]string{"address": closedPort}},
	}
}

// observerFunc makes a function an Observer.
type observerFunc func() (scaling.Observation, error)

func (f observerFunc) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	return f()
}

// views are what the cluster shows: P, the workload's replicas.
var views = []struct {
	name    string
	observe observerFunc
}{
	{"P = 0", func() (scaling.Observation, error) { return deployment(0), nil }},
	{"P = 4", func() (scaling.Observation, error) { return deployment(4), nil }},
	{"P unknown", func() (scaling.Observation, error) {
		return scaling.Observation{OpenLoop: true, Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true}, nil
	}},
	{"not seen yet", func() (scaling.Observation, error) {
		return scaling.Observation{}, fmt.Errorf("ScaledObject shop/worker: %w", scaling.ErrUnobserved)
	}},
}

func deployment(replicas int32) scaling.Observation {
	return scaling.Observation{
		Target: "apps/Deployment/worker", Spec: replicas, Status: replicas,
		Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true,
	}
}

// TestAnswers writes down what every RPC answers in every situation, through the
// real parser, sources, evaluator and watcher.
func TestAnswers(t *testing.T) {
	address, closedPort := redisWithJobs(t), closedPort(t)
	for mode, metadata := range map[string]map[string]string{
		"pass-through": {},
		"stabilised":   {"behavior": "scaleDown: {stabilizationWindowSeconds: 60}", "cooldownPeriod": "60"},
	} {
		t.Run(mode, func(t *testing.T) {
			maps.Copy(metadata, map[string]string{"source": "redis", "address": address, "listName": "jobs", "listLength": "5"})
			var text strings.Builder
			for _, s := range situations(closedPort) {
				fmt.Fprintf(&text, "%s\n", s.name)
				for i, view := range views {
					synctest.Test(t, func(t *testing.T) { s.ask(t, &text, metadata, view.name, view.observe, i == 0) })
				}
				text.WriteString("\n")
			}
			got := strings.NewReplacer(address, "redis:6379", closedPort, "closed:6379").Replace(text.String())
			golden(t, "answers-"+mode+".txt", got)
		})
	}
}

// ask calls all RPCs as one ScaledObject's KEDA would, and keeps the stream open for
// ten seconds.
func (s situation) ask(t *testing.T, text *strings.Builder, metadata map[string]string, view string, observe observerFunc, first bool) {
	t.Helper()
	metadata = maps.Clone(metadata)
	for key, value := range s.change {
		if metadata[key] = value; value == "" {
			delete(metadata, key)
		}
	}
	table := source.New(source.Options{Addresses: egress.Everywhere()})
	var from scaling.Source = table
	if s.source != nil {
		from = s.source
	}
	evaluator := scaling.NewEvaluator(scaling.Options{Source: from, Store: memstore.New(), Observer: observe})
	watcher := watch.New(evaluator, from, watch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- watcher.Run(ctx) }()
	p := serve(t, externalscaler.New(evaluator, policy.Parser{Sources: table}, watcher, nil), externalscaler.Options{})
	c, ref := pb.NewExternalScalerClient(p.conn), worker(metadata)
	if first {
		fmt.Fprintf(text, "  %-13s GetMetricSpec     %s\n", "any P", metricSpec(t, c, ref))
		fmt.Fprintf(text, "  %-13s StreamMetricSpec  %s\n", "", streamedSpec(t, c, ref))
	}
	fmt.Fprintf(text, "  %-13s GetMetrics        %s\n", view, metrics(t, c, ref))
	fmt.Fprintf(text, "  %-13s IsActive          %s\n", "", active(t, c, ref))
	fmt.Fprintf(text, "  %-13s StreamIsActive    %s\n", "", pushes(t, c, ref))
	cancel()
	<-ran
	table.Close()
	// A read that nobody waits for any more, or a dial, ends by itself.
	time.Sleep(time.Minute)
}

func metricSpec(t *testing.T, c pb.ExternalScalerClient, ref *pb.ScaledObjectRef) string {
	t.Helper()
	answer, err := c.GetMetricSpec(t.Context(), ref)
	if err != nil {
		return failure(err)
	}
	spec := answer.GetMetricSpecs()[0]
	return fmt.Sprintf("%s, target %v", spec.GetMetricName(), spec.GetTargetSizeFloat())
}

func streamedSpec(t *testing.T, c pb.ExternalScalerClient, ref *pb.ScaledObjectRef) string {
	t.Helper()
	stream, err := c.StreamMetricSpec(t.Context(), ref)
	if err != nil {
		return failure(err)
	}
	_, err = stream.Recv()
	return failure(err)
}

func metrics(t *testing.T, c pb.ExternalScalerClient, ref *pb.ScaledObjectRef) string {
	t.Helper()
	answer, err := c.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref})
	if err != nil {
		return failure(err)
	}
	return fmt.Sprint(answer.GetMetricValues()[0].GetMetricValueFloat())
}

func active(t *testing.T, c pb.ExternalScalerClient, ref *pb.ScaledObjectRef) string {
	t.Helper()
	answer, err := c.IsActive(t.Context(), ref)
	if err != nil {
		return failure(err)
	}
	return fmt.Sprint(answer.GetResult())
}

func pushes(t *testing.T, c pb.ExternalScalerClient, ref *pb.ScaledObjectRef) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(10*time.Second, cancel).Stop()
	start := time.Now()
	stream, err := c.StreamIsActive(ctx, ref)
	if err != nil {
		return failure(err)
	}
	var heard []string
	for {
		if _, err := stream.Recv(); err != nil && ctx.Err() == nil {
			return failure(err)
		} else if err != nil {
			break
		}
		heard = append(heard, time.Since(start).Round(100*time.Millisecond).String())
	}
	if heard == nil {
		return "open, silent"
	}
	return "open, true after " + strings.Join(heard, ", ")
}

func failure(err error) string {
	s := status.Convert(err)
	return s.Code().String() + ": " + s.Message()
}

// redisWithJobs is a Redis with 37 jobs, and a key that is no queue.
func redisWithJobs(t *testing.T) string {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	for range 37 {
		if err := client.RPush(t.Context(), "jobs", "job").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Set(t.Context(), "text", "jobs", 0).Err(); err != nil {
		t.Fatal(err)
	}
	return server.Addr()
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(data), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("%s:%d:\n got %s\nwant %s", path, i+1, g, w)
		}
	}
}
