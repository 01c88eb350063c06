package activation

import (
	"math"
	"testing"
	"time"
)

func TestIsActive(t *testing.T) {
	for _, tt := range []struct {
		value, threshold float64
		want             bool
	}{
		{0, 0, false},
		{0.001, 0, true},
		{1, 0, true},
		{1, 1, false},
		{2, 1, true},
		{5, 5.5, false},
		{6, 5.5, true},
		{50, 50, false},
		{50.001, 50, true},
		{-1, 0, false},
		{math.NaN(), 0, false},
	} {
		if got := IsActive(tt.value, tt.threshold); got != tt.want {
			t.Errorf("%v with threshold %v: %v, want %v", tt.value, tt.threshold, got, tt.want)
		}
	}
}

// evaluation is one line of a sequence, in order of time. A reading above the
// threshold moves lastActive, as it does in a record.
type evaluation struct {
	second           int
	reading          float64
	decided, current int32
	over, asleep     bool
}

func run(t *testing.T, p Policy, threshold float64, floor int32, lines []evaluation) {
	t.Helper()
	lastActive := time.Duration(math.MinInt32) * time.Second // long ago
	for _, l := range lines {
		now := time.Duration(l.second) * time.Second
		if IsActive(l.reading, threshold) {
			lastActive = now
		}
		over := p.Over(lastActive, now)
		if asleep := p.Asleep(over, l.decided, l.current, floor); over != l.over || asleep != l.asleep {
			t.Errorf("at %v: over %v, asleep %v; want %v, %v", now, over, asleep, l.over, l.asleep)
		}
	}
}

func TestWakesWorksAndSleeps(t *testing.T) {
	run(t, Policy{CanSleep: true, Quiet: 60 * time.Second}, 0, 1, []evaluation{
		// second, reading, decided, current, over, asleep
		{0, 0, 0, 0, true, true},       // never any work
		{15, 37, 8, 0, false, false},   // work wakes at once
		{30, 37, 8, 8, false, false},   // it works
		{45, 0, 8, 8, false, false},    // the queue is empty
		{89, 0, 8, 8, false, false},    // 59 s after the last work
		{90, 0, 3, 8, true, false},     // 60 s: over, but the policies let it glide
		{105, 0, 1, 3, true, false},    // the floor is decided, not reached
		{120, 0, 2, 1, true, false},    // the floor is reached, more is decided
		{135, 0, 1, 1, true, true},     // both
		{150, 0, 1, 0, true, true},     // switched off
		{165, 0.5, 1, 0, false, false}, // wakes again
	})
}

func TestWorkDuringTheGlideEndsIt(t *testing.T) {
	run(t, Policy{CanSleep: true, Quiet: 60 * time.Second}, 10, 1, []evaluation{
		{0, 11, 3, 3, false, false},
		{45, 10, 3, 3, false, false}, // at the threshold is not work
		{60, 10, 2, 3, true, false},
		{61, 11, 2, 2, false, false}, // work again: the quiet time begins anew
		{120, 10, 1, 1, false, false},
		{121, 10, 1, 1, true, true},
	})
}

func TestFloorIsMin(t *testing.T) {
	run(t, Policy{CanSleep: true, Quiet: time.Second}, 0, 3, []evaluation{
		{0, 5, 5, 5, false, false},
		{10, 0, 4, 4, true, false},
		{20, 0, 3, 4, true, false},
		{30, 0, 4, 3, true, false},
		{40, 0, 3, 3, true, true},
	})
}

func TestWithoutQuietTime(t *testing.T) {
	run(t, Policy{CanSleep: true}, 0, 1, []evaluation{
		{0, 0, 1, 1, true, true},
		{15, 0, 0, 2, true, false},
	})
}

func TestNeverSleeps(t *testing.T) {
	run(t, Policy{CanSleep: false, Quiet: time.Second}, 0, 1, []evaluation{
		{0, 0, 1, 1, false, false},
		{1000, 0, 1, 0, false, false},
		{2000, 5, 1, 1, false, false},
	})
	if (Policy{CanSleep: false}).Asleep(true, 0, 0, 1) {
		t.Error("a workload that cannot sleep is asleep")
	}
}

func TestOver(t *testing.T) {
	const at = 100 * time.Second
	p := Policy{CanSleep: true, Quiet: 30 * time.Second}
	for _, tt := range []struct {
		name   string
		policy Policy
		now    time.Duration
		want   bool
	}{
		{"at once", p, at, false},
		{"a moment before", p, at + 30*time.Second - 1, false},
		{"exactly", p, at + 30*time.Second, true},
		{"later", p, at + time.Hour, true},
		{"lastActive in the future", p, at - time.Hour, false},
		{"no quiet time", Policy{CanSleep: true}, at, true},
		{"no quiet time, lastActive in the future", Policy{CanSleep: true}, at - 1, false},
		{"cannot sleep", Policy{Quiet: 30 * time.Second}, at + time.Hour, false},
	} {
		if got := tt.policy.Over(at, tt.now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		// Until is the first moment that is over.
		until := tt.policy.Until(at)
		if tt.policy.CanSleep && (!tt.policy.Over(at, until) || tt.policy.Over(at, until-1)) {
			t.Errorf("%s: until %v, but that is not when it is over", tt.name, until)
		}
	}
}
