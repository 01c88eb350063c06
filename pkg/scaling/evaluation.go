package scaling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// evaluation is one request under way. Its 3 KB are on the heap and changed in place: a
// server answers each request in a new goroutine with a stack of 2 to 8 KiB, which doubles,
// and is copied, each time that it is full. Passed on by value they took 14 KiB of it, and
// growing it took longer than deciding did (BenchmarkEvaluate).
type evaluation struct {
	*Evaluator
	question
	state

	step   step
	before Decision
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func (e *Evaluator) begin() *evaluation {
	v, _ := evaluations.Get().(*evaluation) // nothing else is in it
	v.Evaluator = e
	return v
}

// end lets go of all that an evaluation knows, and makes it another one's.
func (v *evaluation) end() {
	*v = evaluation{}
	evaluations.Put(v)
}

// question is what stays the same while one request is answered.
type question struct {
	key    Key
	policy *Policy
	obs    Observation
}

// run decides, remembers that, and tells it. The decision is the evaluation's.
func (v *evaluation) run(ctx context.Context, req *Request) *Decision {
	full := v.memory.admit(policyName{req.Ref, req.Policy.Record})
	v.decide(ctx, req, full)
	if full == nil && v.memory.decided(&v.step.d, &v.before) {
		v.onDecision(&v.before, &v.step.d)
	}
	return &v.step.d
}

// decide makes a decision, unless there is no room for it.
func (v *evaluation) decide(ctx context.Context, req *Request, full error) {
	if err := v.look(ctx, req, full); err != nil {
		v.refuse(err)
		return
	}
	v.load(ctx)
	if err := context.Cause(ctx); err != nil { // nobody waits; and it is not the store that is away
		v.refuse(err)
		return
	}
	v.catchUp()
	// A caller who observes no workload cannot have read what needs one: then all is read
	// again, for what it has read was worth a request.
	read := req.Outcomes != nil
	if read && !slices.ContainsFunc(v.policy.Triggers, Trigger.NeedsWorkload) {
		v.commit(ctx, req.Outcomes, true)
		return
	}
	if (read || v.wantsReading(&v.question)) && !v.awaitReading(ctx, read) {
		v.pass() // the wait was in vain, but it took time
	}
	v.commit(ctx, nil, false)
}

// look observes the workload, and says why nothing can be decided.
func (v *evaluation) look(ctx context.Context, req *Request, full error) (err error) {
	v.policy = req.Policy
	v.obs, err = v.observer.Observe(ctx, req.Ref, req.Policy.Metric)
	v.obs.UID = cmp.Or(v.obs.UID, req.UID)
	v.key = Key{req.Ref, v.obs.Target, req.Policy.Record}
	if req.Policy.Invalid != nil {
		return req.Policy.Invalid
	}
	return cmp.Or(err, unservable(req.Policy, &v.obs), full)
}

// refuse decides where there is nothing to decide on: of a policy that cannot be followed
// the count is held, else there is only the error.
func (v *evaluation) refuse(err error) {
	if v.policy.Invalid != nil || errors.Is(err, ErrBadPolicy) || errors.Is(err, ErrTooMany) {
		bad := *v.policy
		bad.Invalid, v.policy = err, &bad
		v.now = time.Now()
		v.stepOn(nil)
		return
	}
	v.step.d = Decision{
		Key: v.key, Mode: v.policy.mode(), At: time.Now(), Native: v.obs.Native, Decider: -1,
		Err: err, Warnings: v.policy.Warnings,
	}
}

// unservable returns why an otherwise good policy cannot serve this object.
func unservable(p *Policy, obs *Observation) error {
	switch {
	case obs.ValueType:
		return fmt.Errorf("%w: metricType Value cannot be served: the HPA would multiply by pods that are ready at that instant; use AverageValue", ErrBadPolicy)
	case obs.Job && p.Stabilised():
		return fmt.Errorf("%w: behavior does not apply to a ScaledJob; remove it", ErrBadPolicy)
	}
	return nil
}

// load fetches the record, and works out how much time has passed for it.
func (v *evaluation) load(ctx context.Context) {
	asked := time.Now()
	if v.obs.Job {
		v.memory.local(v.key, &v.state)
	} else if loaded, err := v.records.Load(ctx, v.key); err != nil {
		v.memory.away(v.key, &v.state)
	} else {
		v.memory.loaded(v.key, loaded, asked, &v.state)
	}
}

// catchUp makes the observation the latest that the record knows of.
func (v *evaluation) catchUp() {
	v.obs.catchUp(&v.record, v.policy, v.record.Clock+v.elapsed, v.blind)
}

// commit steps and stores what changed. Of several replicas that change a record
// at once one wins; the others step again on its record, and on its readings
// unless their own are known to be the newest (newest).
func (v *evaluation) commit(ctx context.Context, outcomes []Outcome, newest bool) {
	for range maxSwaps {
		v.stepOn(outcomes)
		if !v.step.changed {
			return
		}
		stored, outrun := v.store(ctx)
		if stored {
			return
		}
		if outrun && !newest && !v.wantsReading(&v.question) {
			outcomes = nil
		}
	}
	v.stepOn(nil)
}

// store stores what the step has changed. If it could not, the state is one to step again
// on: that of a replica which was faster (outrun), or of this process alone.
func (v *evaluation) store(ctx context.Context) (stored, outrun bool) {
	if v.degraded || v.obs.Job {
		v.memory.keep(v.key, &v.step.rec, &v.state)
		return true, false
	}
	swapped, err := v.records.Swap(ctx, v.key, v.version, v.step.rec, v.policy.memory()+v.memory.idle)
	switch {
	case err != nil: // go on from the record just loaded
		v.degraded, v.unsure = true, true
		v.memory.doubt(v.key)
		return false, false
	case swapped:
		v.memory.stored(v.key, &v.step.rec, &v.state)
		return true, false
	}
	v.load(ctx)
	v.catchUp()
	return false, true
}

// stepOn makes a decision of what is known at this moment.
func (v *evaluation) stepOn(outcomes []Outcome) {
	v.step = step{}
	in := &v.step.in
	in.Key, in.Policy, in.Observation, in.Outcomes, in.Record = v.key, v.policy, v.obs, outcomes, v.record
	in.Now, in.Elapsed, in.Unsaved = v.now, v.elapsed, v.unsaved
	in.Blind, in.Lost, in.Unsure, in.Degraded = v.blind, v.lost, v.unsure, v.degraded
	v.step.run()
}

// awaitReading joins the read of this question, or starts it, and waits as long
// as patience allows. ok is false if there is no new record yet. anew reads whatever is
// on file.
func (v *evaluation) awaitReading(ctx context.Context, anew bool) (ok bool) {
	mine := &evaluation{Evaluator: v.Evaluator, question: v.question, state: v.state} // the caller may leave
	//nolint:contextcheck // a read outlives the caller that started it: others wait for it
	f := v.reads.join(&mine.question, func(ctx context.Context, read func() []Outcome) *state {
		mine.read(ctx, read, anew)
		return &mine.state
	})
	if !v.reads.wait(ctx, f) {
		return false
	}
	v.state = *f.result
	v.pass()
	return true
}

// read reads, unless another read has landed between the caller's load and this one's turn.
func (v *evaluation) read(ctx context.Context, read func() []Outcome, anew bool) {
	if !anew && v.dated() {
		if recent := v.memory.recent(v.key, &v.state); !recent.wantsReading(&v.question) {
			v.state = recent
			return
		}
	}
	outcomes := read()
	for i := range outcomes {
		if v.policy.Triggers[i].NeedsWorkload() {
			outcomes[i].Spec = v.obs.Spec
		}
	}
	if obs, err := v.observer.Observe(ctx, v.key.Ref, v.policy.Metric); err == nil && obs.Target == v.key.Target {
		v.obs = obs
	}
	v.catchUp()
	v.pass()
	v.commit(ctx, outcomes, false)
}
