package algorithm

import (
	"slices"
	"testing"
	"time"
)

// historyOf adds samples in the order given.
func historyOf(samples ...Sample) History {
	var h History
	for _, s := range samples {
		h = h.Add(s.At, s.Replicas)
	}
	return h
}

func at(second int, replicas int32) Sample { return Sample{seconds(second), replicas} }

func windows(up, down int) Behavior {
	return Behavior{ScaleUp: Rules{Window: seconds(up)}, ScaleDown: Rules{Window: seconds(down)}}
}

func TestStabilize(t *testing.T) {
	type line struct {
		name     string
		samples  []Sample
		behavior Behavior
		now      int // seconds
		current  int32
		desired  int32
		want     int32
		reason   Reason
		until    int // seconds
	}
	recent := func(samples ...Sample) []Sample { return samples }
	for _, tt := range []line{
		{"no samples: up at once", nil, windows(300, 300), 0, 3, 9, 9, ReadyForNewScale, 0},
		{"no samples: down at once", nil, windows(300, 300), 0, 9, 3, 3, ReadyForNewScale, 0},

		{"down is held", recent(at(0, 9)), windows(0, 300), 299, 9, 3, 9, ScaleDownStabilized, 300},
		{"a sample as old as the window is outside", recent(at(0, 9)), windows(0, 300), 300, 9, 3, 3, ReadyForNewScale, 0},
		{"down to the largest of the window", recent(at(0, 9), at(15, 7), at(30, 5)), windows(0, 300), 301, 9, 3, 7, ScaleDownStabilized, 315},
		{"the later of two equal samples holds", recent(at(0, 9), at(15, 9), at(30, 5)), windows(0, 300), 60, 9, 3, 9, ScaleDownStabilized, 315},

		{"up is held", recent(at(0, 3)), windows(300, 0), 299, 3, 9, 3, ScaleUpStabilized, 300},
		{"up is free when the low sample is as old as the window", recent(at(0, 3)), windows(300, 0), 300, 3, 9, 9, ReadyForNewScale, 0},
		{"up to the smallest of the window", recent(at(0, 3), at(15, 5), at(30, 7)), windows(300, 0), 301, 3, 9, 5, ScaleUpStabilized, 315},

		{"a window of 0 remembers nothing, not even this moment", recent(at(10, 9)), windows(0, 0), 10, 9, 3, 3, ReadyForNewScale, 0},
		{"a down window never raises", recent(at(0, 21), at(400, 17)), windows(300, 600), 450, 17, 14, 17, ScaleDownStabilized, 600},
		{"an up window never lowers", recent(at(0, 2), at(30, 17)), windows(300, 0), 60, 17, 20, 17, ScaleUpStabilized, 300},
		{"equality is stable", recent(at(0, 2), at(15, 9)), windows(300, 300), 60, 5, 5, 5, ReadyForNewScale, 0},

		// Between the windows: the current count is neither below every low nor above
		// every high, so it stays, and the reason is the direction wished.
		{"wish up, current above the lows", recent(at(0, 2), at(15, 9)), windows(300, 300), 60, 5, 7, 5, ScaleUpStabilized, 300},
		{"wish down, current below the highs", recent(at(0, 2), at(15, 9)), windows(300, 300), 60, 5, 3, 5, ScaleDownStabilized, 315},
		{"samples of the future count", recent(at(100, 9)), windows(0, 300), 60, 9, 3, 9, ScaleDownStabilized, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Stabilize(tt.current, tt.desired, historyOf(tt.samples...), seconds(tt.now), tt.behavior)
			want := Stabilized{tt.want, tt.reason, seconds(tt.until)}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestHistoryKeepsOnlyWhatAWindowCanAskFor(t *testing.T) {
	hour := int(MaxWindow / time.Second)
	for _, tt := range []struct {
		name        string
		history     History
		highs, lows []Sample
	}{
		{"rising", historyOf(at(0, 1), at(15, 2), at(30, 3)), []Sample{at(30, 3)}, []Sample{at(0, 1), at(15, 2), at(30, 3)}},
		{"falling", historyOf(at(0, 3), at(15, 2), at(30, 1)), []Sample{at(0, 3), at(15, 2), at(30, 1)}, []Sample{at(30, 1)}},
		{"steady", historyOf(at(0, 3), at(15, 3), at(30, 3)), []Sample{at(30, 3)}, []Sample{at(30, 3)}},
		{"a dip", historyOf(at(0, 3), at(15, 1), at(30, 3)), []Sample{at(30, 3)}, []Sample{at(15, 1), at(30, 3)}},
		{"one moment, rising", historyOf(at(0, 1), at(0, 2)), []Sample{at(0, 2)}, []Sample{at(0, 1)}},
		{"one moment, falling", historyOf(at(0, 2), at(0, 1)), []Sample{at(0, 2)}, []Sample{at(0, 1)}},
		{"high only", historyOf(at(0, 2)).AddHigh(seconds(15), 5), []Sample{at(15, 5)}, []Sample{at(0, 2)}},
		{"as old as the longest window", historyOf(at(0, 9), at(hour, 2)), []Sample{at(0, 9), at(hour, 2)}, []Sample{at(hour, 2)}},
		{"older than the longest window", historyOf(Sample{-1, 9}, at(hour, 2)), []Sample{at(hour, 2)}, []Sample{at(hour, 2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !slices.Equal(tt.history.Highs, tt.highs) || !slices.Equal(tt.history.Lows, tt.lows) {
				t.Errorf("got %+v, want highs %v, lows %v", tt.history, tt.highs, tt.lows)
			}
		})
	}
}

// Adding never changes a history that was handed out before, so a record can be
// shared between goroutines.
func TestHistoryIsAValue(t *testing.T) {
	base := historyOf(at(0, 9), at(15, 7), at(30, 5), at(45, 6))
	other := historyOf(at(10, 8), at(40, 4))
	highs, lows := slices.Clone(base.Highs), slices.Clone(base.Lows)

	_ = base.Add(seconds(60), 7)
	_ = base.AddHigh(seconds(60), 9)
	_ = base.Merge(other)
	_ = other.Merge(base)
	a, b := base.Add(seconds(60), 1), base.Add(seconds(60), 2)

	if !slices.Equal(base.Highs, highs) || !slices.Equal(base.Lows, lows) {
		t.Errorf("the history became %+v, was highs %v, lows %v", base, highs, lows)
	}
	if a.Highs[len(a.Highs)-1] != at(60, 1) || b.Highs[len(b.Highs)-1] != at(60, 2) {
		t.Errorf("two successors share memory: %v and %v", a.Highs, b.Highs)
	}
}
