package externalscaler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestGetMetricSpec(t *testing.T) {
	c := client(t, decides(scaling.Answer{Err: scaling.ErrNotRead}), externalscaler.Options{})
	want := &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "jobs", TargetSizeFloat: 5}}}
	for name, ref := range map[string]*pb.ScaledObjectRef{
		"good policy":    worker(nil),
		"invalid policy": worker(map[string]string{"bad": "very"}),
		"too large":      worker(map[string]string{"query": strings.Repeat("x", 100_000)}),
		"no name":        {},
	} {
		got, err := c.GetMetricSpec(t.Context(), ref)
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestGetMetrics(t *testing.T) {
	c := client(t, decides(scaling.Answer{Value: 37_500, Active: true}), externalscaler.Options{})
	want := &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: "jobs", MetricValueFloat: 37.5}}}
	for _, name := range []string{"jobs", "JOBS", ""} {
		got, err := c.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: worker(nil), MetricName: name})
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("metric %q: got %v, %v; want %v", name, got, err, want)
		}
	}
	_, err := c.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: worker(nil), MetricName: "jobs-replicas"})
	wantStatus(t, "another metric", err, codes.NotFound, `"jobs-replicas"`, `"jobs"`, "shop/worker")
}

func TestIsActive(t *testing.T) {
	for _, active := range []bool{true, false} {
		c := client(t, decides(scaling.Answer{Active: active}), externalscaler.Options{})
		got, err := c.IsActive(t.Context(), worker(nil))
		if err != nil || got.GetResult() != active {
			t.Errorf("got %v, %v; want %t", got, err, active)
		}
	}
}

func TestWhoIsAskedAbout(t *testing.T) {
	var got scaling.Request
	c := client(t, func(_ context.Context, req scaling.Request) scaling.Answer {
		got = req
		return scaling.Answer{}
	}, externalscaler.Options{})
	if _, err := c.IsActive(t.Context(), worker(nil)); err != nil {
		t.Fatal(err)
	}
	if want := (scaling.Ref{Kind: "ScaledObject", Namespace: "shop", Name: "worker"}); got.Ref != want || got.Policy.Metric != "jobs" || got.Outcomes != nil {
		t.Errorf("evaluated %+v, want %v and its policy", got, want)
	}
}

// Of one decision GetMetrics and IsActive fail alike.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code codes.Code
	}{
		{fmt.Errorf("%w: listLength is 0", scaling.ErrBadPolicy), codes.InvalidArgument},
		{errors.Join(fmt.Errorf("%w: a", scaling.ErrNotRead), fmt.Errorf("%w: b", scaling.ErrBadPolicy)), codes.InvalidArgument},
		{fmt.Errorf("%w policies: 3", scaling.ErrTooMany), codes.ResourceExhausted},
		{fmt.Errorf("shop/worker: %w", scaling.ErrUnobserved), codes.Unavailable},
		{fmt.Errorf("%w: redis: refused", scaling.ErrNotRead), codes.Unavailable},
		{fmt.Errorf("%w", scaling.ErrNoData), codes.Unavailable},
		{fmt.Errorf("%w: %w", scaling.ErrUnobserved, context.DeadlineExceeded), codes.Unavailable},
		{fmt.Errorf("observe: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
		{fmt.Errorf("observe: %w", context.Canceled), codes.Canceled},
		{errors.New("what is this"), codes.Internal},
	} {
		c := client(t, decides(scaling.Answer{Err: tt.err, Value: 1000, Active: true}), externalscaler.Options{})
		_, err := c.IsActive(t.Context(), worker(nil))
		wantStatus(t, "IsActive", err, tt.code, tt.err.Error())
		_, err = c.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: worker(nil), MetricName: "jobs"})
		wantStatus(t, "GetMetrics", err, tt.code, tt.err.Error())
	}
}

func TestRequestsWithoutAName(t *testing.T) {
	c := client(t, decides(scaling.Answer{}), externalscaler.Options{})
	for _, ref := range []*pb.ScaledObjectRef{nil, {}, {Name: "worker"}, {Namespace: "shop"}} {
		_, err := c.IsActive(t.Context(), ref)
		wantStatus(t, "IsActive", err, codes.InvalidArgument, "name", "namespace")
		_, err = c.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref})
		wantStatus(t, "GetMetrics", err, codes.InvalidArgument, "name", "namespace")
		stream, err := c.StreamIsActive(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		wantStatus(t, "StreamIsActive", err, codes.InvalidArgument, "name", "namespace")
	}
}

func TestTooLargeMessage(t *testing.T) {
	c := client(t, func(_ context.Context, req scaling.Request) scaling.Answer {
		return scaling.Answer{Err: req.Policy.Invalid}
	}, externalscaler.Options{})
	_, err := c.IsActive(t.Context(), worker(map[string]string{"query": strings.Repeat("x", 3<<20)}))
	wantStatus(t, "IsActive", err, codes.ResourceExhausted, "2097152")
}

func TestStreamIsActive(t *testing.T) {
	broken := status.Error(codes.Unavailable, "transport is closing")
	for _, tt := range []struct {
		name  string
		watch watcherFunc
		trues int
		code  codes.Code
	}{
		{"ends cleanly", noWatch, 0, codes.OK},
		{"two announcements", func(_ context.Context, _ scaling.Ref, _ *scaling.Policy, send func() error) error {
			return errors.Join(send(), send())
		}, 2, codes.OK},
		{"send failed", func(context.Context, scaling.Ref, *scaling.Policy, func() error) error {
			return fmt.Errorf("announce: %w", broken)
		}, 0, codes.Unavailable},
		{"client gone", func(context.Context, scaling.Ref, *scaling.Policy, func() error) error {
			return context.Canceled
		}, 0, codes.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, externalscaler.New(decides(scaling.Answer{}), parserFunc(jobsPolicy), tt.watch, nil), externalscaler.Options{})
			stream, err := pb.NewExternalScalerClient(p.conn).StreamIsActive(t.Context(), worker(nil))
			if err != nil {
				t.Fatal(err)
			}
			trues, err := drain(stream)
			if trues != tt.trues || status.Code(err) != tt.code {
				t.Errorf("%d times true, then %v; want %d times and %v", trues, err, tt.trues, tt.code)
			}
		})
	}
}

func TestStreamMetricSpec(t *testing.T) {
	c := client(t, decides(scaling.Answer{}), externalscaler.Options{})
	stream, err := c.StreamMetricSpec(t.Context(), worker(nil))
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantStatus(t, "StreamMetricSpec", err, codes.Unimplemented, "GetMetricSpec")
}

// drain counts the answers of a stream until it ends; a clean end is no error.
func drain(stream pb.ExternalScaler_StreamIsActiveClient) (trues int, err error) {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return trues, nil
		}
		if err != nil {
			return trues, err
		}
		if answer.GetResult() {
			trues++
		}
	}
}

func wantStatus(t *testing.T, what string, err error, code codes.Code, words ...string) {
	t.Helper()
	got := status.Convert(err)
	if got.Code() != code {
		t.Errorf("%s: got %v, want %v", what, err, code)
	}
	for _, word := range words {
		if !strings.Contains(got.Message(), word) {
			t.Errorf("%s: message %q does not say %s", what, got.Message(), word)
		}
	}
}
