package watch

import (
	"context"
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// slots is how many times per interval something is read. Each stream has one of
// them by chance, so that 10,000 streams make 20 batches of about 500 per second
// and not one burst, nor 10,000 single reads.
const slots = 20

// Run schedules until the context ends. Then it ends all streams as Shutdown does,
// waits for reads and evaluations under way, and returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next, some := w.fire(ctx, time.Now()); some {
			timer.Reset(time.Until(next))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			w.Shutdown()
			w.running.Wait()
			return nil
		case <-timer.C:
		case <-w.wake:
		}
	}
}

// fire starts all that is due, and returns when something will be due next.
func (w *Watcher) fire(ctx context.Context, now time.Time) (next time.Time, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.due) > 0 && !w.due[0].due.After(now) {
		w.tend(ctx, w.due[0], now)
	}
	for _, l := range w.ready {
		w.running.Go(func() { w.serve(ctx, l) })
	}
	w.ready = w.ready[:0]
	if len(w.due) == 0 {
		return time.Time{}, false
	}
	return w.due[0].due, true
}

// tend does what is due for a stream, and sets when it is due again.
func (w *Watcher) tend(ctx context.Context, s *stream, now time.Time) {
	if !now.Before(s.expires) {
		s.end()
	}
	switch {
	case s.gone:
		w.due.remove(s)
	case s.evaluating: // the decision will plan on
		w.due.set(s, s.expires)
	case s.inactive():
		for _, p := range s.probes {
			w.enqueue(p, ticks)
		}
		w.due.set(s, earlier(w.nextTick(s, now), s.expires))
	default:
		w.evaluate(ctx, s, &w.checks, nil)
		w.due.set(s, s.expires)
	}
}

// plan sets when a stream that nothing is under way for is due.
func (w *Watcher) plan(s *stream, now time.Time) {
	next := now
	switch {
	case !s.known:
	case len(s.probes) == 0:
		next = now.Add(w.about(w.options.InvalidCheck))
	case !s.announcer.active:
		next = w.nextTick(s, now)
	default:
		next = now.Add(w.about(w.options.Check))
		if s.announcer.pause > 0 {
			next = earlier(next, s.announcer.again)
		}
	}
	w.due.set(s, earlier(next, s.expires))
	if s.index == 0 {
		w.wakeUp()
	}
}

// nextTick is the next time at which the stream's triggers are read: on a grid, so
// that streams of one slot are read together, and never twice for a late start.
func (w *Watcher) nextTick(s *stream, now time.Time) time.Time {
	// One interval more than has passed since the stream's first tick: before that,
	// what is left is less than one.
	passed := now.Sub(w.epoch) - s.phase + s.interval
	return w.epoch.Add(s.phase + passed.Truncate(s.interval))
}

func (w *Watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// pool evaluates with a bounded number of workers, first come first served.
type pool struct {
	jobs []job
	busy int
}

type job struct {
	stream *stream
	// outcomes are fresh readings, nil for the evaluator to see to it.
	outcomes []scaling.Outcome
}

// evaluate queues an evaluation. There is one at a time per stream.
func (w *Watcher) evaluate(ctx context.Context, s *stream, p *pool, outcomes []scaling.Outcome) {
	s.evaluating = true
	p.jobs = append(p.jobs, job{s, outcomes})
	if p.busy < workers {
		p.busy++
		w.running.Go(func() { w.work(ctx, p) })
	}
}

// work evaluates until the pool is empty.
func (w *Watcher) work(ctx context.Context, p *pool) {
	for {
		next, ok := w.takeJob(p)
		if !ok {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, w.options.EvaluateTimeout)
		decision := w.evaluator.Evaluate(bounded, scaling.Request{
			Ref: next.stream.ref, Policy: next.stream.policy, Outcomes: next.outcomes,
		})
		cancel()
		w.decided(ctx, next.stream, decision)
	}
}

// takeJob returns the next job whose stream is still open. Without one, the worker
// is no longer counted.
func (w *Watcher) takeJob(p *pool) (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p.jobs) > 0 {
		next := p.jobs[0]
		p.jobs[0] = job{}
		p.jobs = p.jobs[1:]
		if !next.stream.gone {
			return next, true
		}
	}
	p.busy--
	return job{}, false
}

// decided takes the decision on a stream: tells the client, and plans on.
func (w *Watcher) decided(ctx context.Context, s *stream, d scaling.Decision) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.gone {
		return
	}
	s.evaluating = false
	wasActive := s.announcer.active
	if s.announcer.hear(d, now) {
		select {
		case s.announce <- struct{}{}:
		default: // the handler still has the last one to send
		}
	}
	s.known = true
	if wasActive && !s.announcer.active && !s.wanted {
		s.forgetOutcomes() // they are from before it was active
	}
	w.plan(s, now)
	w.evaluateOutcomes(ctx, s)
}

// evaluateOutcomes evaluates what was read for a stream, if that is wanted and all
// of its servers have answered.
func (w *Watcher) evaluateOutcomes(ctx context.Context, s *stream) {
	if s.wanted && !s.evaluating && s.answered() {
		s.wanted = false
		w.evaluate(ctx, s, &w.edges, slices.Clone(s.outcomes))
	}
}
