package algorithm

import (
	"math"
	"testing"
	"time"
)

func TestLimitDoubling(t *testing.T) {
	wide := Bounds{Min: 1, Max: 100}
	for _, tt := range []struct {
		name             string
		current, desired int32
		bounds           Bounds
		want             Limited
	}{
		{"from none at most 4", 0, 9, wide, Limited{4, ScaleUpLimit, 0}},
		{"from 1 at most 4", 1, 9, wide, Limited{4, ScaleUpLimit, 0}},
		{"from 2 at most 4", 2, 9, wide, Limited{4, ScaleUpLimit, 0}},
		{"from 3 at most the double", 3, 9, wide, Limited{6, ScaleUpLimit, 0}},
		{"the double itself", 3, 6, wide, Limited{6, DesiredWithinRange, 0}},
		{"max before the double", 60, 150, wide, Limited{100, TooManyReplicas, 0}},
		{"max is the double", 50, 150, wide, Limited{100, TooManyReplicas, 0}},
		{"down to min in one step", 60, 0, wide, Limited{1, TooFewReplicas, 0}},
		{"min beyond the double", 1, 2, Bounds{Min: 9, Max: 100}, Limited{9, TooFewReplicas, 0}},
		{"a double that int32 cannot hold", 2_000_000_000, math.MaxInt32, Bounds{Max: math.MaxInt32}, Limited{math.MaxInt32, DesiredWithinRange, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := limitDoubling(tt.current, tt.desired, tt.bounds); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestStabilizeDown(t *testing.T) {
	h := historyOf(at(0, 9), at(100, 5))
	for _, tt := range []struct {
		name    string
		now     time.Duration
		desired int32
		want    Stabilized
	}{
		{"held", seconds(150), 3, Stabilized{9, ScaleDownStabilized, seconds(300)}},
		{"raised, too", seconds(150), 7, Stabilized{9, ScaleDownStabilized, seconds(300)}},
		{"as old as the window", seconds(300), 3, Stabilized{9, ScaleDownStabilized, seconds(300)}},
		{"older", seconds(300) + 1, 3, Stabilized{5, ScaleDownStabilized, seconds(400)}},
		{"all older", seconds(401), 3, Stabilized{3, ReadyForNewScale, 0}},
		{"the largest there is", seconds(150), 9, Stabilized{9, ReadyForNewScale, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := stabilizeDown(tt.desired, h, tt.now, seconds(300)); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
