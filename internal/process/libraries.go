package process

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"k8s.io/klog/v2"
)

// AdoptLibraries makes the libraries that write to stderr by themselves write to
// log. It is for a main: the libraries keep the logger in a variable of theirs.
func AdoptLibraries(log *slog.Logger) {
	klog.SetSlogLogger(log)
	redis.SetLogger(silence{})
}

// silence drops what go-redis says. All of it is about errors that its callers get too,
// and it quotes servers, one of which may repeat the password that it was sent.
type silence struct{}

// Printf implements go-redis' logger.
func (silence) Printf(context.Context, string, ...any) {}
