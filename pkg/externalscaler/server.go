package externalscaler

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

const (
	// maxRequest is the largest request, in bytes. etcd takes no object over
	// 1.5 MiB, so no ScaledObject comes near: metadata that is too large reaches the
	// limit that can say so.
	maxRequest = 2 << 20
	// maxResponse is far above any answer: one metric, or one bool.
	maxResponse = 64 << 10
	// handshakeLimit is how long a client may take to become a connection.
	handshakeLimit = 10 * time.Second
)

// Options configure a server. The zero value of each field means its default.
type Options struct {
	// Credentials are the transport's; nil serves plaintext.
	Credentials credentials.TransportCredentials
	// Deadline bounds every unary call, whatever the client asks for; 2 s. KEDA
	// sets none, and a call that hangs blocks its scale loop for ever.
	Deadline time.Duration
	// MaxConnectionAge, give or take a tenth, makes clients connect anew, so that
	// replicas that have come since get their share; 10 min. gRPC clients look up
	// names only when they connect.
	MaxConnectionAge time.Duration
	// Observe is told of every finished call: its full method, as
	// /externalscaler.ExternalScaler/IsActive, how it ended and how long it took. It
	// must be fast and safe for concurrent use.
	Observe func(method string, code codes.Code, took time.Duration)
	// Health is served as grpc.health.v1; nil serves one that is never ready.
	Health *Health
	// Reflection tells clients which services there are, as grpcurl asks.
	Reflection bool
	// Logger gets panics of handlers; nil drops them.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Deadline <= 0 {
		o.Deadline = 2 * time.Second
	}
	if o.MaxConnectionAge <= 0 {
		o.MaxConnectionAge = 10 * time.Minute
	}
	if o.Observe == nil {
		o.Observe = func(string, codes.Code, time.Duration) {}
	}
	if o.Health == nil {
		o.Health = NewHealth()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// NewServer returns a gRPC server with the service and health.
//
// A connection that is too old gets GOAWAY and no grace period: gRPC then keeps it
// until its last stream ends. A finite one would cut streams off with Unavailable,
// after which KEDA waits up to 60 s before it opens the next; they end by
// themselves, cleanly, within their 33 minutes.
func NewServer(service *Service, options Options) *grpc.Server {
	o := options.withDefaults()
	i := &interceptors{deadline: o.Deadline, observe: o.Observe, logger: o.Logger}
	config := []grpc.ServerOption{
		grpc.UnaryInterceptor(i.unary),
		grpc.StreamInterceptor(i.stream),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxSendMsgSize(maxResponse),
		grpc.ConnectionTimeout(handshakeLimit),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: o.MaxConnectionAge,
			// A client that died without a word is noticed after 40 s, and its
			// streams are no longer watched. gRPC pings no more once it has sent
			// GOAWAY; from then on the end of a stream's life finds out.
			Time:    30 * time.Second,
			Timeout: 10 * time.Second,
		}),
		// KEDA pings never; proxies in between do, up to every 10 s.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.Credentials != nil {
		config = append(config, grpc.Creds(o.Credentials))
	}
	server := grpc.NewServer(config...)
	pb.RegisterExternalScalerServer(server, service)
	healthpb.RegisterHealthServer(server, o.Health.server)
	if o.Reflection {
		reflection.Register(server)
	}
	return server
}

// Stop stops a server gracefully: it accepts nothing new and lets calls finish,
// until the context ends; then it cuts off what is left. Push streams never finish
// by themselves: shut their watcher down first.
func Stop(ctx context.Context, server *grpc.Server) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		server.GracefulStop()
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		server.Stop()
		<-finished
	}
}
