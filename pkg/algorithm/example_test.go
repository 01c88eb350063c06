package algorithm_test

import (
	"fmt"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func ExampleToMilli() {
	fmt.Println(algorithm.ToMilli(2.5))
	fmt.Println(algorithm.ToMilli(20.0000001))
	fmt.Println(algorithm.ToMilli(-1))
	// Output:
	// 2500 <nil>
	// 20001 <nil>
	// 0 value -1 is negative
}

func ExampleTolerance_Contains() {
	tolerance := algorithm.Tolerance{Down: 0.1, Up: 0.1}
	fmt.Println(tolerance.Contains(22.0 / 20))
	fmt.Println(tolerance.Contains(22.001 / 20))
	// Output:
	// true
	// false
}

func ExampleAverageValue() {
	tolerance := algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}
	const target = 5 * 1000
	fmt.Println(algorithm.AverageValue(37*1000, target, 0, tolerance))
	fmt.Println(algorithm.AverageValue(37*1000, target, 8, tolerance))
	fmt.Println(algorithm.AverageValue(35*1000, target, 8, tolerance))
	// Output:
	// 8 false
	// 8 true
	// 7 false
}

func ExampleCombine() {
	// Of three metrics the second cannot be read. Growing to 5 needs no second
	// opinion; shrinking from 6 does.
	proposals := []algorithm.Proposal{{Replicas: 3}, {Failed: true}, {Replicas: 5}}
	fmt.Println(algorithm.Combine(4, proposals))
	fmt.Println(algorithm.Combine(6, proposals))
	// Output:
	// 5 2 true
	// 0 -1 false
}

func ExampleStabilize() {
	behavior := algorithm.DefaultBehavior() // 5 minutes down, nothing up
	var history algorithm.History
	history = history.Add(0, 9)

	for _, now := range []time.Duration{4 * time.Minute, 5 * time.Minute} {
		s := algorithm.Stabilize(9, 3, history, now, behavior)
		fmt.Println(s.Replicas, s.Reason, s.Until)
	}
	// Output:
	// 9 ScaleDownStabilized 5m0s
	// 3 ReadyForNewScale 0s
}

func ExampleHistory_Merge() {
	var one, other algorithm.History
	one = one.Add(0, 9).Add(30*time.Second, 4)
	other = other.Add(15*time.Second, 6)
	for _, s := range one.Merge(other).Highs {
		fmt.Println(s.At, s.Replicas)
	}
	// Output:
	// 0s 9
	// 15s 6
	// 30s 4
}

func ExampleLimit() {
	up := func(percent int32) algorithm.Behavior {
		policy := algorithm.RatePolicy{Type: algorithm.PercentPolicy, Value: percent, Period: time.Minute}
		return algorithm.Behavior{ScaleUp: algorithm.Rules{Policies: []algorithm.RatePolicy{policy}}}
	}
	down := algorithm.Behavior{ScaleDown: up(30).ScaleUp}
	bounds := algorithm.Bounds{Min: 1, Max: 1000}

	fmt.Println(algorithm.Limit(50, 999, bounds, up(10), nil, 0).Replicas)
	fmt.Println(algorithm.Limit(100, 999, bounds, up(10), nil, 0).Replicas)
	fmt.Println(algorithm.Limit(90, 1, bounds, down, nil, 0).Replicas)
	// Output:
	// 56
	// 111
	// 62
}

func ExampleAddEvent() {
	var events []algorithm.Event
	events = algorithm.AddEvent(events, algorithm.Event{At: 0, Change: 4}, time.Minute)
	events = algorithm.AddEvent(events, algorithm.Event{At: time.Minute, Change: -1}, time.Minute)
	fmt.Println(events)
	// Output:
	// [{1m0s -1}]
}

func ExampleEncode() {
	tolerance := algorithm.Tolerance{Down: 0.1, Up: 0.1}
	for _, wanted := range []int32{17, 18, 19, 21, 22, 23} {
		e := algorithm.Encode(wanted, 20, 20, 1000, tolerance)
		fmt.Println(wanted, e.Value.Float(), e.Reachable)
	}
	// Output:
	// 17 17 true
	// 18 17.001 true
	// 19 20 false
	// 21 20 false
	// 22 20 false
	// 23 23 true
}
