package algorithm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// listOracle is upstream's memory: every sample, in a list, each looked at each
// time. High-only samples are the one thing that upstream does not have.
type listOracle struct {
	samples []listSample
}

type listSample struct {
	timestamp      time.Duration
	recommendation int32
	highOnly       bool
}

func (o *listOracle) add(now time.Duration, replicas int32, highOnly bool) {
	o.samples = append(o.samples, listSample{now, replicas, highOnly})
}

// stabilize follows stabilizeRecommendationWithBehaviors, except that it never
// reuses the slot of an old sample. The time is when the last sample that says
// what the answer was held by leaves its window.
func (o *listOracle) stabilize(current, desired int32, now, upWindow, downWindow time.Duration) Stabilized {
	upRecommendation, downRecommendation := desired, desired
	upCutoff, downCutoff := now-upWindow, now-downWindow
	for _, rec := range o.samples {
		if rec.timestamp > upCutoff && !rec.highOnly {
			upRecommendation = min(rec.recommendation, upRecommendation)
		}
		if rec.timestamp > downCutoff {
			downRecommendation = max(rec.recommendation, downRecommendation)
		}
	}
	recommendation := current
	if recommendation < upRecommendation {
		recommendation = upRecommendation
	}
	if recommendation > downRecommendation {
		recommendation = downRecommendation
	}
	if recommendation == desired {
		return Stabilized{recommendation, ReadyForNewScale, 0}
	}
	if desired >= current {
		return Stabilized{recommendation, ScaleUpStabilized, o.last(upRecommendation, true) + upWindow}
	}
	return Stabilized{recommendation, ScaleDownStabilized, o.last(downRecommendation, false) + downWindow}
}

// last is when a count was last recommended.
func (o *listOracle) last(replicas int32, low bool) time.Duration {
	var last time.Duration
	for _, rec := range o.samples {
		if rec.recommendation == replicas && (!low || !rec.highOnly) {
			last = max(last, rec.timestamp)
		}
	}
	return last
}

func TestStabilizeIsUpstreams(t *testing.T) {
	r := newRandom(t)
	for done := 0; done < propertyCases; {
		var h History
		var oracle listOracle
		now := time.Duration(0)
		spread := pick[int32](r, 2, 5, 100)
		behavior := randomWindows(r)
		for range 1 + r.IntN(60) {
			done++
			now += randomStep(r)
			if r.IntN(10) == 0 {
				behavior = randomWindows(r)
			}
			current, desired := r.Int32N(spread), r.Int32N(spread)
			got := Stabilize(current, desired, h, now, behavior)
			want := oracle.stabilize(current, desired, now, behavior.ScaleUp.Window, behavior.ScaleDown.Window)
			if got != want {
				t.Fatalf("Stabilize(%d, %d) at %v, windows %v up %v down = %+v, the list says %+v\nhistory %+v\nlist %+v",
					current, desired, now, behavior.ScaleUp.Window, behavior.ScaleDown.Window, got, want, h, oracle.samples)
			}
			if highOnly := r.IntN(8) == 0; highOnly {
				h = h.AddHigh(now, desired)
				oracle.add(now, desired, true)
			} else {
				h = h.Add(now, desired)
				oracle.add(now, desired, false)
			}
		}
	}
}

// randomStep is a time between two evaluations: none at all, a sync, a round
// number that lands on the edge of a window, or anything.
func randomStep(r *rand.Rand) time.Duration {
	return pick(r, 0, 1, 15*time.Second, 15*time.Second, seconds(30*r.IntN(12)), time.Duration(r.Int64N(int64(20*time.Minute))))
}

func randomWindows(r *rand.Rand) Behavior {
	window := func() int { return pick(r, 0, 15, 60, 300, 600, 3600, r.IntN(3601)) }
	return windows(window(), window())
}

// FuzzStabilize reads a sequence of evaluations out of bytes: five each.
func FuzzStabilize(f *testing.F) {
	f.Add([]byte{0, 5, 3, 20, 4, 15, 3, 5, 20, 4, 240, 3, 9, 0, 0})
	f.Add([]byte{255, 0, 9, 240, 240, 1, 9, 0, 240, 240, 0, 1, 1, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var h History
		var oracle listOracle
		var now time.Duration
		data = data[:min(len(data), 1000)] // the list is slow
		for ; len(data) >= 5; data = data[5:] {
			now += seconds(15 * int(data[0]))
			current, desired := int32(data[1]), int32(data[2])
			up, down := seconds(15*min(int(data[3]), 240)), seconds(15*min(int(data[4]), 240))
			got := Stabilize(current, desired, h, now, Behavior{ScaleUp: Rules{Window: up}, ScaleDown: Rules{Window: down}})
			if want := oracle.stabilize(current, desired, now, up, down); got != want {
				t.Fatalf("at %v: %+v, the list says %+v", now, got, want)
			}
			h = h.Add(now, desired)
			oracle.add(now, desired, false)
		}
	})
}
