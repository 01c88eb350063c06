package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// The time is Redis' own, to the microsecond.
func TestTheTimeIsThatOfRedis(t *testing.T) {
	want := time.Date(2026, 3, 29, 1, 59, 7, 123456000, time.UTC)
	server := miniredis.RunT(t)
	server.SetTime(want)
	if got := load(t, open(t, "redis://"+server.Addr(), patient)).Now; !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The least that a store can keep, and the least that it can be told to wait.
func TestTheShortestTimes(t *testing.T) {
	server := miniredis.RunT(t)
	store := open(t, "redis://"+server.Addr(), patient)
	for ttl, want := range map[time.Duration]bool{time.Millisecond - 1: false, time.Millisecond: true} {
		if swapped, err := store.Swap(t.Context(), scaling.Key{Record: fmt.Sprint(ttl)}, "", scaling.Record{}, ttl); swapped != want || (err == nil) != want {
			t.Errorf("a ttl of %v: %v, %v", ttl, swapped, err)
		}
	}
	for timeout, want := range map[time.Duration]bool{-1: false, time.Millisecond - 1: false, time.Millisecond: true, 0: true} {
		opened, err := Open("redis://127.0.0.1:1", Options{Instance: "prod", Timeout: timeout})
		if (err == nil) != want {
			t.Errorf("a timeout of %v: %v", timeout, err)
		}
		if timeout == 0 && err == nil && opened.timeout != 50*time.Millisecond {
			t.Errorf("the timeout is %v, want 50ms", opened.timeout)
		}
	}
	if _, err := Open("redis://127.0.0.1:1", Options{}); err == nil {
		t.Error("a store without an instance was opened")
	}
}

// What a store promises, of every kind of client: it sends once, does not dial again, and
// has deadlines.
func TestClientsAreBent(t *testing.T) {
	promised := func(retries, dials, protocol int, contexts, silent bool, dial, read time.Duration) string {
		return fmt.Sprintf("retries %d, dials %d, protocol %d, contexts %v, silent %v, dial %v, read %v", retries, dials, protocol, contexts, silent, dial, read)
	}
	for url, want := range map[string]string{
		"redis://a?protocol=3": promised(0, 1, 3, true, true, time.Second, time.Second),
		"redis://a":            promised(0, 1, 2, true, true, time.Second, time.Second),
		"redis://a?dial_timeout=2s&read_timeout=3s":       promised(0, 1, 2, true, true, 2*time.Second, 3*time.Second),
		"redis-cluster://a,b":                             promised(-1, 1, 2, true, true, time.Second, time.Second),
		"redis-cluster://a?dial_timeout=2s":               promised(-1, 1, 2, true, true, 2*time.Second, time.Second),
		"redis-sentinel://a?master=m":                     promised(0, 1, 2, true, true, time.Second, time.Second),
		"redis-sentinel://a,b?master=m&read_timeout=1m0s": promised(0, 1, 2, true, true, time.Second, time.Minute),
	} {
		store, err := Open(url, Options{Instance: "prod"})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		switch client := store.client.(type) {
		case *redis.Client:
			o := client.Options()
			got = promised(o.MaxRetries, o.DialerRetries, o.Protocol, o.ContextTimeoutEnabled, o.DisableIdentity, o.DialTimeout, o.ReadTimeout)
			if !strings.Contains(url, "sentinel") { // whose clients never ask
				checkQuiet(t, url, o.MaintNotificationsConfig)
			}
		case *redis.ClusterClient:
			o := client.Options()
			got = promised(o.MaxRetries, o.DialerRetries, o.Protocol, o.ContextTimeoutEnabled, o.DisableIdentity, o.DialTimeout, o.ReadTimeout)
			checkQuiet(t, url, o.MaintNotificationsConfig)
			if !o.DisableRoutingPolicies {
				t.Errorf("%s: asks each server for its COMMANDs", url)
			}
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", url, got, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Answers that no Redis gives are errors that say so, and no records.
func TestNonsenseIsNoAnswer(t *testing.T) {
	now := []any{int64(7), "8"}
	for _, reply := range []any{
		nil, "OK", []any{}, []any{"record", "version"}, []any{"record", "version", now, now}, []any{"record", "version", "now"},
		[]any{"record", "version", []any{"7"}}, []any{"record", "version", []any{"7", "x"}}, []any{"record", "version", []any{"7", "0x8"}}, []any{"record", "version", []any{"7", "8", "9"}},
	} {
		if loaded, err := parseLoaded(reply, &versioned{}); err == nil || !strings.Contains(err.Error(), "redis answered") || loaded != nil {
			t.Errorf("%v is taken for %+v, %v", reply, loaded, err)
		}
	}
	for _, version := range []any{nil, int64(3)} {
		loaded, err := parseLoaded([]any{`{"v":1}`, version, now}, &versioned{})
		if err != nil || loaded.Record != nil || !loaded.Now.Equal(time.Unix(7, 8000)) {
			t.Errorf("version %v: %+v, %v", version, loaded, err)
		}
	}
}

// The breaker's count and its pause, to the nanosecond.
func TestBreakerOpensAtTheFifthFailure(t *testing.T) {
	now := time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)
	b := &breaker{}
	for failures := range 5 {
		if err := b.allow(now); err != nil {
			t.Fatalf("after %d failures: %v", failures, err)
		}
		b.report(t.Context(), errors.New("connection lost"), now)
	}
	err := b.allow(now.Add(250*time.Millisecond - 1))
	if err == nil || err.Error() != "not asked: 5 commands in a row were not answered, the last one: connection lost" {
		t.Errorf("after the fifth: %v", err)
	}
	if err := b.allow(now.Add(250 * time.Millisecond)); err != nil {
		t.Errorf("the probe: %v", err)
	}
	if b.allow(now.Add(500*time.Millisecond-1)) == nil || b.allow(now.Add(500*time.Millisecond)) != nil {
		t.Error("the next probe does not come 250 ms after the last one")
	}
	b.report(t.Context(), nil, now)
	if b.failures != 0 || b.last != "" {
		t.Errorf("after an answer: %d failures, the last %q", b.failures, b.last)
	}
}

// An error of the socket is waited for only where the deadline is about to pass.
func TestSettleWaitsForLessThanAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for left, waits := range map[time.Duration]bool{time.Millisecond - 1: true, time.Millisecond: false} {
			ctx, cancel := timeoutIn(t, left)
			before := time.Now()
			settle(ctx, fmt.Errorf("read: %w", timeoutError{}))
			if waited := time.Since(before); (waited > 0) != waits {
				t.Errorf("%v before the deadline: waited %v", left, waited)
			}
			before = time.Now()
			settle(ctx, errors.New("connection lost"))
			settle(t.Context(), timeoutError{})
			if waited := time.Since(before); waited > 0 {
				t.Errorf("waited %v for what is no deadline", waited)
			}
			cancel()
		}
	})
}

// timeoutError is what a socket says whose deadline has passed.
type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func timeoutIn(t *testing.T, left time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), left)
}

func checkQuiet(t *testing.T, url string, c *maintnotifications.Config) {
	t.Helper()
	if c == nil || c.Mode != maintnotifications.ModeDisabled {
		t.Errorf("%s: asks for notifications of maintenance: %+v", url, c)
	}
}

// Every kind of client has a breaker: the sixth command to a server that is not there is
// not sent.
func TestEveryClientHasABreaker(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "redis-sentinel://127.0.0.1:1?master=m", "redis-cluster://127.0.0.1:1"} {
		store, text := open(t, url, patient), ""
		for range 20 {
			_, err := store.Load(t.Context(), jobs)
			text += fmt.Sprintln(err)
		}
		if !strings.Contains(text, "not asked: 5 commands in a row were not answered") {
			t.Errorf("%s: all are sent:\n%s", url, text)
		}
	}
}

// What is kept of a key is let go of after two minutes without a question, at four at the
// latest.
func TestRecordsAreKeptForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := Open("redis://nowhere.invalid", Options{Instance: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		store.decoded.Put("jobs", &versioned{version: "v"})
		for _, step := range []struct {
			after time.Duration
			kept  int
		}{{2*time.Minute - 1, 1}, {1, 1}, {2*time.Minute - 1, 1}, {1, 0}} {
			time.Sleep(step.after)
			store.decoded.Get("another")
			if n := store.decoded.Len(); n != step.kept {
				t.Errorf("after another %v: %d kept, want %d", step.after, n, step.kept)
			}
		}
	})
}

// A process keeps what it has stored, and nothing of what was refused.
func TestAStoreKeepsWhatItSwapped(t *testing.T) {
	store := open(t, "redis://"+miniredis.RunT(t).Addr(), patient)
	mustIncrement(t, store, 1)
	kept, _ := store.decoded.Get(store.redisKey(jobs))
	if swapped, err := store.Swap(t.Context(), jobs, "stale", scaling.Record{Served: 9}, time.Hour); err != nil || swapped {
		t.Fatal(swapped, err)
	}
	if after, _ := store.decoded.Get(store.redisKey(jobs)); kept.record.Served != 1 || after.version != kept.version {
		t.Errorf("kept %+v, and after a refused swap %+v", kept, after)
	}
	if _, err := store.Swap(t.Context(), jobs, kept.version, scaling.Record{Readings: []scaling.Reading{{Value: math.NaN()}}}, time.Hour); err == nil {
		t.Error("a record that has no JSON was stored")
	}
}

// An operation says whose time was up: its own, or the caller's.
func TestWhoseTimeWasUp(t *testing.T) {
	broken := errors.New("connection lost")
	for name, c := range map[string]struct {
		caller    time.Duration // the caller's own deadline
		operation func(context.Context) error
		slow      bool
		fails     error
	}{
		"answered":            {time.Hour, func(context.Context) error { return nil }, false, nil},
		"broken":              {time.Hour, func(context.Context) error { return broken }, false, broken},
		"slow":                {time.Hour, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, true, context.DeadlineExceeded},
		"slow, yet answered":  {time.Hour, func(ctx context.Context) error { <-ctx.Done(); return nil }, false, nil},
		"the caller's is up":  {time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, false, context.DeadlineExceeded},
		"the caller's was up": {0, func(context.Context) error { t.Error("sent"); return nil }, false, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := timeoutIn(t, c.caller)
			defer cancel()
			err := within(ctx, 50*time.Millisecond, c.operation)
			if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) || errors.Is(err, errSlow) != c.slow {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestTheEdgesOfAPokesName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "z": true, "0": true, "9": true, "-": true, ".": true, "`": false, "{": false, ":": false, ",": false, "A": false, "": false,
	} {
		if got := isObjectName(name); got != want {
			t.Errorf("%q is a name: %v", name, got)
		}
	}
}

// Anybody may poke, with redis-cli: the channel's name is a promise.
func TestAnybodyMayPoke(t *testing.T) {
	server := miniredis.RunT(t)
	heard := subscribe(t, open(t, "redis://"+server.Addr(), patient))
	eventually(t, "a poke", func() error {
		if server.Publish("dashpot:poke", "shop/worker") == 0 {
			return errors.New("nobody listens yet")
		}
		return nil
	})
	select {
	case got := <-heard:
		if got != "shop/worker" {
			t.Errorf("heard %q", got)
		}
	case <-time.After(patient):
		t.Error("heard nothing")
	}
}

func TestTheEdgesOfAURL(t *testing.T) {
	for url, want := range map[string]bool{
		"redis://a:65535": true, "redis://a:65536": false, "redis://a:1": true, "redis://a:0": false,
		"redis://@a": true, "redis://user@a": true, "redis://fe80::1": false, "redis://[fe80::1]": true,
		"redis-sentinel://a?master=m&pool_size=x": false, "redis-cluster://a?pool_size=x": false,
	} {
		if _, err := parseURL(url); (err == nil) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestTheTimeoutsLimitIsNamed(t *testing.T) {
	_, err := Open("redis://a", Options{Instance: "prod", Timeout: 1})
	if err == nil || err.Error() != "timeout is 1ns; it must be at least 1ms, or 0 for 50ms" {
		t.Error(err)
	}
}

// The client of a Cluster would send again what says nothing to that.
func TestNothingIsSentTwice(t *testing.T) {
	if !(once{}).NoRetry() {
		t.Error("a swap may be sent again")
	}
}

func TestAPokeThatIsNotSentIsAnError(t *testing.T) {
	err := open(t, "redis://127.0.0.1:1", patient).Publish(t.Context(), "shop", "worker")
	if err == nil || !strings.HasPrefix(err.Error(), "poke shop/worker: ") {
		t.Errorf("got %v", err)
	}
}
