package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a Redis that answers as it is told, and counts what reaches it.
type server struct {
	answer error
	asked  int
}

func (s *server) process(context.Context, redis.Cmder) error {
	s.asked++
	return s.answer
}

func TestBreaker(t *testing.T) {
	lost := errors.New("connection lost")
	synctest.Test(t, func(t *testing.T) {
		redisServer := &server{}
		ask := (&breaker{}).ProcessHook(redisServer.process)
		for _, step := range []struct {
			name   string
			after  time.Duration
			answer error
			calls  int
			asked  int // how many of the calls reach the server
		}{
			{"all is well", 0, nil, 10, 10},
			{"four failures", 0, lost, 4, 4},
			{"an answer starts the count anew", 0, nil, 1, 1},
			{"four failures again", 0, lost, 4, 4},
			{"an error that the server sends is an answer", 0, redis.ErrNoScript, 10, 10},
			{"the fifth failure opens it", 0, lost, 100, 5},
			{"just before the pause has passed", breakerPause - 1, nil, 100, 0},
			{"one probe, which fails", 1, lost, 100, 1},
			{"again", breakerPause, lost, 100, 1},
			{"a probe that is answered closes it", breakerPause, nil, 100, 100},
		} {
			time.Sleep(step.after)
			redisServer.answer, redisServer.asked = step.answer, 0
			for range step.calls {
				if err := ask(t.Context(), nil); err == nil && step.answer != nil {
					t.Errorf("%s: no error", step.name)
				}
			}
			if redisServer.asked != step.asked {
				t.Errorf("%s: %d of %d calls reached the server, want %d", step.name, redisServer.asked, step.calls, step.asked)
			}
		}
	})
}

func TestBreakerCountsOnlyTheServersFaults(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	slow, cancel := context.WithTimeoutCause(t.Context(), 0, errSlow)
	defer cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		want int
	}{
		{"the caller left", canceled, 0},
		{"our own deadline passed", slow, 1},
		{"the connection broke", t.Context(), 1},
	} {
		b := &breaker{}
		b.report(test.ctx, fmt.Errorf("wrapped: %w", context.DeadlineExceeded), time.Now())
		if b.failures != test.want {
			t.Errorf("%s: %d failures, want %d", test.name, b.failures, test.want)
		}
	}
	hook := (&breaker{}).ProcessHook(func(context.Context, redis.Cmder) error {
		t.Error("a command was sent after its deadline")
		return nil
	})
	if err := hook(slow, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; want DeadlineExceeded", err)
	}
}

// Connecting is a part of the command that needs it: were its HELLO counted, a probe
// would bar itself from connecting and the breaker stay open for ever.
func TestBreakerCountsConnectingAsOne(t *testing.T) {
	b := &breaker{failures: breakerLimit}
	connected := false
	hello := b.ProcessHook(func(context.Context, redis.Cmder) error { connected = true; return nil })
	probe := b.ProcessHook(func(ctx context.Context, _ redis.Cmder) error { return hello(ctx, nil) })
	if err := probe(t.Context(), nil); err != nil || !connected || b.failures != 0 {
		t.Errorf("probe that connects: %v, connected %v, %d failures; want it to close the breaker", err, connected, b.failures)
	}
}

// The socket's timer fires before the context's: whose deadline it was must be known
// all the same.
func TestBreakerWaitsToLearnWhoseDeadlinePassed(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		want  int
	}{
		{"the caller's", nil, 0},
		{"our own", errSlow, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Microsecond, test.cause)
			defer cancel()
			b := &breaker{}
			err := b.ProcessHook((&server{answer: os.ErrDeadlineExceeded}).process)(ctx, nil)
			if err == nil || b.failures != test.want {
				t.Errorf("%s deadline passed: %v, %d failures; want %d", test.name, err, b.failures, test.want)
			}
		})
	}
}
