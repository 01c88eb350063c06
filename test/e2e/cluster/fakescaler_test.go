package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
)

const (
	// fakeScalerCommand, as the first argument, makes this test binary a
	// scaler.
	fakeScalerCommand = "fake-scaler"
	// fakeScalerValue is the value it serves, against a target of 1.
	fakeScalerValue = 3
)

// fakeScaler serves a constant and counts how often it was asked.
type fakeScaler struct {
	pb.UnimplementedExternalScalerServer
	calls atomic.Int64
}

func runFakeScaler(grpcAddr, httpAddr string) error {
	listener, err := net.Listen("tcp", grpcAddr)
	if err != nil {
		return err
	}
	scaler := &fakeScaler{}
	server := grpc.NewServer()
	pb.RegisterExternalScalerServer(server, scaler)
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	go func() {
		failed <- http.ListenAndServe(httpAddr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, scaler.calls.Load())
		}))
	}()
	return <-failed
}

func (s *fakeScaler) IsActive(context.Context, *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	s.calls.Add(1)
	return &pb.IsActiveResponse{Result: true}, nil
}

func (s *fakeScaler) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	return &pb.GetMetricSpecResponse{
		MetricSpecs: []*pb.MetricSpec{{MetricName: "fake", TargetSizeFloat: 1}},
	}, nil
}

func (s *fakeScaler) GetMetrics(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return &pb.GetMetricsResponse{
		MetricValues: []*pb.MetricValue{{MetricName: "fake", MetricValueFloat: fakeScalerValue}},
	}, nil
}
