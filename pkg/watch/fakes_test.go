package watch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// query is "server/what".
type query string

func (q query) Server() string { return strings.Split(string(q), "/")[0] }
func (q query) String() string { return string(q) }

// policyOf reads the given queries, each with activation threshold 0.
func policyOf(queries ...query) *scaling.Policy {
	p := &scaling.Policy{Metric: "jobs"}
	for _, q := range queries {
		p.Triggers = append(p.Triggers, scaling.Trigger{Query: q})
	}
	return p
}

func refOf(name string) scaling.Ref {
	return scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: name}
}

// world is both sides of a watcher: queues that hold numbers, and a workload with
// replicas. What it is asked, it writes down with the second.
type world struct {
	mu       sync.Mutex
	born     time.Time
	queues   map[query]float64
	broken   map[query]bool
	hung     map[string]bool          // servers
	lag      map[string]time.Duration // servers
	replicas int32
	// awake: active whatever the queues say, as within a cooldown.
	awake bool
	err   error
	// stuck: objects whose evaluation hangs.
	stuck map[string]bool

	reads     []time.Duration
	batches   []int
	evaluated []time.Duration
	requests  []scaling.Request
}

func newWorld() *world {
	return &world{born: time.Now(), queues: map[query]float64{}, broken: map[query]bool{}, hung: map[string]bool{}, lag: map[string]time.Duration{}, stuck: map[string]bool{}}
}

// set changes the world, or looks at it.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	w.mu.Lock()
	w.reads = append(w.reads, time.Since(w.born))
	w.batches = append(w.batches, len(queries))
	hung, lag := w.hung[queries[0].Server()], w.lag[queries[0].Server()]
	w.mu.Unlock()
	time.Sleep(lag)
	if hung {
		<-ctx.Done()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		outcomes[i].Value = w.queues[q.(query)]
		if hung || w.broken[q.(query)] {
			outcomes[i] = scaling.Outcome{Err: errors.New("down")}
		}
	}
	return outcomes
}

// Evaluate is pass-through: active when a queue is not empty.
func (w *world) Evaluate(ctx context.Context, req scaling.Request) scaling.Decision {
	w.mu.Lock()
	w.evaluated = append(w.evaluated, time.Since(w.born))
	w.requests = append(w.requests, req)
	stuck := w.stuck[req.Ref.Name]
	w.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return scaling.Decision{Err: ctx.Err()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := scaling.Decision{Active: w.awake, Running: w.replicas, Err: w.err}
	if req.Policy.Invalid != nil {
		d.Err = req.Policy.Invalid
	}
	for _, trigger := range req.Policy.Triggers {
		q, _ := scaling.In(trigger.Query, scaling.Scope{Namespace: req.Ref.Namespace}).(query)
		d.Active = d.Active || !trigger.NeedsWorkload() && w.queues[q] > 0
	}
	return d
}

func seconds(times []time.Duration) []float64 {
	list := make([]float64, len(times))
	for i, t := range times {
		list[i] = t.Seconds()
	}
	return list
}

// want checks at which seconds something has happened so far.
func (b *bench) want(what string, happened *[]time.Duration, want ...float64) {
	b.t.Helper()
	b.set(func() {
		if got := seconds(*happened); !slices.Equal(got, want) {
			b.t.Errorf("%s at seconds %v, want %v", what, got, want)
		}
	})
}

// request is the nth thing that was evaluated.
func (b *bench) request(n int) (req scaling.Request) {
	b.set(func() { req = b.requests[n] })
	return req
}

// client is one open stream. heard has the times at which it was told, err what
// the stream ended with, ended when.
type client struct {
	heard  []time.Duration
	err    error
	ended  time.Duration
	cancel context.CancelFunc
	// refuse is returned for every send.
	refuse error
}

// bench is a running watcher in its world.
type bench struct {
	*world
	*Watcher
	t *testing.T
}

// exact options: everything that is jittered is not, ticks fall on whole seconds.
func exact() Options { return Options{Random: func() float64 { return 0.5 }} }

// run calls test in a bubble of its own time, with a watcher that runs.
func run(t *testing.T, options Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := &bench{world: w, Watcher: New(w, w, options), t: t}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx) }()
		test(b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

func (b *bench) watch(name string, policy *scaling.Policy) *client {
	return b.watchAs(&client{}, name, policy)
}

func (b *bench) watchAs(c *client, name string, policy *scaling.Policy) *client {
	ctx, cancel := context.WithCancel(b.t.Context())
	c.cancel = cancel
	go func() {
		c.err = b.Watch(ctx, refOf(name), policy, func() error {
			b.set(func() { c.heard = append(c.heard, time.Since(b.born)) })
			return c.refuse
		})
		c.ended = time.Since(b.born)
	}()
	synctest.Wait()
	return c
}

// at moves time to a second after the start, when all that is due then has
// happened.
func (b *bench) at(second float64) {
	b.t.Helper()
	until := b.born.Add(time.Duration(second * float64(time.Second)))
	if time.Until(until) < 0 {
		b.t.Fatalf("second %v has passed", second)
	}
	time.Sleep(time.Until(until))
	synctest.Wait()
}
