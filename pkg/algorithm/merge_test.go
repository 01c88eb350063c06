package algorithm

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestMerge(t *testing.T) {
	a := historyOf(at(0, 9), at(30, 4))
	b := historyOf(at(15, 6), at(30, 5))
	got := a.Merge(b)
	want := History{
		Highs: []Sample{at(0, 9), at(15, 6), at(30, 5)},
		Lows:  []Sample{at(30, 4)},
	}
	if !sameHistory(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (History{}).Merge(History{}); got.Highs != nil || got.Lows != nil {
		t.Errorf("nothing merged with nothing is %+v", got)
	}
	if got := a.Merge(History{}); !sameHistory(got, a) {
		t.Errorf("merged with nothing: %+v, was %+v", got, a)
	}
}

func TestMergeIsAUnion(t *testing.T) {
	r := newRandom(t)
	for range propertyCases {
		sa, sb, sc := randomSamples(r), randomSamples(r), randomSamples(r)
		a, b, c := historyOf(sa...), historyOf(sb...), historyOf(sc...)
		ab := a.Merge(b)
		for _, law := range []struct {
			name      string
			got, want History
		}{
			{"commutative", b.Merge(a), ab},
			{"associative", a.Merge(b.Merge(c)), ab.Merge(c)},
			{"idempotent", ab.Merge(ab), ab},
			{"absorbs its parts", ab.Merge(a), ab},
			{"equals adding everything in order of time", ab, historyOf(inTime(r, sa, sb)...)},
		} {
			if !sameHistory(law.got, law.want) {
				t.Fatalf("not %s: %+v, want %+v\na %v\nb %v\nc %v", law.name, law.got, law.want, sa, sb, sc)
			}
		}
		checkExtremes(t, r, a, b, ab)
	}
}

func sameHistory(a, b History) bool {
	return slices.Equal(a.Highs, b.Highs) && slices.Equal(a.Lows, b.Lows)
}

// checkExtremes: whatever window is asked for, the merged history's extremes are
// those of both. So no hold ends early by a merge.
func checkExtremes(t *testing.T, r *rand.Rand, a, b, merged History) {
	t.Helper()
	var now time.Duration
	for _, s := range slices.Concat(merged.Highs, merged.Lows) {
		now = max(now, s.At)
	}
	now += randomStep(r)
	window := seconds(pick(r, 0, 15, 60, 300, 3600, r.IntN(3601)))
	highest, lowest := highestIn(merged.Highs, now, window), lowestIn(merged.Lows, now, window)
	if want := max(highestIn(a.Highs, now, window), highestIn(b.Highs, now, window)); highest != want {
		t.Fatalf("the largest of %v before %v is %d, was %d\na %+v\nb %+v", window, now, highest, want, a, b)
	}
	if want := min(lowestIn(a.Lows, now, window), lowestIn(b.Lows, now, window)); lowest != want {
		t.Fatalf("the smallest of %v before %v is %d, was %d\na %+v\nb %+v", window, now, lowest, want, a, b)
	}
}

func highestIn(samples []Sample, now, window time.Duration) int32 {
	highest := int32(math.MinInt32)
	for _, s := range samples {
		if s.At > now-window {
			highest = max(highest, s.Replicas)
		}
	}
	return highest
}

func lowestIn(samples []Sample, now, window time.Duration) int32 {
	lowest := int32(math.MaxInt32)
	for _, s := range samples {
		if s.At > now-window {
			lowest = min(lowest, s.Replicas)
		}
	}
	return lowest
}

// randomSamples are in order of time, often several at one moment, and some older
// than the longest window.
func randomSamples(r *rand.Rand) []Sample {
	samples := make([]Sample, r.IntN(6))
	now := seconds(15 * r.IntN(4))
	for i := range samples {
		now += pick(r, 0, seconds(15), seconds(15), seconds(15*r.IntN(240)))
		samples[i] = Sample{now, r.Int32N(6)}
	}
	return samples
}

// inTime is both lists in order of time. Samples of one moment come in any order.
func inTime(r *rand.Rand, a, b []Sample) []Sample {
	all := slices.Concat(a, b)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(x, y Sample) int { return cmp.Compare(x.At, y.At) })
	return all
}
