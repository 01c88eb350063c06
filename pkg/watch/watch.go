// Package watch wakes workloads: it watches the open push streams of policies that
// are inactive, and tells a stream when its policy becomes active.
//
// All streams share one scheduler. A stream costs its gRPC handler's goroutine,
// which sleeps on a channel, and an entry in a heap; no timer and no goroutine of
// its own. What is due is read in batches per server, so that a server that hangs
// delays nobody but itself.
package watch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Evaluator makes decisions.
type Evaluator interface {
	// Evaluate returns by the context's end at the latest.
	Evaluate(ctx context.Context, req scaling.Request) scaling.Decision
}

// Options tune a Watcher. The zero value of each field means its default.
type Options struct {
	// Interval is how often the triggers of an inactive policy are read, unless one of
	// them is costly, when it is the policy's; 1 s.
	Interval time.Duration
	// Check is how often an active policy is evaluated, to learn that it no longer
	// is, give or take a tenth; 5 s.
	Check time.Duration
	// InvalidCheck is the same for a policy that cannot be followed, of which there
	// is nothing to watch; 1 min.
	InvalidCheck time.Duration
	// Life is how long a stream stays open, give or take a tenth; 30 min. KEDA's
	// back-off for broken streams resets only when a stream ends cleanly.
	Life time.Duration
	// ReadTimeout bounds one batch of reads; 3 s.
	ReadTimeout time.Duration
	// EvaluateTimeout bounds one evaluation; 2 s.
	EvaluateTimeout time.Duration
	// MaxStreams is how many streams are open at once at most; 50,000.
	MaxStreams int
	// MaxPerNamespace is the same of one namespace; no limit of its own if zero.
	MaxPerNamespace int
	// Random is a source of numbers in [0, 1), for all that is spread; math/rand's.
	Random func() float64
}

func (o Options) withDefaults() Options {
	for _, field := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&o.Interval, time.Second},
		{&o.Check, 5 * time.Second},
		{&o.InvalidCheck, time.Minute},
		{&o.Life, 30 * time.Minute},
		{&o.ReadTimeout, 3 * time.Second},
		{&o.EvaluateTimeout, 2 * time.Second},
	} {
		if *field.value <= 0 {
			*field.value = field.fallback
		}
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = 50_000
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// workers is how many evaluations run at once in each of the two pools.
const workers = 32

// Watcher watches streams. It is safe for concurrent use.
type Watcher struct {
	evaluator Evaluator
	source    scaling.Source
	options   Options
	// epoch is where the grid of reading times starts.
	epoch time.Time
	// wake tells the scheduler that something is due earlier than it thinks.
	wake chan struct{}
	// running counts the goroutines that read and evaluate.
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	due     dueHeap
	objects map[objectName]*object
	// streams is how many streams the objects have, namespaces how many those of each.
	streams    int
	namespaces map[string]int
	lanes      map[laneKey]*lane
	// ready are lanes with something to read that the scheduler has yet to start.
	ready []*lane
	// edges evaluates what may have become active, checks everything else: a flood
	// of streams that open cannot delay an edge.
	edges, checks pool
}

// New returns a watcher, which does nothing until it runs.
func New(evaluator Evaluator, source scaling.Source, options Options) *Watcher {
	return &Watcher{
		evaluator:  evaluator,
		source:     source,
		options:    options.withDefaults(),
		epoch:      time.Now(),
		wake:       make(chan struct{}, 1),
		objects:    map[objectName]*object{},
		namespaces: map[string]int{},
		lanes:      map[laneKey]*lane{},
	}
}

// Watch serves one stream: it calls send, on this goroutine, each time the client
// is to be told that the policy is active. It returns nil when the stream has
// lived its life, give or take a tenth, and when streams are ended; the context's
// error when the client goes away; send's error; and scaling.ErrTooMany for a stream
// beyond the limit, without which polls wake the workload as before.
//
// send is called only after an evaluation that says active, and only where the
// workload is known to have no replicas or nobody knows its count: an active push
// to a workload that runs would restart KEDA's cooldown. While the workload stays
// at 0 it is repeated after 1, 2, 4, 8, 16, 30, 30 … seconds, because KEDA drops
// an event for a metric that it has not cached yet. Where the count is unknown,
// every change from inactive to active is told once.
func (w *Watcher) Watch(ctx context.Context, ref scaling.Ref, policy *scaling.Policy, send func() error) error {
	s, err := w.open(ref, policy)
	if s == nil {
		return err
	}
	defer w.close(s)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return nil
		case <-s.announce:
			if err := send(); err != nil {
				return fmt.Errorf("announce activity of %s/%s: %w", ref.Namespace, ref.Name, err)
			}
		}
	}
}

// open registers a stream, to be evaluated at once. It is nil after Shutdown, and with an
// error beyond the limit.
func (w *Watcher) open(ref scaling.Ref, policy *scaling.Policy) (*stream, error) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil //nolint:nilnil // a stream that ends as it opens is no error
	}
	if err := w.admit(ref); err != nil {
		return nil, err
	}
	s := newStream(ref, policy)
	s.interval = w.intervalOf(policy)
	s.phase = s.interval / slots * time.Duration(slots*w.options.Random())
	s.expires = now.Add(w.about(w.options.Life))
	name := objectName{ref.Namespace, ref.Name}
	if w.objects[name] == nil {
		w.objects[name] = &object{streams: map[*stream]struct{}{}}
	}
	w.objects[name].streams[s] = struct{}{}
	w.streams++
	w.namespaces[ref.Namespace]++
	w.plan(s, now)
	return s, nil
}

// admit says why a stream is one too many; nil if it is not. The caller holds the lock.
func (w *Watcher) admit(ref scaling.Ref) error {
	most, share := w.options.MaxStreams, w.options.MaxPerNamespace
	switch {
	case w.streams >= most:
		return fmt.Errorf("%w streams: that of %s/%s is beyond the %d that this process keeps open, see --max-streams", scaling.ErrTooMany, ref.Namespace, ref.Name, most)
	case share > 0 && w.namespaces[ref.Namespace] >= share:
		return fmt.Errorf("%w streams: that of %s/%s is beyond the %d that this process keeps open of one namespace, see --max-per-namespace", scaling.ErrTooMany, ref.Namespace, ref.Name, share)
	}
	return nil
}

// intervalOf is how often the triggers of a policy are read while it is inactive.
func (w *Watcher) intervalOf(policy *scaling.Policy) time.Duration {
	for _, trigger := range policy.Triggers {
		if trigger.Costly && !trigger.NeedsWorkload() { // which is not read at all
			return max(w.options.Interval, policy.Interval)
		}
	}
	return w.options.Interval
}

// close forgets a stream. What is still being read or evaluated for it is dropped
// when it comes back.
func (w *Watcher) close(s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.gone = true
	w.due.remove(s)
	name := objectName{s.ref.Namespace, s.ref.Name}
	object := w.objects[name]
	delete(object.streams, s)
	w.streams--
	if w.namespaces[name.namespace]--; w.namespaces[name.namespace] == 0 {
		delete(w.namespaces, name.namespace)
	}
	if len(object.streams) == 0 {
		delete(w.objects, name)
	}
}

// Shutdown ends all open streams cleanly and every later one as it opens, so that
// a graceful stop of the server does not wait for them.
func (w *Watcher) Shutdown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, object := range w.objects {
		for s := range object.streams {
			s.end()
		}
	}
}

// about is d, give or take a tenth.
func (w *Watcher) about(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*w.options.Random()))
}
