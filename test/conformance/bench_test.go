package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// BenchmarkStep is a sync of an HPA with one External metric, a sync each second, and the
// samples of a scale-down window of so many seconds: from the reading to the count, which
// the window holds. What the metric asks for falls by one each time, so the window will
// need every sample. Of all signals that is the worst for our memory; upstream's looks at
// every sample whatever the signal. The count that runs is the one that the window holds, so
// that nothing is written.
//
// Ours is the whole reconcile. Upstream's are its two parts, calculation and
// normalisation, without the API objects around them.
func BenchmarkStep(b *testing.B) {
	ratios := map[string]float64{}
	for _, samples := range []int{20, 300, 3600} {
		var ours, upstream time.Duration
		b.Run(fmt.Sprintf("ours-%d", samples), func(b *testing.B) { ours = benchmarkOurs(b, samples) })
		b.Run(fmt.Sprintf("upstream-%d", samples), func(b *testing.B) { upstream = benchmarkUpstream(b, samples) })
		if ours > 0 && upstream > 0 {
			ratios[fmt.Sprintf("upstream/ours-%d", samples)] = float64(upstream) / float64(ours)
		}
	}
	b.Run("ratio", func(b *testing.B) {
		for unit, ratio := range ratios {
			b.ReportMetric(ratio, unit)
		}
		b.ReportMetric(0, "ns/op") // not printed: nothing is measured here
	})
}

// highest is where the metric begins to fall.
const highest = 2_000_000_000

func recommended(second int) int32 { return int32(highest - second) }

func benchmarkSpec(window time.Duration) algorithm.Spec {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleDown.Window = window
	behavior.ScaleDown.Tolerance = 0 // so that one in two billion is a step
	return algorithm.Spec{
		Bounds:   algorithm.Bounds{Min: 1, Max: highest},
		Metrics:  []algorithm.Metric{{Source: algorithm.ExternalSource, Target: algorithm.Target{AverageValue: 1000}}},
		Behavior: &behavior,
	}
}

func benchmarkOurs(b *testing.B, samples int) time.Duration {
	controller := algorithm.DefaultController()
	controller.Differences.LongMemory = true
	series := make([]algorithm.Milli, 1)
	in := algorithm.Input{
		Spec:     benchmarkSpec(time.Duration(samples) * time.Second),
		Readings: []algorithm.Reading{{Series: series}},
	}
	var state algorithm.State
	second := 0
	step := func() algorithm.Outcome {
		second++
		in.Workload.Now = time.Duration(second) * time.Second
		series[0] = 1000 * algorithm.Milli(recommended(second))
		held := recommended(second - samples + 1)
		in.Workload.Scale = algorithm.Scale{Spec: held, Status: held}
		return controller.Reconcile(in, &state)
	}
	for range 2 * 3600 { // the memory is as long as it gets
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	if out := step(); out.Stabilized.Reason != algorithm.ScaleDownStabilized || out.Rescaled {
		b.Fatalf("the window does not hold the count: %+v", out)
	}
	return b.Elapsed() / time.Duration(b.N)
}

// benchmarkUpstream is on the real clock: its samples are all of the beginning, and the
// window is long enough to hold them until the end.
func benchmarkUpstream(b *testing.B, samples int) time.Duration {
	counts := make([]int32, samples)
	for i := range counts {
		counts[i] = recommended(i)
	}
	spec := benchmarkSpec(time.Hour)
	normalizer, err := oracle.NewNormalizer(spec, counts)
	if err != nil {
		b.Fatal(err)
	}
	calculator := oracle.NewExternalAverage(1000, spec.Behavior.Tolerance())
	second := samples
	step := func() int32 {
		second++
		return normalizer.Normalize(highest, calculator.Replicas(1000*algorithm.Milli(recommended(second)), highest))
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	if got := step(); got != highest {
		b.Fatalf("the window holds %d, want %d", got, highest)
	}
	return b.Elapsed() / time.Duration(b.N)
}
