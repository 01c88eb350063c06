package scaling

import (
	"context"
	"fmt"
	"time"
)

// Options configure an Evaluator. Source, Store and Observer are required.
type Options struct {
	Source   Source
	Store    Store
	Observer Observer
	// OnDecision is told every decision, and the one before it of the same policy: the zero
	// value if there was none, or it was forgotten. It must not block, and neither is its to
	// change or to keep.
	OnDecision func(before, d *Decision)
	// Patience is how long a caller waits for a reading; 500 ms if zero.
	Patience time.Duration
	// ReadTimeout ends a read that nobody waits for any more; 3 s if zero.
	ReadTimeout time.Duration
	// MaxPolicies is how many policies are known at once at most; 200,000 if zero.
	MaxPolicies int
	// MaxPerNamespace is the same of one namespace; no limit of its own if zero.
	MaxPerNamespace int
	// ForgetAfter is how long nobody may ask about a policy and it is still known, and how
	// much longer than its memory its record is kept; an hour if zero. It has to be longer
	// than anybody is silent who asks about it: whoever is forgotten each time never ages.
	ForgetAfter time.Duration
}

// maxSwaps is how often a change is stepped again on a newer record.
const maxSwaps = 10

// Evaluator answers requests: it loads, reads, steps and swaps. It is safe for
// concurrent use.
type Evaluator struct {
	records    Store
	observer   Observer
	onDecision func(before, d *Decision)
	memory     *memory
	reads      *reads
}

// NewEvaluator returns an evaluator over its parts.
func NewEvaluator(o Options) *Evaluator {
	if o.Patience == 0 {
		o.Patience = 500 * time.Millisecond
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 3 * time.Second
	}
	if o.MaxPolicies == 0 {
		o.MaxPolicies = 200_000
	}
	if o.ForgetAfter == 0 {
		o.ForgetAfter = time.Hour
	}
	if o.OnDecision == nil {
		o.OnDecision = func(_, _ *Decision) {}
	}
	return &Evaluator{
		records: o.Store, observer: o.Observer, onDecision: o.OnDecision,
		memory: newMemory(o.MaxPolicies, o.MaxPerNamespace, o.ForgetAfter), reads: newReads(o.Source, o.Patience, o.ReadTimeout),
	}
}

// Request asks for the decision of one policy.
type Request struct {
	Ref    Ref
	Policy *Policy
	// UID is that of the object, where the caller knows it and the observer does not.
	UID string
	// Outcomes are readings that the caller has just made, one per trigger, of which those
	// of triggers that need a workload are not looked at; nil to let the evaluator see to
	// it.
	Outcomes []Outcome
}

// Evaluate makes a decision. It always returns one; Decision.Err says whether it
// may be served. Callers wait at most the patience for a reading, once: while a
// server is slower than that, they get what is on file. A policy beyond the limit is
// treated as a bad one, and nothing of it is remembered or told to OnDecision: no list and
// no log may grow with strangers.
func (e *Evaluator) Evaluate(ctx context.Context, req Request) Decision {
	v := e.begin()
	defer v.end()
	return *v.run(ctx, &req)
}

// Answer is Evaluate for who needs no more than the answer: a decision takes 1.4 KB of the
// caller's stack, which in a server is new with each request.
func (e *Evaluator) Answer(ctx context.Context, req Request) Answer {
	v := e.begin()
	defer v.end()
	d := v.run(ctx, &req)
	return Answer{d.Value, d.Active, d.Err}
}

// Decisions returns the last decision of every key that this process has been
// asked about lately.
func (e *Evaluator) Decisions() []Decision { return e.memory.decisions() }

// Forget replaces what is remembered of an object's policies by nothing: the next
// decision starts without windows, events and cooldown. It returns how many
// records there were.
func (e *Evaluator) Forget(ctx context.Context, namespace, name string) (int, error) {
	forgotten := 0
	for _, d := range e.memory.decisions() {
		if d.Key.Namespace != namespace || d.Key.Name != name {
			continue
		}
		if err := e.forget(ctx, d.Key); err != nil {
			return forgotten, err
		}
		forgotten++
	}
	return forgotten, nil
}

func (e *Evaluator) forget(ctx context.Context, key Key) error {
	for range maxSwaps {
		loaded, err := e.records.Load(ctx, key)
		if err != nil {
			return fmt.Errorf("forget %s: %w", key, err)
		}
		last := loaded.Record
		if last == nil {
			var st state
			e.memory.local(key, &st)
			st.record.Clock += st.elapsed
			last = &st.record
		}
		empty := last.forgotten(loaded.Now)
		// It has to be there for as long as another process may remember the one before.
		swapped, err := e.records.Swap(ctx, key, loaded.Version, empty, max(time.Hour, e.memory.idle+sweepEvery))
		if err != nil {
			return fmt.Errorf("forget %s: %w", key, err)
		}
		if swapped {
			e.memory.forget(key)
			return nil
		}
	}
	return fmt.Errorf("forget %s: other writers were faster %d times; try again", key, maxSwaps)
}
