package process

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"k8s.io/klog/v2"
)

// AdoptLibraries makes the libraries that write to stderr by themselves write to
// log. It is for a main: the libraries keep the logger in a variable of theirs.
func AdoptLibraries(log *slog.Logger) {
	klog.SetSlogLogger(log)
	redis.SetLogger(redisLog{log})
}

// redisLog tells what go-redis says to those who look for it. All of it is about
// errors that its callers get too, many times over while a server is down.
type redisLog struct{ log *slog.Logger }

// Printf implements go-redis' logger.
func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, args...), "library", "go-redis")
	}
}
