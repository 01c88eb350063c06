package externalmetrics

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// patrolLook is how often it is looked which metrics there are.
	patrolLook = time.Second
	// patrolInterval is the shortest time between two visits of a metric.
	patrolInterval = 5 * time.Second
	// patrolSlack is added to a policy's interval. The reading that one visit leaves
	// is as old at the next as the visits are apart, less what it took to read; without
	// the slack it would be too young to be read again every other time. It is the time
	// for which an evaluation waits for a reading.
	patrolSlack = 500 * time.Millisecond
	// patrolWorkers is how many evaluations are under way at once.
	patrolWorkers = 16
	// patrolPatience ends one evaluation.
	patrolPatience = 10 * time.Second
)

// Metrics lists the metrics that there are.
type Metrics interface {
	Metrics() []scaling.Metric
}

// Patrol evaluates all metrics again and again, whether anybody asks for them or not:
// the HPA of a workload at zero that it does not mean to wake asks for nothing, and that
// is just when its user looks at the status. It is for one replica at a time.
//
// A metric is visited at its policy's interval, every 5 s at most, and each at another
// moment of it, which follows from its name: 1,000 metrics with an interval of 5 s are
// 180 evaluations per second and no bursts. One that is new or has changed is visited
// within a second.
type Patrol struct {
	metrics   Metrics
	evaluator Evaluator
	told      func(scaling.Metric, scaling.Decision)
}

// NewPatrol returns a patrol of metrics. told gets every decision, from several
// goroutines at once, and must not block.
func NewPatrol(metrics Metrics, evaluator Evaluator, told func(scaling.Metric, scaling.Decision)) *Patrol {
	return &Patrol{metrics, evaluator, told}
}

// Run patrols until the context ends, waits for evaluations under way, and returns nil.
// It may run again afterwards.
func (p *Patrol) Run(ctx context.Context) error {
	t := &tour{patrol: p, ctx: ctx, visits: map[scaling.Ref]*visit{}}
	defer t.end()
	ticker := time.NewTicker(patrolLook)
	defer ticker.Stop()
	// All metrics are new now, and should not be visited at one moment.
	t.look(p.metrics.Metrics(), patrolInterval)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t.look(p.metrics.Metrics(), 0)
		}
	}
}

// tour is one run of a patrol.
type tour struct {
	patrol *Patrol
	ctx    context.Context //nolint:containedctx // it is the run's, and the timers have no other

	mu     sync.Mutex
	visits map[scaling.Ref]*visit
	// waiting are those whose time has come, the first first.
	waiting []*visit
	workers int
	ended   bool
	running sync.WaitGroup
}

// visit is what comes again and again for one metric. It waits for its timer, then for
// a worker, then for its evaluation, and so on.
type visit struct {
	metric scaling.Metric
	timer  *time.Timer
	// resting: it waits for the timer.
	resting bool
	// again: the metric has changed since its evaluation began.
	again bool
	gone  bool
}

// look begins to visit metrics that are new, spread over a time, and those that have
// changed, and ceases to visit those that are gone.
func (t *tour) look(metrics []scaling.Metric, spread time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	present := make(map[scaling.Ref]bool, len(metrics))
	for _, m := range metrics {
		present[m.Ref] = true
		switch v, known := t.visits[m.Ref]; {
		case !known:
			t.begin(m, phase(m.Ref, spread))
		case v.metric.Policy != m.Policy || v.metric.UID != m.UID:
			v.metric = m
			v.again = !v.resting
			if v.resting {
				v.timer.Reset(0)
			}
		}
	}
	for ref, v := range t.visits {
		if !present[ref] {
			v.gone = true
			v.timer.Stop()
			delete(t.visits, ref)
		}
	}
}

func (t *tour) begin(m scaling.Metric, wait time.Duration) {
	v := &visit{metric: m, resting: true}
	v.timer = time.AfterFunc(wait, func() { t.enqueue(v) })
	t.visits[m.Ref] = v
}

// enqueue gives a visit whose time has come to the workers.
func (t *tour) enqueue(v *visit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || v.gone || !v.resting {
		return
	}
	v.resting = false
	t.waiting = append(t.waiting, v)
	if t.workers < patrolWorkers {
		t.workers++
		t.running.Go(t.work)
	}
}

// work evaluates until nobody waits.
func (t *tour) work() {
	for {
		v, m, ok := t.next()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(t.ctx, patrolPatience)
		d := t.patrol.evaluator.Evaluate(ctx, m.Request())
		cancel()
		if t.ctx.Err() == nil {
			t.patrol.told(m, d)
		}
		t.rest(v)
	}
}

// next is the visit whose turn it is. Without one, the worker is no longer counted.
func (t *tour) next() (v *visit, m scaling.Metric, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.waiting) > 0 && !t.ended {
		v, t.waiting = t.waiting[0], t.waiting[1:]
		if !v.gone {
			v.again = false
			return v, v.metric, true
		}
	}
	t.workers--
	return nil, scaling.Metric{}, false
}

// rest sends a visit to sleep until its next time.
func (t *tour) rest(v *visit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || v.gone {
		return
	}
	v.resting = true
	if v.again {
		v.timer.Reset(0)
		return
	}
	v.timer.Reset(untilNext(v.metric, time.Now()))
}

// end stops all visits, and waits for those under way.
func (t *tour) end() {
	t.mu.Lock()
	t.ended = true
	for _, v := range t.visits {
		v.timer.Stop()
	}
	t.mu.Unlock()
	t.running.Wait()
}

// untilNext is the time until a metric's next visit: on a grid, so that visits that
// were late together do not stay together.
func untilNext(m scaling.Metric, now time.Time) time.Duration {
	period := max(m.Policy.Interval, patrolInterval) + patrolSlack
	at := now.Add(-phase(m.Ref, period))
	return period - at.Sub(at.Truncate(period))
}

// phase is a metric's own moment of a period, in [0, period). Names that differ in one
// character are as far apart as any, which a lesser hash does not see to.
func phase(ref scaling.Ref, period time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(ref.Namespace + "/" + ref.Name))
	part := float64(binary.BigEndian.Uint32(hash[:])) / (1 << 32)
	return time.Duration(part * float64(period))
}
