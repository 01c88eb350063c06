package watch

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// quiet is a world in which nothing ever happens, at no cost.
type quiet struct{ queries atomic.Int64 }

func (q *quiet) Read(_ context.Context, queries []scaling.Query) []scaling.Outcome {
	q.queries.Add(int64(len(queries)))
	return make([]scaling.Outcome, len(queries))
}

func (q *quiet) Evaluate(context.Context, scaling.Request) scaling.Decision {
	return scaling.Decision{}
}

// BenchmarkIdleStreams watches 10,000 idle streams on one server. One operation is
// one second of that, so cores is what the watching itself costs of a processor.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 10_000
	world := &quiet{}
	w := New(world, world, Options{Life: 1000 * time.Hour})
	for i := range streams {
		w.open(refOf(strconv.Itoa(i)), policyOf(query("redis/"+strconv.Itoa(i))))
	}
	w.fire(b.Context(), time.Now()) // evaluates them all
	w.running.Wait()
	now := w.epoch
	second := func() {
		for range slots {
			w.fire(b.Context(), now)
			w.running.Wait()
			now = now.Add(w.options.Interval / slots)
		}
	}
	second() // the evaluations may have ended in the middle of it
	world.queries.Store(0)
	for b.Loop() {
		second()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "cores")
	if read := world.queries.Load(); read != int64(b.N)*streams {
		b.Fatalf("%d queries in %d s, want each of %d once per second", read, b.N, streams)
	}
}
