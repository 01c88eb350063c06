package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// breakerLimit is how many commands in a row a server may leave unanswered.
	breakerLimit = 5
	// breakerPause is how often an open breaker lets one command through, to try.
	breakerPause = 250 * time.Millisecond
)

// breaker keeps callers from waiting for a server that does not answer. It is a hook
// of one server's client, so that in a Cluster a dead node does not bar the others.
// An error that the server itself sent is an answer.
type breaker struct {
	mu       sync.Mutex
	failures int
	last     string    // the latest failure; not an error to wrap: go-redis retries after network errors
	probeAt  time.Time // when an open breaker lets the next command through
}

// allow returns an error if a command must not be sent now. The time of the probe
// moves on with each probe sent, so one that never reports back blocks nothing.
func (b *breaker) allow(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakerLimit {
		return nil
	}
	if now.Before(b.probeAt) {
		return fmt.Errorf("not asked: %d commands in a row were not answered, the last one: %s", b.failures, b.last)
	}
	b.probeAt = now.Add(breakerPause)
	return nil
}

// report takes note of what became of a command.
func (b *breaker) report(ctx context.Context, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var answer redis.Error
	switch {
	case err == nil, errors.As(err, &answer):
		b.failures, b.last = 0, ""
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow):
		// The caller went away: this says nothing about the server.
	default:
		b.failures, b.last = b.failures+1, err.Error()
		b.probeAt = now.Add(breakerPause)
	}
}

// underBreaker marks the context of a command that a breaker let through. A command
// that has to connect first sends HELLO by the same hook, and is one command all the
// same.
type underBreaker struct{}

// ProcessHook implements redis.Hook.
func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(underBreaker{}) == b {
			return next(ctx, cmd)
		}
		if err := ctx.Err(); err != nil { // spent on another server: no failure of this one
			return err
		}
		if err := b.allow(time.Now()); err != nil {
			return err
		}
		err := next(context.WithValue(ctx, underBreaker{}, b), cmd)
		settle(ctx, err)
		b.report(ctx, err, time.Now())
		return err
	}
}

// settle waits for a context whose deadline made a read or write fail to end: the
// socket has a timer of its own for that deadline, which may fire some microseconds
// sooner. After that the context tells whose deadline it was.
func settle(ctx context.Context, err error) {
	if deadline, ok := ctx.Deadline(); ok && isTimeout(err) && time.Until(deadline) < time.Millisecond {
		<-ctx.Done()
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// ProcessPipelineHook implements redis.Hook. Pipelines are only sent to a server
// that a Cluster has just redirected to.
func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// DialHook implements redis.Hook.
func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }
