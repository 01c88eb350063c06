package scaling

import (
	"math"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// What the HPA is told where the windows are its own.
func TestStepPassesOn(t *testing.T) {
	testSteps(t, []stepRow{
		{"as it is", passed, "Mode pass-through, Stabilized none, Limited none, CooldownUntil never", ""},
		{
			"more", both(passed, onFile(32)),
			"Mode pass-through, Replicas 7, Value 6.4, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"more than the bound", both(passed, onFile(500)),
			"Mode pass-through, Replicas 20, Value 100, Recommended 100, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 20, Highest 20",
		},
		{
			"less", both(passed, onFile(5)),
			"Mode pass-through, Replicas 1, Value 1, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 1, Lowest 1",
		},
		{
			"nothing", both(passed, onFile(0)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 0, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false, Served 1, Lowest 1",
		},
		{
			"nothing, asleep", both(passed, asleep, onFile(0)),
			"Mode pass-through, Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false",
		},
		{
			"work, asleep", both(passed, asleep, onFile(5)),
			"Mode pass-through, Replicas 1, Value 1, Current 0, Status 0, Running 0, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 1, Highest 1",
		},
		{
			"work, asleep, at a floor of two", both(passed, asleep, onFile(5), bounded(2, 20)),
			"Mode pass-through, Replicas 2, Value 1, Current 0, Status 0, Running 0, Bounds 2-20, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 2, Highest 2",
		},
		{
			"below the threshold, asleep", both(passed, asleep, onFile(5), above(5)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 1, Current 0, Status 0, Running 0, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false, Served 1, Highest 1",
		},
		{
			"to a native HPA", both(passed, native, onFile(32)),
			"Mode pass-through, Replicas 7, Value 6.4, Recommended 7, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Served 7, Highest 7",
		},
		{
			"nothing, to a native HPA", both(passed, native, onFile(0)),
			"Mode pass-through, Replicas 0, Awake false, Active false, Value 0, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Active false, Served 0, Lowest 0",
		},
		{
			"below the threshold, to a native HPA", both(passed, native, onFile(5), above(5)),
			"Mode pass-through, Replicas 0, Awake false, Active false, Value 0, Recommended 1, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Active false, Served 0, Lowest 0",
		},
		{
			"below the threshold, to one that never sleeps", both(passed, native, neverSleeps, onFile(5), above(5)),
			"Mode pass-through, Replicas 1, Value 1, Recommended 1, Stabilized none, Limited none, CanSleep false, CooldownUntil never, Native true",
			"stored Served 1, Lowest 1",
		},
		{
			"an onlooker", both(passed, onlooks, onFile(5)),
			"Mode pass-through, Replicas 1, Value 1, Recommended 1, Stabilized none, Limited none, CanSleep false, CooldownUntil never",
			"stored Served 1, Lowest 1",
		},
		{
			"an onlooker beside work", both(passed, onlooksBeside, onFile(5)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 1, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false, Served 1, Lowest 1",
		},
		{
			"fresh", both(passed, fresh(32)),
			"Mode pass-through, Replicas 7, Value 6.4, Recommended 7, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 32@10002), ReadAt 10002, GoodAt 10002, Recommended 7, History highs 7@10002, lows 4@10000 7@10002, LastActive 10002, Served 7, Highest 7",
		},
		{
			"nothing, of one", both(passed, runs(1), onFile(0)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 0, Current 1, Status 1, Running 1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false",
		},
	})
}

// The unit in which a reading is sent.
func TestStepEncodes(t *testing.T) {
	counts := func(in *Input) { in.Policy.Triggers[0].Counts = true }
	targets := func(policy, hpa algorithm.Milli) change {
		return func(in *Input) { in.Policy.Target, in.Observation.HPA.Target = policy, hpa }
	}
	testSteps(t, []stepRow{
		{
			"of the only trigger, as it is", both(passed, targets(5000, 5000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 32, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"of the only trigger, for a policy of another target", both(passed, targets(2000, 5000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 32, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"for an HPA of another target", both(passed, targets(5000, 2000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 32, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"for a native HPA of another target", both(passed, native, targets(5000, 2000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 12.8, Recommended 7, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Served 7, Highest 7",
		},
		{
			"for an HPA that nobody sees", both(passed, targets(2000, 0), onFile(32)),
			"Mode pass-through, Replicas 7, Value 12.8, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"of the second of two", both(passed, beside(30), targets(5000, 5000)),
			"Mode pass-through, Replicas 10, Value 50, Decider 1, Recommended 10, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 10, Highest 10",
		},
		{
			"of the first of two", both(passed, beside(3), targets(5000, 5000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 32, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"of a count", both(passed, counts, onFile(6)),
			"Mode pass-through, Replicas 6, Value 6, Recommended 6, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 6, Highest 6",
		},
		{
			"of a count, without the store", both(passed, counts, away, onFile(2)),
			"Mode pass-through, Degraded true, Recommended 2, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"more than can be sent", both(passed, targets(1000, 50_000), onFile(algorithm.MaxMilli.Float()), beside(math.MaxInt32)),
			"Mode pass-through, Replicas 20, Value 9e+12, Recommended 2147483647, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 20, Highest 20",
		},
		{"ours", targets(1000, 2000), "Value 8", ""},
		{"ours, unseen", targets(3000, 0), "Value 12", ""},
		{
			"ours, swallowed", both(runs(20), onFile(105), func(in *Input) { in.Policy.Behavior.ScaleUp.Tolerance = 0 }, bounded(1, 40)),
			"Replicas 21, Value 20, Current 20, Status 20, Running 20, Bounds 1-40, Recommended 21, Stabilized 21 ReadyForNewScale, Limited 21 DesiredWithinRange, Swallowed true",
			"stored Served 21, Highest 21",
		},
		{
			"without the store, less, swallowed", both(passed, away, runs(20), onFile(5), starting(21)),
			"Mode pass-through, Replicas 20, Value 20, Current 20, Status 21, Running 20, Degraded true, Recommended 1, Stabilized none, Limited none, CooldownUntil never, Swallowed true",
			"",
		},
		{
			"of the first of two, for an HPA of another target", both(passed, beside(3), targets(5000, 2000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 12.8, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"for a policy of a larger target", both(passed, targets(8000, 2000), onFile(32)),
			"Mode pass-through, Replicas 7, Value 12.8, Recommended 7, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 7, Highest 7",
		},
		{
			"without the store, as much as is swallowed", both(passed, away, runs(20), onFile(100), starting(21)),
			"Mode pass-through, Replicas 20, Value 20, Current 20, Status 21, Running 20, Degraded true, Recommended 21, Stabilized none, Limited none, CooldownUntil never, Swallowed true",
			"",
		},
		{
			"without the store, more than is swallowed", both(passed, away, runs(20), onFile(150), starting(21)),
			"Mode pass-through, Replicas 20, Value 30, Current 20, Status 21, Running 20, Degraded true, Recommended 30, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"ours, unseen, while pods go", both(targets(3000, 0), runs(20), onFile(100), starting(21)),
			"Replicas 20, Value 60, Current 20, Status 21, Running 20, Recommended 21, Stabilized 21 ReadyForNewScale, Limited 20 TooManyReplicas",
			"",
		},
	})
}

// A shadow decides by itself, and sends what passing through would.
func TestStepInShadow(t *testing.T) {
	served := func(n int32) change {
		return func(in *Input) { in.Record.Served, in.Record.Lowest, in.Record.Highest = n, n, n }
	}
	testSteps(t, []stepRow{
		{"both alike", shadow, "Mode shadow", ""},
		{"its own count is another", both(shadow, served(6)), "Mode shadow, Current 6, Status 6", "stored Served 4, Lowest 4, Highest 4, Replicas 6"},
		{
			"nothing to do", both(shadow, served(6), onFile(0)),
			"Mode shadow, Active false, Value 0, Current 6, Status 6, Recommended 0, Stabilized 4 ScaleDownStabilized until 10060",
			"stored Active false, Served 4, Lowest 4, Highest 4, Replicas 6",
		},
		{
			"nothing to do for long", both(shadow, served(1), onFile(0), ago(lastActive, 200)),
			"Mode shadow, Replicas 0, Awake false, Active false, Value 0, Current 1, Status 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true",
			"stored Active false, Served 0, Lowest 0, Highest 0, Replicas 1",
		},
		{
			"in open loop", both(openLoop, shadow, served(6), onFile(30)),
			"Mode shadow, Replicas 6, Value 6, Current 6, Status 6, Running 0, OpenLoop true, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, CanSleep false",
			"stored Replicas 6",
		},
		{
			"fails", both(shadow, served(6), fails),
			"Mode shadow, Replicas 6, Held trigger not read: timeout, Current 6, Status 6, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002, Replicas 6",
		},
		{
			"fails, asleep", both(asleep, shadow, fails),
			"Mode shadow, Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Held trigger not read: timeout, Current 0, Status 0, Running 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"fails natively", both(shadow, native, served(6), fails),
			"Mode shadow, Err trigger not read: timeout, Replicas 6, Active false, Value 0, Held trigger not read: timeout, Current 6, Status 6, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002, Replicas 6",
		},
		{
			"fails natively, its own is one", both(shadow, native, served(1), fails),
			"Mode shadow, Err trigger not read: timeout, Replicas 1, Active false, Value 0, Held trigger not read: timeout, Current 1, Status 1, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002, Replicas 1",
		},
		{
			"fails natively, its own is at zero", both(shadow, native, served(0), fails),
			"Mode shadow, Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Held trigger not read: timeout, Current 0, Status 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002, Replicas 0",
		},
		{
			"swallowed", both(shadow, away, runs(20), onFile(5), starting(21)),
			"Mode shadow, Replicas 20, Value 20, Current 20, Status 20, Running 20, Degraded true, Recommended 1, Stabilized 4 ScaleDownStabilized until 10060, Swallowed true",
			"",
		},
		{
			"falls back to work", both(shadow, failed, func(in *Input) { in.Policy.Fallback = &Fallback{Replicas: 9} }),
			"Mode shadow, Replicas 9, Value 9, Decider -1, Recommended 9, Stabilized 9 ReadyForNewScale, Limited 9 DesiredWithinRange, Fallback true",
			"stored Served 9, Lowest 9, Highest 9",
		},
		{"read anew", both(shadow, served(6), fresh(32)),
			"Mode shadow, Replicas 6, Value 6.4, Current 6, Status 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 32@10002), ReadAt 10002, GoodAt 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Replicas 6",
		},
		{"its own count has fallen", both(shadow, moves(6, 4, 4, 4)), "Mode shadow", "stored Replicas 4"},
	})
}
