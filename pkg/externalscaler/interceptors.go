package externalscaler

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// interceptors wrap every handler, from the outside in: observe, recover, limit.
type interceptors struct {
	deadline time.Duration
	observe  func(method string, code codes.Code, took time.Duration)
	logger   *slog.Logger
}

func (i interceptors) observeUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	start := time.Now()
	resp, err := handler(ctx, req)
	i.observe(info.FullMethod, status.Code(err), time.Since(start))
	return resp, err
}

func (i interceptors) observeStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	start := time.Now()
	err := handler(server, stream)
	i.observe(info.FullMethod, status.Code(err), time.Since(start))
	return err
}

func (i interceptors) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer i.rescue(ctx, info.FullMethod, &err)
	return handler(ctx, req)
}

func (i interceptors) recoverStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer i.rescue(stream.Context(), info.FullMethod, &err)
	return handler(server, stream)
}

// rescue, deferred, turns a panic into a status. What panicked goes to the log
// and not to the client.
func (i interceptors) rescue(ctx context.Context, method string, err *error) {
	if cause := recover(); cause != nil {
		i.logger.ErrorContext(ctx, "handler panicked", "method", method, "panic", cause, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error; see the scaler's log")
	}
}

// limitUnary gives a call a deadline. An earlier one of the client's stands.
func (i interceptors) limitUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, i.deadline)
	defer cancel()
	return handler(ctx, req)
}
