package algorithm

import (
	"fmt"
	"testing"
)

// BenchmarkStabilize is one evaluation, Stabilize and Add, with the samples of one
// window, a second apart, in memory. A steady signal leaves one sample in the
// history. A falling one leaves all of them in Highs, a rising one all in Lows.
// The list is upstream's way, which looks at every sample.
func BenchmarkStabilize(b *testing.B) {
	for _, signal := range []struct {
		name  string
		slope int
	}{{"steady", 0}, {"rising", 1}, {"falling", -1}} {
		for _, samples := range []int{20, 300, 3600} {
			value := func(i int) int32 { return int32(10_000 + i*signal.slope) }
			behavior := windows(samples, samples)
			now, desired := seconds(samples), value(samples)

			b.Run(fmt.Sprintf("%s/%d", signal.name, samples), func(b *testing.B) {
				var h History
				for i := range samples {
					h = h.Add(seconds(i), value(i))
				}
				b.ReportAllocs()
				for b.Loop() {
					Stabilize(10_000, desired, h, now, behavior)
					h.Add(now, desired)
				}
			})
			b.Run(fmt.Sprintf("%s/%d/list", signal.name, samples), func(b *testing.B) {
				var list listOracle
				for i := range samples {
					list.add(seconds(i), value(i), false)
				}
				b.ReportAllocs()
				for b.Loop() {
					list.stabilize(10_000, desired, now, behavior.ScaleUp.Window, behavior.ScaleDown.Window)
				}
			})
		}
	}
}

// BenchmarkStabilizeOnly is an evaluation between two readings: nothing is added.
func BenchmarkStabilizeOnly(b *testing.B) {
	var h History
	for i := range 3600 {
		h = h.Add(seconds(i), int32(10_000-i))
	}
	behavior := windows(3600, 3600)
	b.ReportAllocs()
	for b.Loop() {
		Stabilize(10_000, 1, h, seconds(3600), behavior)
	}
}

func BenchmarkMerge(b *testing.B) {
	var h, other History
	for i := range 3600 {
		h = h.Add(seconds(i), int32(10_000-i))
		other = other.Add(seconds(i), int32(9_999-i))
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Merge(other)
	}
}

func BenchmarkLimit(b *testing.B) {
	behavior := DefaultBehavior()
	events := []Event{change(0, 4), change(15, 8), change(30, 16), change(45, -3)}
	b.ReportAllocs()
	for b.Loop() {
		Limit(25, 90, Bounds{Min: 1, Max: 100}, behavior, events, seconds(46))
	}
}

func BenchmarkEncode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Encode(19, 20, 20, 1000, Tolerance{Down: 0.1, Up: 0.1})
	}
}
