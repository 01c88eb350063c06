package algorithm

import (
	"math"
	"slices"
	"testing"
	"time"
)

func pods(value, period int) RatePolicy {
	return RatePolicy{PodsPolicy, int32(value), seconds(period)}
}

func percent(value, period int) RatePolicy {
	return RatePolicy{PercentPolicy, int32(value), seconds(period)}
}

func rules(choice SelectPolicy, policies ...RatePolicy) Rules {
	return Rules{Select: choice, Policies: policies}
}

func change(second int, by int32) Event { return Event{seconds(second), by} }

// limitLine is one row: how far may one step go from current at second now, with
// these rules for its direction?
type limitLine struct {
	name     string
	rules    Rules
	events   []Event
	now      int
	current  int32
	desired  int32
	replicas int32
	reason   Reason
	until    int
}

func (l limitLine) check(t *testing.T, bounds Bounds) {
	t.Helper()
	b := Behavior{ScaleUp: l.rules, ScaleDown: l.rules}
	got := Limit(l.current, l.desired, bounds, b, l.events, seconds(l.now))
	if want := (Limited{l.replicas, l.reason, seconds(l.until)}); got != want {
		t.Errorf("%s: got %+v, want %+v", l.name, got, want)
	}
}

func TestLimitUp(t *testing.T) {
	none := []Event(nil)
	for _, l := range []limitLine{
		{"within", rules(SelectMax, pods(4, 15)), none, 0, 3, 7, 7, DesiredWithinRange, 0},
		{"pods", rules(SelectMax, pods(4, 15)), none, 0, 3, 8, 7, ScaleUpLimit, 0},
		{"percent doubles", rules(SelectMax, percent(100, 15)), none, 0, 44, 89, 88, ScaleUpLimit, 0},
		{"percent is rounded up, so one pod can grow", rules(SelectMax, percent(10, 15)), none, 0, 1, 9, 2, ScaleUpLimit, 0},
		{"+10 % of 11 is 12.1", rules(SelectMax, percent(10, 15)), none, 0, 11, 20, 13, ScaleUpLimit, 0},
		{"+10 % of 50: 55.00000000000001", rules(SelectMax, percent(10, 15)), none, 0, 50, 90, 56, ScaleUpLimit, 0},
		{"+10 % of 100: 110.00000000000001", rules(SelectMax, percent(10, 15)), none, 0, 100, 120, 111, ScaleUpLimit, 0},
		{"percent of nothing is nothing", rules(SelectMax, percent(100, 15)), none, 0, 0, 9, 0, ScaleUpLimit, 0},

		{"Max takes the larger", rules(SelectMax, pods(4, 15), percent(100, 15)), none, 0, 10, 99, 20, ScaleUpLimit, 0},
		{"Min takes the smaller", rules(SelectMin, pods(4, 15), percent(100, 15)), none, 0, 10, 99, 14, ScaleUpLimit, 0},
		{"an unset choice is Max", rules("", pods(4, 15), percent(100, 15)), none, 0, 10, 99, 20, ScaleUpLimit, 0},
		{"Disabled", rules(SelectDisabled, pods(4, 15)), []Event{change(0, 1)}, 1, 10, 99, 10, ScaleUpLimit, 0},
		{"no policies, Max: nothing moves", rules(SelectMax), none, 0, 10, 99, 10, ScaleUpLimit, 0},
		{"no policies, Min: no limit", rules(SelectMin), none, 0, 10, 30, 30, DesiredWithinRange, 0},

		{"the period is used up", rules(SelectMax, pods(4, 60)), []Event{change(0, 4)}, 59, 14, 20, 14, ScaleUpLimit, 60},
		{"an event as old as the period is outside", rules(SelectMax, pods(4, 60)), []Event{change(0, 4)}, 60, 14, 20, 18, ScaleUpLimit, 0},
		{"part of the period is used", rules(SelectMax, pods(4, 60)), []Event{change(0, 1), change(30, 2)}, 45, 13, 20, 14, ScaleUpLimit, 60},
		{"more than allowed was used: no step back", rules(SelectMax, pods(4, 60)), []Event{change(0, 9)}, 30, 19, 20, 19, ScaleUpLimit, 60},
		{"what went down may come up again", rules(SelectMax, pods(4, 60)), []Event{change(0, -3)}, 30, 10, 20, 17, ScaleUpLimit, 0},
		{"only a step up can free more", rules(SelectMax, pods(4, 60)), []Event{change(0, -3), change(10, 5)}, 30, 12, 20, 14, ScaleUpLimit, 70},
		{"percent is of the count at the start of the period", rules(SelectMax, percent(50, 60)), []Event{change(0, 5)}, 30, 15, 30, 15, ScaleUpLimit, 60},
		{"the policy that decides has a free period", rules(SelectMax, pods(1, 60), pods(4, 5)), []Event{change(0, 1)}, 30, 11, 30, 15, ScaleUpLimit, 0},
		{"each policy has its own period", rules(SelectMin, pods(4, 15), pods(6, 60)), []Event{change(0, 4), change(20, 2)}, 35, 16, 30, 16, ScaleUpLimit, 60},

		{"max", rules(SelectMax, pods(190, 15)), none, 0, 10, 199, 120, TooManyReplicas, 0},
		{"max equal to the limit is named as max", rules(SelectMax, pods(110, 15)), none, 0, 10, 199, 120, TooManyReplicas, 0},
		{"min does not lift", rules(SelectMax, pods(4, 15)), none, 0, 0, 1, 1, DesiredWithinRange, 0},
		{"no overflow", rules(SelectMax, pods(math.MaxInt32, 15)), none, 0, 10, 30, 30, DesiredWithinRange, 0},
		{"no overflow in percent", rules(SelectMax, percent(math.MaxInt32, 15)), none, 0, 1000, 1001, 120, TooManyReplicas, 0},
	} {
		l.check(t, Bounds{Min: 2, Max: 120})
	}
}

func TestLimitDown(t *testing.T) {
	none := []Event(nil)
	for _, l := range []limitLine{
		{"within", rules(SelectMax, pods(4, 15)), none, 0, 10, 6, 6, DesiredWithinRange, 0},
		{"pods", rules(SelectMax, pods(4, 15)), none, 0, 10, 5, 6, ScaleDownLimit, 0},
		{"percent", rules(SelectMax, percent(50, 15)), none, 0, 40, 5, 20, ScaleDownLimit, 0},
		{"percent is truncated toward zero", rules(SelectMax, percent(10, 15)), none, 0, 9, 3, 8, ScaleDownLimit, 0},
		{"-30 % of 90: 62.99999999999999", rules(SelectMax, percent(30, 15)), none, 0, 90, 3, 62, ScaleDownLimit, 0},
		{"all of it", rules(SelectMax, percent(100, 15)), none, 0, 90, 0, 2, TooFewReplicas, 0},
		{"more than all of it", rules(SelectMax, percent(200, 15)), none, 0, 90, 0, 2, TooFewReplicas, 0},

		{"Max takes the larger change", rules(SelectMax, pods(4, 15), percent(50, 15)), none, 0, 40, 3, 20, ScaleDownLimit, 0},
		{"Min takes the smaller change", rules(SelectMin, pods(4, 15), percent(50, 15)), none, 0, 40, 3, 36, ScaleDownLimit, 0},
		{"an unset choice is Max", rules("", pods(4, 15), percent(50, 15)), none, 0, 40, 3, 20, ScaleDownLimit, 0},
		{"Disabled", rules(SelectDisabled, pods(4, 15)), []Event{change(0, -1)}, 1, 10, 3, 10, ScaleDownLimit, 0},
		{"no policies, Max: nothing moves", rules(SelectMax), none, 0, 10, 3, 10, ScaleDownLimit, 0},
		{"no policies, Min: no limit", rules(SelectMin), none, 0, 10, 3, 3, DesiredWithinRange, 0},

		{"the period is used up", rules(SelectMax, pods(4, 60)), []Event{change(0, -4)}, 59, 10, 3, 10, ScaleDownLimit, 60},
		{"an event as old as the period is outside", rules(SelectMax, pods(4, 60)), []Event{change(0, -4)}, 60, 10, 3, 6, ScaleDownLimit, 0},
		{"part of the period is used", rules(SelectMax, pods(4, 60)), []Event{change(0, -1), change(30, -2)}, 45, 10, 3, 9, ScaleDownLimit, 60},
		{"more than allowed was used: no step back", rules(SelectMax, pods(4, 60)), []Event{change(0, -9)}, 30, 10, 3, 10, ScaleDownLimit, 60},
		{"what went up may come down again", rules(SelectMax, pods(4, 60)), []Event{change(0, 3)}, 30, 13, 3, 6, ScaleDownLimit, 0},
		{"only a step down can free more", rules(SelectMax, pods(4, 60)), []Event{change(0, 3), change(10, -5)}, 30, 12, 3, 10, ScaleDownLimit, 70},
		{"percent is of the count at the start of the period", rules(SelectMax, percent(50, 60)), []Event{change(0, -5)}, 30, 5, 3, 5, ScaleDownLimit, 60},

		{"min", rules(SelectMax, pods(90, 15)), none, 0, 10, 0, 2, TooFewReplicas, 0},
		{"min equal to the limit is named as min", rules(SelectMax, pods(8, 15)), none, 0, 10, 0, 2, TooFewReplicas, 0},
		{"max does not lower", rules(SelectMax, pods(4, 15)), none, 0, 50, 48, 48, DesiredWithinRange, 0},
		{"no overflow", rules(SelectMax, pods(math.MaxInt32, 15)), []Event{change(0, 5)}, 10, 10, 3, 3, DesiredWithinRange, 0},
	} {
		l.check(t, Bounds{Min: 2, Max: 40})
	}
}

func TestLimitLeavesEqualityAlone(t *testing.T) {
	for _, current := range []int32{0, 1, 10, 99} {
		got := Limit(current, current, Bounds{Min: 2, Max: 40}, Behavior{}, nil, 0)
		if want := (Limited{current, DesiredWithinRange, 0}); got != want {
			t.Errorf("at %d: got %+v, want %+v", current, got, want)
		}
	}
}

func TestDefaultBehavior(t *testing.T) {
	b := DefaultBehavior()
	for _, tt := range []struct{ current, desired, want int32 }{
		{1, 30, 5}, {3, 30, 7}, {4, 30, 8}, {5, 30, 10}, {30, 1, 1},
	} {
		if got := Limit(tt.current, tt.desired, Bounds{Min: 1, Max: 100}, b, nil, 0); got.Replicas != tt.want {
			t.Errorf("from %d to %d: %d, want %d", tt.current, tt.desired, got.Replicas, tt.want)
		}
	}
	if b.Tolerance() != (Tolerance{Down: 0.1, Up: 0.1}) || b.ScaleDown.Window != 5*time.Minute || b.ScaleUp.Window != 0 {
		t.Errorf("defaults are %+v", b)
	}
	b.ScaleDown.Policies = append(b.ScaleDown.Policies, pods(1, 1800))
	if got := b.LongestPeriod(); got != 30*time.Minute {
		t.Errorf("longest period %v, want 30m", got)
	}
	if got := (Behavior{}).LongestPeriod(); got != 0 {
		t.Errorf("longest period of no policies %v, want 0", got)
	}
}

func TestAddEvent(t *testing.T) {
	events := []Event{change(0, 4), change(30, -1), change(60, 2)}
	before := slices.Clone(events)
	for _, tt := range []struct {
		name string
		add  Event
		keep int
		want []Event
	}{
		{"all are young", change(60, 1), 61, []Event{change(0, 4), change(30, -1), change(60, 2), change(60, 1)}},
		{"as old as the longest period is gone", change(60, 1), 60, []Event{change(30, -1), change(60, 2), change(60, 1)}},
		{"no change only drops", change(90, 0), 60, []Event{change(60, 2)}},
		{"no policies: nothing but itself", change(90, -3), 0, []Event{change(90, -3)}},
	} {
		if got := AddEvent(events, tt.add, seconds(tt.keep)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if !slices.Equal(events, before) {
		t.Errorf("the argument became %v", events)
	}
}
