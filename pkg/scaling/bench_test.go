package scaling

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// sampleCounts are windows of 20 s, of the default 5 minutes and of the longest legal
// hour, with a reading every second.
var sampleCounts = []int{20, 300, 3600}

// signal is a series of readings, each of which asks for as many replicas.
type signal struct {
	name string
	at   func(second int) int32
}

// signals are chance, of which a window keeps few samples because most are outdone, and
// the worst case: a slow decline, in which no sample outdoes another.
func signals() []signal {
	random := rand.New(rand.NewPCG(1, 2))
	return []signal{
		{"random", func(int) int32 { return 1 + random.Int32N(5000) }},
		{"decline", func(second int) int32 { return 10_000 - int32(second) }},
	}
}

// watched is the input of the next request after a window full of readings of a signal,
// through an observed loop that follows each decision at once.
func watched(tb testing.TB, samples int, s signal) Input {
	tb.Helper()
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleUp.Tolerance, behavior.ScaleDown.Tolerance = 0, 0
	behavior.ScaleUp.Window = time.Duration(samples) * time.Second
	behavior.ScaleDown.Window = behavior.ScaleUp.Window
	in := Input{
		Key: Key{Ref{KindScaledObject, "shop", "worker"}, "apps/Deployment/worker", "jobs"},
		Policy: &Policy{
			Metric: "m", Target: 1000, Behavior: &behavior, Cooldown: 5 * time.Minute, Interval: 5 * time.Second,
			Triggers: []Trigger{{Type: "fake", Target: 1000, Query: fakeQuery{"s", "list jobs"}}},
		},
		Observation: Observation{
			Target: "apps/Deployment/worker", Spec: 10_000, Status: 10_000,
			Bounds: algorithm.Bounds{Min: 1, Max: 20_000}, ToZero: true,
			HPA: HPA{Name: "keda-hpa-worker", Target: 1000},
		},
		Now: epoch,
	}
	for second := range samples {
		in.Outcomes = []Outcome{{Value: float64(s.at(second))}}
		result := Step(in)
		if result.Decision.Err != nil || result.Decision.Held != nil {
			tb.Fatalf("no decision: %s", result.Decision.Why())
		}
		in.Record, in.Elapsed, in.Now = result.Record, time.Second, in.Now.Add(time.Second)
		in.Observation.Spec, in.Observation.Status = result.Decision.Replicas, result.Decision.Replicas
	}
	in.Outcomes, in.Elapsed, in.Now = nil, time.Millisecond, in.Record.Time.Add(time.Millisecond)
	return in
}

// BenchmarkStep is one decision with the samples of one window in memory: over the
// readings on file, as most requests are, and with a reading just taken.
func BenchmarkStep(b *testing.B) {
	for _, samples := range sampleCounts {
		for _, s := range signals() {
			onFile := watched(b, samples, s)
			fresh := onFile
			fresh.Elapsed, fresh.Outcomes = time.Second, []Outcome{{Value: float64(s.at(samples))}}
			for name, in := range map[string]Input{"onfile": onFile, "fresh": fresh} {
				b.Run(fmt.Sprintf("%s-%d/%s", name, samples, s.name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						Step(in)
					}
				})
			}
		}
	}
}

// BenchmarkEvaluate is one request whose readings are on file, over a store in memory: in
// a goroutine that has made others, and in one of its own as in a server.
func BenchmarkEvaluate(b *testing.B) {
	r, req := newRig(5), request("s")
	evaluate := func() { r.Evaluate(context.Background(), req) }
	r.source.set("s", 5, false)
	evaluate()
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			evaluate()
		}
	})
	for name, f := range map[string]func(){"new goroutine": evaluate, "new goroutine that does nothing": func() {}} {
		b.Run(name, func(b *testing.B) {
			done := make(chan struct{})
			for b.Loop() {
				go func() {
					f()
					done <- struct{}{}
				}()
				<-done
			}
		})
	}
}
