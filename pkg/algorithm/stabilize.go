package algorithm

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Reason is a condition's reason in the HPA's own words.
type Reason string

// The reasons of AbleToScale that stabilisation gives.
const (
	ReadyForNewScale    Reason = "ReadyForNewScale"
	ScaleUpStabilized   Reason = "ScaleUpStabilized"
	ScaleDownStabilized Reason = "ScaleDownStabilized"
)

// MaxWindow is the longest stabilizationWindowSeconds that Kubernetes accepts. A
// History keeps samples that long, so that a window may be lengthened and find
// what it would have held.
const MaxWindow = time.Hour

// Sample is one recommendation, before windows and limits, and when it was made.
type Sample struct {
	At       time.Duration `json:"at"`
	Replicas int32         `json:"n"`
}

// History is the memory of the two windows. The largest recommendation of any
// window that ends now is all that a scale-down asks of the past, and the
// smallest all that a scale-up does. So a sample that a later one outdoes is
// dropped: Highs falls strictly, Lows rises strictly, both in order of time, and
// their first sample inside a window is that window's extreme.
//
// A History is a value: its methods return a new one and never write to the slices
// they were given. Time does not run backwards between two calls.
type History struct {
	Highs []Sample `json:"highs,omitempty"`
	Lows  []Sample `json:"lows,omitempty"`
}

// Add returns the history with a recommendation made at now.
func (h History) Add(now time.Duration, replicas int32) History {
	h.Highs, h.Lows = grown(h.Highs, now), grown(h.Lows, now)
	remember(&h, now, replicas)
	return h
}

// AddHigh returns the history with a count that only the scale-down window
// remembers: it may hold replicas, never keep a workload from growing.
func (h History) AddHigh(now time.Duration, replicas int32) History {
	h.Highs = grown(h.Highs, now)
	rememberHigh(&h, now, replicas)
	return h
}

// grown is a copy of what a window still reaches, with room for one more.
func grown(samples []Sample, now time.Duration) []Sample {
	samples = reachable(samples, now)
	return append(make([]Sample, 0, len(samples)+1), samples...)
}

// reachable are the samples that a legal window may still reach. One exactly as old as
// the longest still counts for an HPA without behavior.
func reachable(samples []Sample, now time.Duration) []Sample {
	return samples[firstAfter(samples, now-MaxWindow-1):]
}

// remember is Add in place, for a history that nobody else sees. It allocates nothing
// once its slices are as long as they get.
func remember(h *History, now time.Duration, replicas int32) {
	rememberHigh(h, now, replicas)
	h.Lows = push(h.Lows, Sample{now, replicas}, func(old int32) bool { return old >= replicas })
}

func rememberHigh(h *History, now time.Duration, replicas int32) {
	h.Highs = push(h.Highs, Sample{now, replicas}, func(old int32) bool { return old <= replicas })
}

// push appends a sample and drops those that it outdoes. Of two samples of one moment
// only the one that outdoes the other stays.
func push(samples []Sample, s Sample, outdone func(old int32) bool) []Sample {
	end := len(samples)
	for end > 0 && outdone(samples[end-1].Replicas) {
		end--
	}
	samples = samples[:end]
	if end > 0 && samples[end-1].At == s.At {
		return samples
	}
	// A full slice makes room by what no window reaches, if that is half of it or more:
	// so a sample costs the same however many there are.
	if end == cap(samples) {
		if kept := reachable(samples, s.At); len(kept) <= end/2 {
			samples = samples[:copy(samples, kept)]
		}
	}
	return append(samples, s)
}

// firstAfter is the index of the first sample strictly later than the cutoff.
func firstAfter(samples []Sample, cutoff time.Duration) int {
	return sort.Search(len(samples), func(i int) bool { return samples[i].At > cutoff })
}

// Merge returns the history of everything that either remembers. It is
// commutative, associative and idempotent, and no window's maximum falls by it.
func (h History) Merge(other History) History {
	return History{
		Highs: mergeSamples(h.Highs, other.Highs, func(old, replicas int32) bool { return old <= replicas }),
		Lows:  mergeSamples(h.Lows, other.Lows, func(old, replicas int32) bool { return old >= replicas }),
	}
}

func mergeSamples(a, b []Sample, outdone func(old, replicas int32) bool) []Sample {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Sample) int { return cmp.Compare(x.At, y.At) })
	merged := all[:0]
	for _, s := range all {
		merged = push(merged, s, func(old int32) bool { return outdone(old, s.Replicas) })
	}
	if len(merged) == 0 {
		return nil
	}
	return reachable(merged, merged[len(merged)-1].At)
}

// Stabilized is the count that the windows allow.
type Stabilized struct {
	Replicas int32
	Reason   Reason
	// Until is when the sample that holds the count leaves its window; zero
	// unless a window changed the count.
	Until time.Duration
}

// Stabilize holds a recommendation against the windows: from current, the count
// rises only to the smallest recommendation of the scale-up window and falls only
// to the largest of the scale-down window. A window can therefore hold a count
// and never move it the other way. A sample exactly as old as its window no
// longer counts. h must not yet contain desired.
//
// Source: horizontal.go, stabilizeRecommendationWithBehaviors.
func Stabilize(current, desired int32, h History, now time.Duration, b Behavior) Stabilized {
	up, upUntil := extreme(h.Lows, desired, now, b.ScaleUp.Window, func(s, d int32) bool { return s < d })
	down, downUntil := extreme(h.Highs, desired, now, b.ScaleDown.Window, func(s, d int32) bool { return s > d })

	result := Stabilized{Replicas: current, Reason: ReadyForNewScale}
	if result.Replicas < up {
		result.Replicas = up
	}
	if result.Replicas > down {
		result.Replicas = down
	}
	if result.Replicas == desired {
		return result
	}
	if desired >= current {
		result.Reason, result.Until = ScaleUpStabilized, upUntil
	} else {
		result.Reason, result.Until = ScaleDownStabilized, downUntil
	}
	return result
}

// extreme is the first sample inside the window if it outdoes desired, and when
// it leaves the window.
func extreme(samples []Sample, desired int32, now, window time.Duration, outdoes func(sample, desired int32) bool) (int32, time.Duration) {
	i := firstAfter(samples, now-window)
	if i == len(samples) || !outdoes(samples[i].Replicas, desired) {
		return desired, 0
	}
	return samples[i].Replicas, samples[i].At + window
}
