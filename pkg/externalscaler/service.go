// Package externalscaler serves KEDA: the gRPC service that an external or
// external-push trigger calls. It translates and never decides.
//
// What KEDA 2.21 makes of the answers shapes them. GetMetricSpec never fails, for
// KEDA would rewrite the HPA without the metric. From one decision IsActive fails
// exactly when GetMetrics does, for KEDA takes both or neither. The float fields
// alone are set: KEDA prefers them when they are positive, and takes the integer
// otherwise.
package externalscaler

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Evaluator makes decisions.
type Evaluator interface {
	Answer(ctx context.Context, req scaling.Request) scaling.Answer
}

// PolicyParser turns a trigger's metadata into a policy: always one, whose Invalid
// says what is wrong with it. It must not keep or change the map.
type PolicyParser interface {
	Parse(metadata map[string]string) *scaling.Policy
}

// Watcher watches an open stream, as watch.Watcher does: it calls send, on the
// caller's goroutine, each time that the client is to be told of activity, and
// returns nil when the stream is to end cleanly.
type Watcher interface {
	Watch(ctx context.Context, ref scaling.Ref, policy *scaling.Policy, send func() error) error
}

// Service implements KEDA's externalscaler.ExternalScaler.
type Service struct {
	pb.UnimplementedExternalScalerServer

	evaluator Evaluator
	watcher   Watcher
	metrics   Metrics
	parser    PolicyParser
}

// New returns a service over its parts. metrics is nil where no cluster is known.
func New(evaluator Evaluator, parser PolicyParser, watcher Watcher, metrics Metrics) *Service {
	return &Service{evaluator: evaluator, watcher: watcher, metrics: metrics, parser: parser}
}

// GetMetricSpec returns the one metric of a policy and its target per replica. It
// is a function of the metadata alone and never fails, not even for a policy that
// cannot be followed.
func (s *Service) GetMetricSpec(_ context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	policy := s.parser.Parse(ref.GetScalerMetadata())
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{
		MetricName:      policy.Metric,
		TargetSizeFloat: policy.Target.Float(),
	}}}, nil
}

// GetMetrics returns the value that the decision sends for the policy's metric. A
// metric of another name is NotFound; names are compared without regard to case,
// for the HPA's path may have lowered them, and none means the policy's.
func (s *Service) GetMetrics(ctx context.Context, req *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	ref, policy, err := s.resolve(req.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	if asked := req.GetMetricName(); asked != "" && !strings.EqualFold(asked, policy.Metric) {
		return nil, status.Errorf(codes.NotFound, "metric %q is not that of %s/%s, which is %q", asked, ref.Namespace, ref.Name, policy.Metric)
	}
	answer, err := s.decide(ctx, ref, policy)
	if err != nil {
		return nil, err
	}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{
		MetricName:       policy.Metric,
		MetricValueFloat: answer.Value.Float(),
	}}}, nil
}

// IsActive reports whether the workload is to be awake.
func (s *Service) IsActive(ctx context.Context, sent *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	ref, policy, err := s.resolve(sent)
	if err != nil {
		return nil, err
	}
	answer, err := s.decide(ctx, ref, policy)
	if err != nil {
		return nil, err
	}
	return &pb.IsActiveResponse{Result: answer.Active}, nil
}

// StreamIsActive sends true when the watcher says so, and never false: KEDA
// ignores it. It ends with OK when the watcher ends the stream, and when a policy that
// is shared gives way to another: KEDA opens the next one 2 s later.
func (s *Service) StreamIsActive(sent *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	ref, policy, err := s.resolve(sent)
	if err != nil {
		return err
	}
	send := func() error { return stream.Send(&pb.IsActiveResponse{Result: true}) }
	if policy.Shared != "" {
		return toStatus(s.watchShared(stream.Context(), ref, policy, send))
	}
	return toStatus(s.watcher.Watch(stream.Context(), ref, policy, send))
}

// StreamMetricSpec is not offered: a target changes only with the metadata, of
// which KEDA learns first, and each opening would queue a reconcile. KEDA then
// polls GetMetricSpec.
func (s *Service) StreamMetricSpec(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	return status.Error(codes.Unimplemented, "metric specs are not streamed: they change with the trigger's metadata only; use GetMetricSpec")
}

// resolve checks whose policy a request is about, and parses it.
func (s *Service) resolve(sent *pb.ScaledObjectRef) (scaling.Ref, *scaling.Policy, error) {
	ref := scaling.Ref{Kind: scaling.KindScaledObject, Namespace: sent.GetNamespace(), Name: sent.GetName()}
	if ref.Name == "" || ref.Namespace == "" {
		return ref, nil, status.Errorf(codes.InvalidArgument, "the request names no ScaledObject: name is %q, namespace is %q, and neither may be empty", ref.Name, ref.Namespace)
	}
	return ref, s.parser.Parse(sent.GetScalerMetadata()), nil
}

// decide evaluates a policy; its error is a status.
func (s *Service) decide(ctx context.Context, ref scaling.Ref, policy *scaling.Policy) (scaling.Answer, error) {
	policy, _ = s.followed(ctx, ref, policy)
	answer := s.evaluator.Answer(ctx, scaling.Request{Ref: ref, Policy: policy})
	return answer, toStatus(answer.Err)
}
