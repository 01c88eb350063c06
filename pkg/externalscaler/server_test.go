package externalscaler_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

func TestDeadline(t *testing.T) {
	hangs := func(ctx context.Context, _ scaling.Request) scaling.Answer {
		<-ctx.Done()
		return scaling.Answer{Err: ctx.Err()}
	}
	synctest.Test(t, func(t *testing.T) {
		c := client(t, hangs, externalscaler.Options{})
		start := time.Now()
		_, err := c.IsActive(t.Context(), worker(nil))
		wantStatus(t, "IsActive", err, codes.DeadlineExceeded)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("answered after %v, want 2s", took)
		}
	})
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	var seen codes.Code
	options := externalscaler.Options{
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
		Observe: func(_ string, code codes.Code, _ time.Duration) { seen = code },
	}
	panics := func(context.Context, scaling.Request) scaling.Answer { panic("secret") }
	panicsToo := func(context.Context, scaling.Ref, *scaling.Policy, func() error) error { panic("secret") }
	p := serve(t, externalscaler.New(evaluatorFunc(panics), parserFunc(jobsPolicy), watcherFunc(panicsToo), nil), options)
	c := pb.NewExternalScalerClient(p.conn)

	_, unary := c.IsActive(t.Context(), worker(nil))
	stream, err := c.StreamIsActive(t.Context(), worker(nil))
	if err != nil {
		t.Fatal(err)
	}
	_, streamed := stream.Recv()
	for _, err := range []error{unary, streamed} {
		wantStatus(t, "call", err, codes.Internal)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the client was told %q", err)
		}
	}
	if seen != codes.Internal || strings.Count(log.String(), "panic=secret") != 2 {
		t.Errorf("observed %v, logged %q; want Internal and both panics", seen, log.String())
	}
}

func TestObserve(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	synctest.Test(t, func(t *testing.T) {
		c := client(t, func(context.Context, scaling.Request) scaling.Answer {
			time.Sleep(time.Second)
			return scaling.Answer{Err: scaling.ErrNotRead}
		}, externalscaler.Options{Observe: func(method string, code codes.Code, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %v %v", method, code, took))
		}})
		_, _ = c.GetMetricSpec(t.Context(), worker(nil))
		_, _ = c.IsActive(t.Context(), worker(nil))
		stream, _ := c.StreamIsActive(t.Context(), worker(nil))
		_, _ = stream.Recv()
	})
	want := []string{
		"/externalscaler.ExternalScaler/GetMetricSpec OK 0s",
		"/externalscaler.ExternalScaler/IsActive Unavailable 1s",
		"/externalscaler.ExternalScaler/StreamIsActive OK 0s",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("observed %q, want %q", seen, want)
	}
}

func TestHealth(t *testing.T) {
	health := externalscaler.NewHealth()
	service := externalscaler.New(decides(scaling.Answer{}), parserFunc(jobsPolicy), watcherFunc(noWatch), nil)
	p := serve(t, service, externalscaler.Options{Health: health})
	c := healthpb.NewHealthClient(p.conn)
	check := func(when string, want map[string]healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for service, status := range want {
			got, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || got.GetStatus() != status {
				t.Errorf("%s: %q is %v, %v; want %v", when, service, got.GetStatus(), err, status)
			}
		}
	}
	const up, down = healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING
	check("at start", map[string]healthpb.HealthCheckResponse_ServingStatus{"": down, "readiness": down, "liveness": up})
	health.SetReady(true)
	check("ready", map[string]healthpb.HealthCheckResponse_ServingStatus{"": up, "readiness": up, "liveness": up})
	health.SetAlive(false)
	check("stuck", map[string]healthpb.HealthCheckResponse_ServingStatus{"": up, "readiness": up, "liveness": down})
}

func TestReflection(t *testing.T) {
	service := externalscaler.New(decides(scaling.Answer{}), parserFunc(jobsPolicy), watcherFunc(noWatch), nil)
	closed, err := reflectionpb.NewServerReflectionClient(serve(t, service, externalscaler.Options{}).conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("without being asked for, it answers %v; want Unimplemented", err)
	}
	p := serve(t, service, externalscaler.Options{Reflection: true})
	stream, err := reflectionpb.NewServerReflectionClient(p.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	for _, want := range []string{"externalscaler.ExternalScaler", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("services are %v, want %s among them", names, want)
		}
	}
}

// asleep is a world without work.
type asleep struct{}

func (asleep) Answer(context.Context, scaling.Request) scaling.Answer     { return scaling.Answer{} }
func (asleep) Evaluate(context.Context, scaling.Request) scaling.Decision { return scaling.Decision{} }
func (asleep) Read(_ context.Context, q []scaling.Query) []scaling.Outcome {
	return make([]scaling.Outcome, len(q))
}

// watching serves a real watcher that runs until the test ends.
func watching(t *testing.T) (*watch.Watcher, *inProcess) {
	t.Helper()
	watcher := watch.New(asleep{}, asleep{}, watch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- watcher.Run(ctx) }()
	p := serve(t, externalscaler.New(asleep{}, parserFunc(jobsPolicy), watcher, nil), externalscaler.Options{})
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return watcher, p
}

// ended opens a stream and reports, when it ends, with what.
func ended(t *testing.T, p *inProcess) <-chan error {
	t.Helper()
	stream, err := pb.NewExternalScalerClient(p.conn).StreamIsActive(t.Context(), worker(nil))
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() {
		_, err := drain(stream)
		end <- err
	}()
	synctest.Wait()
	return end
}

func TestGracefulShutdownEndsStreamsCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watcher, p := watching(t)
		end := ended(t, p)
		start := time.Now()
		watcher.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		externalscaler.Stop(ctx, p.server)
		if err := <-end; err != nil || time.Since(start) != 0 {
			t.Errorf("the stream ended after %v with %v, want at once and cleanly", time.Since(start), err)
		}
	})
}

// What does not end by itself is cut off in the end.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := watching(t)
		end := ended(t, p)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		externalscaler.Stop(ctx, p.server)
		wantStatus(t, "stream", <-end, codes.Unavailable)
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("stopped after %v, want 20s", took)
		}
	})
}

// An old connection is told to go and keeps its streams: they end with OK at the
// end of their own life, and calls meanwhile use a new connection.
func TestMaxConnectionAgeCutsNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := watching(t)
		end := ended(t, p)
		start := time.Now()
		for range 25 {
			time.Sleep(time.Minute)
			if _, err := pb.NewExternalScalerClient(p.conn).IsActive(t.Context(), worker(nil)); err != nil {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		err := <-end
		if n := p.connections.Load(); n < 3 {
			t.Errorf("%d connections in 25 min, want one per 10 min", n)
		}
		if lived := time.Since(start); err != nil || lived < 27*time.Minute || lived > 33*time.Minute {
			t.Errorf("the stream ended after %v with %v, want 27 to 33 min and a clean end", lived, err)
		}
	})
}
