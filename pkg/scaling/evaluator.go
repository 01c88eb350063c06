package scaling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Options configure an Evaluator. Source, Store and Observer are required.
type Options struct {
	Source   Source
	Store    Store
	Observer Observer
	// OnDecision is told every decision, and the one before it of the same policy: the zero
	// value if there was none, or it was forgotten. It must not block.
	OnDecision func(before, d Decision)
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
	store      Store
	observer   Observer
	onDecision func(before, d Decision)
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
		o.OnDecision = func(Decision, Decision) {}
	}
	return &Evaluator{
		store: o.Store, observer: o.Observer, onDecision: o.OnDecision,
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
	growStack()
	full := e.memory.admit(policyName{req.Ref, req.Policy.Record})
	d := e.decide(ctx, req, full)
	if full == nil {
		if before, ok := e.memory.decided(d); ok {
			e.onDecision(before, d)
		}
	}
	return d
}

// growStack makes most of the room that a decision needs on the goroutine's stack, at
// once. Servers answer each request in a new goroutine of 2 to 8 KiB, and a decision needs
// 15: the stack would double step by step, each time with more frames to move.
// BenchmarkEvaluate tells what that takes.
//
//go:noinline
func growStack() {
	var room [10 << 10]byte
	runtime.KeepAlive(&room)
}

// decide makes a decision, unless there is no room for it.
func (e *Evaluator) decide(ctx context.Context, req Request, full error) Decision {
	obs, err := e.observer.Observe(ctx, req.Ref, req.Policy.Metric)
	if obs.UID == "" {
		obs.UID = req.UID
	}
	q := question{key: Key{req.Ref, obs.Target, req.Policy.Record}, policy: req.Policy, obs: obs}
	if err == nil && req.Policy.Invalid == nil {
		err = cmp.Or(unservable(req.Policy, obs), full)
	}
	switch {
	case req.Policy.Invalid != nil:
		return unfollowed(q, req.Policy.Invalid)
	case errors.Is(err, ErrBadPolicy), errors.Is(err, ErrTooMany):
		return unfollowed(q, err)
	case err != nil:
		return refuse(q, err)
	}
	st := e.load(ctx, q)
	if err := context.Cause(ctx); err != nil { // nobody waits; and it is not the store that is away
		return refuse(q, err)
	}
	q = st.view(q)
	// A caller who observes no workload cannot have read what needs one: then all is read
	// again, for what it has read was worth a request.
	read := req.Outcomes != nil
	if read && !slices.ContainsFunc(q.policy.Triggers, Trigger.NeedsWorkload) {
		return e.commit(ctx, q, st, req.Outcomes, true).decision
	}
	if read || st.wantsReading(q) {
		if after, ok := e.awaitReading(ctx, q, st, read); ok {
			st = after
		} else {
			st = e.memory.since(st) // the wait was in vain, but it took time
		}
	}
	return e.commit(ctx, q, st, nil, false).decision
}

// unfollowed is the decision on a policy that cannot be followed.
func unfollowed(q question, why error) Decision {
	bad := *q.policy
	bad.Invalid, q.policy = why, &bad
	return Step(q.input(state{now: time.Now()})).Decision
}

// refuse is the decision where nothing is known to decide on.
func refuse(q question, err error) Decision {
	return Decision{
		Key: q.key, Mode: q.policy.mode(), At: time.Now(), Native: q.obs.Native, Decider: -1,
		Err: err, Warnings: q.policy.Warnings,
	}
}

// unservable returns why an otherwise good policy cannot serve this object.
func unservable(p *Policy, obs Observation) error {
	switch {
	case obs.ValueType:
		return fmt.Errorf("%w: metricType Value cannot be served: the HPA would multiply by pods that are ready at that instant; use AverageValue", ErrBadPolicy)
	case obs.Job && p.Stabilised():
		return fmt.Errorf("%w: behavior does not apply to a ScaledJob; remove it", ErrBadPolicy)
	}
	return nil
}

// question is what stays the same while one request is answered.
type question struct {
	key    Key
	policy *Policy
	obs    Observation
}

func (q question) input(st state) Input {
	return Input{
		Key: q.key, Policy: q.policy, Observation: q.obs,
		Record: st.record, Now: st.now, Elapsed: st.elapsed, Blind: st.blind, Lost: st.lost, Unsure: st.unsure,
		Unsaved: st.unsaved, Degraded: st.degraded,
	}
}

// answered is a decision and the state after it.
type answered struct {
	decision Decision
	state    state
}

// commit steps and stores what changed. Of several replicas that change a record
// at once one wins; the others step again on its record, and on its readings
// unless their own are known to be the newest (newest).
func (e *Evaluator) commit(ctx context.Context, q question, st state, outcomes []Outcome, newest bool) answered {
	for range maxSwaps {
		in := q.input(st)
		in.Outcomes = outcomes
		result := Step(in)
		if !result.Changed {
			return answered{result.Decision, st}
		}
		if st.degraded || q.obs.Job {
			return answered{result.Decision, e.memory.keep(q.key, result.Record, st)}
		}
		swapped, err := e.store.Swap(ctx, q.key, st.version, result.Record, q.policy.memory()+e.memory.idle)
		if err != nil {
			// Go on alone, from the record just loaded.
			st.degraded, st.unsure = true, true
			e.memory.doubt(q.key)
			continue
		}
		if swapped {
			return answered{result.Decision, e.memory.stored(q.key, result.Record, st)}
		}
		st = e.load(ctx, q)
		q = st.view(q)
		if !newest && !st.wantsReading(q) {
			outcomes = nil
		}
	}
	return answered{Step(q.input(st)).Decision, st}
}

// load fetches the record, and works out how much time has passed for it.
func (e *Evaluator) load(ctx context.Context, q question) state {
	if q.obs.Job {
		return e.memory.local(q.key)
	}
	asked := time.Now()
	loaded, err := e.store.Load(ctx, q.key)
	if err != nil {
		return e.memory.away(q.key)
	}
	return e.memory.loaded(q.key, loaded, asked)
}

// awaitReading joins the read of this question, or starts it, and waits as long
// as patience allows. ok is false if there is no new record yet. anew reads whatever is
// on file.
func (e *Evaluator) awaitReading(ctx context.Context, q question, st state, anew bool) (state, bool) {
	//nolint:contextcheck // a read outlives the caller that started it: others wait for it
	f := e.reads.join(q, func(ctx context.Context, read func() []Outcome) state {
		// Another read may have landed between this caller's load and its turn.
		if mine := e.memory.recent(q.key, st); !anew && st.dated() && !mine.wantsReading(q) {
			return mine
		}
		outcomes := read()
		for i := range outcomes {
			if q.policy.Triggers[i].NeedsWorkload() {
				outcomes[i].Spec = q.obs.Spec
			}
		}
		if obs, err := e.observer.Observe(ctx, q.key.Ref, q.policy.Metric); err == nil && obs.Target == q.key.Target {
			q.obs = obs
		}
		return e.commit(ctx, st.view(q), e.memory.since(st), outcomes, false).state
	})
	if !e.reads.wait(ctx, f) {
		return state{}, false
	}
	return e.memory.since(f.result), true
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
		loaded, err := e.store.Load(ctx, key)
		if err != nil {
			return fmt.Errorf("forget %s: %w", key, err)
		}
		empty := loaded.Record.forgotten(loaded.Now)
		// It has to be there for as long as another process may remember the one before.
		swapped, err := e.store.Swap(ctx, key, loaded.Version, empty, max(time.Hour, e.memory.idle+sweepEvery))
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
