package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// KEDA's default pollingInterval, and the period of the HPA controller.
const (
	pollingInterval = 30 * time.Second
	hpaPeriod       = 15 * time.Second
)

// callsPerVisit: each poll and each query of an HPA asks GetMetricSpec, GetMetrics and
// IsActive, one after the other, for an object that runs and may be at zero.
const callsPerVisit = 3

// visit is one poll or one query of an HPA.
type visit struct {
	policy int
	at     time.Duration
}

// timetable says when KEDA visits whom: each policy three times in a cycle, once to poll
// it and twice because its HPA asks. With a cycle of pollingInterval these are KEDA's
// defaults, 18 calls a minute and policy: 3,000 a second for 10,000 policies.
type timetable struct {
	cycle  time.Duration
	visits []visit // of one cycle, in order
}

// newTimetable spreads the visits to n policies over a cycle, each object at a phase of
// its own, as KEDA's loops and the HPA controller have them after a while.
func newTimetable(n int, cycle time.Duration) timetable {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	t := timetable{cycle: cycle}
	half := cycle / (pollingInterval / hpaPeriod)
	for i := range n {
		phase := time.Duration(random.Int64N(int64(half)))
		t.visits = append(t.visits,
			visit{i, time.Duration(random.Int64N(int64(cycle)))}, visit{i, phase}, visit{i, phase + half})
	}
	slices.SortFunc(t.visits, func(a, b visit) int { return int(a.at - b.at) })
	return t
}

// atKEDAsRate is the timetable of n policies with the load of 10,000 at KEDA's defaults:
// 3,000 calls a second, whatever n.
func atKEDAsRate(n int) timetable {
	return newTimetable(n, pollingInterval*time.Duration(n)/tenThousand)
}

const tenThousand = 10_000

// number returns the nth visit of all cycles.
func (t timetable) number(n int) visit {
	v := t.visits[n%len(t.visits)]
	v.at += t.cycle * time.Duration(n/len(t.visits))
	return v
}

// keep makes the visits from one time of the table to another, each when it is due,
// whether or not earlier ones have been answered: who waits for answers measures the
// delay of one call where a thousand were late. It returns when all are over.
func (t timetable) keep(ctx context.Context, from, to time.Duration, call func(v visit, due time.Time)) {
	began := time.Now().Add(-from)
	n, _ := slices.BinarySearchFunc(t.visits, from%t.cycle, func(v visit, at time.Duration) int { return int(v.at - at) })
	var under sync.WaitGroup
	for n += len(t.visits) * int(from/t.cycle); ctx.Err() == nil; n++ {
		v := t.number(n)
		if v.at >= to {
			break
		}
		due := began.Add(v.at)
		time.Sleep(time.Until(due))
		under.Go(func() { call(v, due) })
	}
	under.Wait()
}
