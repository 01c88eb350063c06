package externalscaler_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// evaluatorFunc, parserFunc and watcherFunc make a function a collaborator.
type evaluatorFunc func(ctx context.Context, req scaling.Request) scaling.Answer

func (f evaluatorFunc) Answer(ctx context.Context, req scaling.Request) scaling.Answer {
	return f(ctx, req)
}

type parserFunc func(metadata map[string]string) *scaling.Policy

func (f parserFunc) Parse(metadata map[string]string) *scaling.Policy { return f(metadata) }

type watcherFunc func(ctx context.Context, ref scaling.Ref, policy *scaling.Policy, send func() error) error

func (f watcherFunc) Watch(ctx context.Context, ref scaling.Ref, policy *scaling.Policy, send func() error) error {
	return f(ctx, ref, policy, send)
}

// decides answers every request alike.
func decides(d scaling.Answer) evaluatorFunc {
	return func(context.Context, scaling.Request) scaling.Answer { return d }
}

// jobsPolicy parses any metadata to a policy for the metric jobs at 5 per replica;
// a key "bad" makes it invalid.
func jobsPolicy(metadata map[string]string) *scaling.Policy {
	policy := &scaling.Policy{Metric: "jobs", Target: 5000}
	if value, ok := metadata["bad"]; ok {
		policy.Invalid = fmt.Errorf("%w: bad is %q", scaling.ErrBadPolicy, value)
	}
	return policy
}

func noWatch(context.Context, scaling.Ref, *scaling.Policy, func() error) error { return nil }

// inProcess is a server in this process and a client's channel to it, which has
// connected so many times.
type inProcess struct {
	conn        *grpc.ClientConn
	server      *grpc.Server
	connections atomic.Int64
}

// serve serves a service until the test ends.
func serve(t *testing.T, service *externalscaler.Service, options externalscaler.Options) *inProcess {
	t.Helper()
	listener := bufconn.Listen(64 << 10)
	p := &inProcess{server: externalscaler.NewServer(service, options)}
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(listener) }()
	var err error
	p.conn, err = grpc.NewClient("passthrough:///scaler",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			p.connections.Add(1)
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		_ = p.conn.Close()
		p.server.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return p
}

// client is KEDA's own, of a service with stand-ins around it.
func client(t *testing.T, evaluator evaluatorFunc, options externalscaler.Options) pb.ExternalScalerClient {
	t.Helper()
	p := serve(t, externalscaler.New(evaluator, parserFunc(jobsPolicy), watcherFunc(noWatch), nil), options)
	return pb.NewExternalScalerClient(p.conn)
}

func worker(metadata map[string]string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: "shop", Name: "worker", ScalerMetadata: metadata}
}
