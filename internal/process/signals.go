package process

import (
	"context"
	"os/signal"
	"syscall"
)

// Context returns a context that ends with the first SIGTERM or SIGINT. The second
// one ends the process at once, for whoever does not want to wait for the drain.
func Context() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
