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

// interceptors wrap every handler. There is one for calls and one for streams: each more
// takes some of the stack, which is new with each call.
type interceptors struct {
	deadline time.Duration
	observe  func(method string, code codes.Code, took time.Duration)
	logger   *slog.Logger
}

// unary gives a call a deadline, unless the client's is earlier.
func (i *interceptors) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer i.ended(info.FullMethod, time.Now(), &err)
	defer i.rescue(ctx, info.FullMethod, &err)
	ctx, cancel := context.WithTimeout(ctx, i.deadline)
	defer cancel()
	return handler(ctx, req)
}

func (i *interceptors) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer i.ended(info.FullMethod, time.Now(), &err)
	defer i.rescue(stream.Context(), info.FullMethod, &err)
	return handler(server, stream)
}

// ended, deferred, tells what became of a call.
func (i *interceptors) ended(method string, started time.Time, err *error) {
	i.observe(method, status.Code(*err), time.Since(started))
}

// rescue, deferred, turns a panic into a status. What panicked goes to the log
// and not to the client.
func (i *interceptors) rescue(ctx context.Context, method string, err *error) {
	if cause := recover(); cause != nil {
		i.logger.ErrorContext(ctx, "handler panicked", "method", method, "panic", cause, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error; see the scaler's log")
	}
}
