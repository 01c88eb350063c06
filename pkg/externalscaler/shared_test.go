package externalscaler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// metricsFunc finds StabilizedMetrics.
type metricsFunc func(namespace, name string) (scaling.Metric, error)

func (f metricsFunc) Metric(_ context.Context, namespace, name string) (scaling.Metric, error) {
	return f(namespace, name)
}

// sharesJobs parses any metadata to a policy that follows the StabilizedMetric jobs.
func sharesJobs(map[string]string) *scaling.Policy {
	return &scaling.Policy{Metric: "jobs-replicas", Target: 1000, Record: "jobs", Shared: "jobs"}
}

// TestSharedPolicy: a ScaledObject is evaluated by the policy of the StabilizedMetric in
// its own namespace, under the metric's name and target that KEDA knows.
func TestSharedPolicy(t *testing.T) {
	shared := &scaling.Policy{Metric: "jobs", Target: 5000, Record: "jobs", Cooldown: time.Minute}
	var asked string
	service := externalscaler.New(
		evaluatorFunc(func(_ context.Context, req scaling.Request) scaling.Answer {
			want := *shared
			want.Metric, want.Target = "jobs-replicas", 1000
			if req.Ref.Kind != scaling.KindScaledObject || req.Policy.Metric != want.Metric || req.Policy.Target != want.Target || req.Policy.Cooldown != want.Cooldown {
				t.Errorf("evaluated %+v by %+v; want %+v", req.Ref, req.Policy, want)
			}
			return scaling.Answer{Value: 8000, Active: true}
		}),
		parserFunc(sharesJobs), watcherFunc(noWatch),
		metricsFunc(func(namespace, name string) (scaling.Metric, error) {
			asked = namespace + "/" + name
			return scaling.Metric{Policy: shared}, nil
		}))
	got, err := service.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: worker(nil), MetricName: "jobs-replicas"})
	if err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 8 {
		t.Errorf("got %v, %v; want 8", got, err)
	}
	if asked != "shop/jobs" {
		t.Errorf("asked for %s; want shop/jobs", asked)
	}
	if shared.Metric != "jobs" {
		t.Error("the shared policy was changed")
	}
}

// TestSharedPolicyMissing: what is not to be had is a policy that cannot be followed, so
// that the evaluator holds what runs; only what the user must mend is a bad one.
func TestSharedPolicyMissing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		metrics externalscaler.Metrics
		bad     bool
	}{
		{"no cluster", nil, true},
		{"no such object", metricsFunc(func(string, string) (scaling.Metric, error) {
			return scaling.Metric{}, fmt.Errorf("shop/jobs: %w", scaling.ErrNoSuchMetric)
		}), true},
		{"not seen yet", metricsFunc(func(string, string) (scaling.Metric, error) {
			return scaling.Metric{}, fmt.Errorf("shop/jobs: %w", scaling.ErrUnobserved)
		}), false},
	} {
		service := externalscaler.New(evaluatorFunc(func(_ context.Context, req scaling.Request) scaling.Answer {
			if invalid := req.Policy.Invalid; invalid == nil || errors.Is(invalid, scaling.ErrBadPolicy) != tt.bad {
				t.Errorf("%s: invalid: %v; want a bad policy: %t", tt.name, invalid, tt.bad)
			}
			return scaling.Answer{Value: 8000, Active: true}
		}), parserFunc(sharesJobs), watcherFunc(noWatch), tt.metrics)
		if got, err := service.IsActive(t.Context(), worker(nil)); err != nil || !got.GetResult() {
			t.Errorf("%s: got %v, %v; want what the evaluator holds", tt.name, got, err)
		}
	}
}

// quietStream is an open stream on which nothing is said.
type quietStream struct {
	grpc.ServerStreamingServer[pb.IsActiveResponse]

	ctx context.Context
}

func (s quietStream) Context() context.Context { return s.ctx }

// TestSharedStreamEnds: a stream ends with OK when the policy that it watches by gives
// way to another, and soon if there is none; with the client's error if that goes first.
func TestSharedStreamEnds(t *testing.T) {
	untilDone := watcherFunc(func(ctx context.Context, _ scaling.Ref, _ *scaling.Policy, _ func() error) error {
		<-ctx.Done()
		return ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		replaced := make(chan struct{})
		found := metricsFunc(func(string, string) (scaling.Metric, error) {
			return scaling.Metric{Policy: &scaling.Policy{}, Replaced: replaced}, nil
		})
		watch := func(stream quietStream, metrics externalscaler.Metrics) (after time.Duration, err error) {
			started := time.Now()
			service := externalscaler.New(decides(scaling.Answer{}), parserFunc(sharesJobs), untilDone, metrics)
			err = service.StreamIsActive(worker(nil), stream)
			return time.Since(started), err
		}
		if after, err := watch(quietStream{ctx: t.Context()}, nil); err != nil || after != 10*time.Second {
			t.Errorf("without a policy: %v after %v; want OK after 10 s", err, after)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if after, err := watch(quietStream{ctx: gone}, found); err == nil || after != time.Hour {
			t.Errorf("a client that goes: %v after %v; want its error after 1 h", err, after)
		}
		time.AfterFunc(5*time.Minute, func() { close(replaced) })
		if after, err := watch(quietStream{ctx: t.Context()}, found); err != nil || after != 5*time.Minute {
			t.Errorf("a policy that is replaced: %v after %v; want OK after 5 min", err, after)
		}
	})
}
