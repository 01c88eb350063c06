package scaling

import (
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// The band within which a reading asks for what there is: ours, the HPA's, or its default.
func TestStepTolerates(t *testing.T) {
	unseen := func(in *Input) { in.Observation.HPA = HPA{} }
	wide := func(in *Input) { in.Observation.HPA.Tolerance = algorithm.Tolerance{Down: 0.3, Up: 0.3} }
	ours := func(in *Input) { in.Policy.Behavior.ScaleUp.Tolerance = 0.2 }
	testSteps(t, []stepRow{
		{
			"ours, within", both(ours, fresh(24)),
			"LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 24@10002), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
		{
			"ours, beyond", both(ours, fresh(24.1)),
			"Replicas 5, Value 5, Recommended 5, Stabilized 5 ReadyForNewScale, Limited 5 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 24.1@10002), ReadAt 10002, GoodAt 10002, Recommended 5, History highs 5@10002, lows 4@10000 5@10002, LastActive 10002, Served 5, Highest 5",
		},
		{
			"the HPA's, within", both(passed, wide, fresh(26)),
			"Mode pass-through, Value 5.2, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 26@10002), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
		{
			"the HPA's, beyond", both(passed, wide, fresh(26.1)),
			"Mode pass-through, Replicas 6, Value 5.22, Recommended 6, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 26.1@10002), ReadAt 10002, GoodAt 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Served 6, Highest 6",
		},
		{
			"the default, up", both(passed, unseen, fresh(22)),
			"Mode pass-through, Value 4.4, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 22@10002), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
		{
			"the default, beyond", both(passed, unseen, fresh(22.1)),
			"Mode pass-through, Replicas 5, Value 4.42, Recommended 5, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 22.1@10002), ReadAt 10002, GoodAt 10002, Recommended 5, History highs 5@10002, lows 4@10000 5@10002, LastActive 10002, Served 5, Highest 5",
		},
		{
			"the default, down", both(passed, unseen, runs(20), fresh(90)),
			"Mode pass-through, Replicas 20, Value 18, Current 20, Status 20, Running 20, Recommended 20, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 90@10002), ReadAt 10002, GoodAt 10002, Recommended 20, History highs 20@10002, lows 4@10000 20@10002, LastActive 10002",
		},
		{
			"the default, below", both(passed, unseen, runs(20), fresh(89)),
			"Mode pass-through, Replicas 18, Value 17.8, Current 20, Status 20, Running 20, Recommended 18, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 89@10002), ReadAt 10002, GoodAt 10002, Recommended 18, History highs 18@10002, lows 4@10000 18@10002, LastActive 10002, Served 18, Lowest 18",
		},
		{
			"the HPA's, of the least target", both(passed, wide, fresh(26), func(in *Input) { in.Observation.HPA.Target = 1 }),
			"Mode pass-through, Value 0.005, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 26@10002), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
	})
}

// What takes the place of a reading when none has been good for long enough.
func TestStepFallsBack(t *testing.T) {
	to := func(replicas int32, static bool) change {
		return func(in *Input) {
			in.Policy.Fallback = &Fallback{After: second(30), Replicas: replicas, Static: static}
		}
	}
	since := func(by float64) change { return both(failed, ago(failingSince, by)) }
	testSteps(t, []stepRow{
		{
			"not yet", both(to(9, false), since(29.999)),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"up", both(to(9, false), since(30)),
			"Replicas 9, Value 9, Decider -1, Recommended 9, Stabilized 9 ReadyForNewScale, Limited 9 DesiredWithinRange, Fallback true",
			"stored Served 9, Highest 9",
		},
		{"not down", both(to(2, false), since(30)), "Decider -1, Fallback true", ""},
		{"down, static", both(to(2, true), since(30)), "Decider -1, Recommended 2, Stabilized 4 ScaleDownStabilized until 10060, Fallback true", ""},
		{"to one, static", both(to(1, true), since(30)), "Decider -1, Recommended 1, Stabilized 4 ScaleDownStabilized until 10060, Fallback true", ""},
		{"to nothing, static", both(to(0, true), since(30)), "Decider -1, Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, Fallback true", ""},
		{
			"to nothing, static, quiet for long", both(to(0, true), since(200), ago(lastActive, 200)),
			"Replicas 1, Value 1, Decider -1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, Fallback true, LastActive 9802, CooldownUntil 9922, Over true",
			"stored Served 1, Lowest 1",
		},
		{
			"to one, static, quiet for long", both(to(1, true), since(200), ago(lastActive, 200)),
			"Decider -1, Recommended 1, Stabilized 4 ScaleDownStabilized until 10060, Fallback true, LastActive 9802, CooldownUntil 9922",
			"",
		},
		{
			"to nothing, quiet for long", both(to(0, false), since(200), ago(lastActive, 200)),
			"Decider -1, Fallback true, LastActive 9802, CooldownUntil 9922",
			"",
		},
		{
			"while it is read and fails", both(to(9, false), since(30), fails),
			"Replicas 9, Value 9, Decider -1, Recommended 9, Stabilized 9 ReadyForNewScale, Limited 9 DesiredWithinRange, Fallback true",
			"stored ReadAt 10002, Served 9, Highest 9",
		},
		{
			"too old is not failing", both(to(9, false), ago(failingSince, 60), func(in *Input) { in.Elapsed = second(50) }),
			"Held trigger not read: list jobs: the last reading is older than 45s, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"passed on", both(to(9, false), passed, since(30)),
			"Mode pass-through, Replicas 9, Value 9, Decider -1, Recommended 9, Stabilized none, Limited none, Fallback true, CooldownUntil never",
			"stored Served 9, Highest 9",
		},
		{
			"passed on, to nothing", both(to(0, true), passed, since(30)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 0, Decider -1, Recommended 0, Stabilized none, Limited none, Fallback true, CooldownUntil never",
			"stored Active false, Served 1, Lowest 1",
		},
		{
			"passed on at a target of its own", both(to(9, false), passed, since(30), func(in *Input) { in.Observation.HPA.Target = 2000 }),
			"Mode pass-through, Replicas 9, Value 18, Decider -1, Recommended 9, Stabilized none, Limited none, Fallback true, CooldownUntil never",
			"stored Served 9, Highest 9",
		},
	})
}

// What counts as work, and when it last was.
func TestStepNotesActivity(t *testing.T) {
	testSteps(t, []stepRow{
		{"later than on file", ago(lastActive, 3), "", "stored LastActive 10000"},
		{"earlier than on file", ago(lastActive, 1), "LastActive 10001, CooldownUntil 10121", ""},
		{"never before", func(in *Input) { in.Record.EverActive = false }, "", "stored EverActive true"},
		{"no more than the threshold", above(20), "", ""},
		{
			"the second of two", both(beside(12), ago(lastActive, 3), above(20)),
			"",
			"stored LastActive 10000",
		},
		{"the first failed", both(failing, beside(12), ago(lastActive, 3)), "Decider 1", "stored LastActive 10000"},
		{
			"too old", both(ago(lastActive, 70), func(in *Input) { in.Record.Readings[0].At -= second(43.000000001) }),
			"Held trigger not read: list jobs: the last reading is older than 45s, Decider -1, Recommended 0, Stabilized none, Limited none, LastActive 9932, CooldownUntil never",
			"",
		},
		{
			"just not too old", both(ago(lastActive, 70), func(in *Input) { in.Record.Readings[0].At -= second(43) }),
			"LastActive 9957, CooldownUntil 10077",
			"stored LastActive 9957",
		},
	})
}

// The count after windows, policies and bounds, and until when it is held.
func TestStepCounts(t *testing.T) {
	slow := func(in *Input) {
		in.Policy.Behavior.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 2, Period: 30 * time.Second}}
		in.Record.Events = []algorithm.Event{{At: second(9_990), Change: 1}}
	}
	testSteps(t, []stepRow{
		{"held down", onFile(5), "Recommended 1, Stabilized 4 ScaleDownStabilized until 10060", ""},
		{
			"held down no more", both(onFile(5), withoutHistory),
			"Replicas 1, Value 1, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"stored Served 1, Lowest 1",
		},
		{"up", onFile(30), "Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange", "stored Served 6, Highest 6"},
		{
			"up, slowly", both(onFile(50), slow),
			"Replicas 5, Value 5, Recommended 10, Stabilized 10 ReadyForNewScale, Limited 5 ScaleUpLimit until 10020",
			"stored Served 5, Highest 5",
		},
		{
			"up to the bound", onFile(500),
			"Replicas 20, Value 20, Recommended 100, Stabilized 100 ReadyForNewScale, Limited 20 TooManyReplicas",
			"stored Served 20, Highest 20",
		},
		{
			"at the bound", both(runs(20), onFile(500)),
			"Replicas 20, Value 20, Current 20, Status 20, Running 20, Recommended 100, Stabilized 100 ReadyForNewScale, Limited 20 TooManyReplicas",
			"",
		},
		{
			"above the bound", both(bounded(1, 3), onFile(5)),
			"Replicas 3, Value 3, Bounds 1-3, Recommended 1, Stabilized none, Limited 3 TooManyReplicas",
			"stored Served 3, Lowest 3",
		},
		{"at the upper bound", both(bounded(1, 4), onFile(30)), "Bounds 1-4, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 4 TooManyReplicas", ""},
		{
			"below the bound", both(bounded(6, 20), onFile(5)),
			"Replicas 6, Value 6, Bounds 6-20, Recommended 1, Stabilized none, Limited 6 TooFewReplicas",
			"stored Served 6, Highest 6",
		},
		{
			"at the lower bound", both(bounded(4, 20), onFile(5), withoutHistory),
			"Bounds 4-20, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 4 TooFewReplicas",
			"",
		},
		{
			"one below a bound of two", both(bounded(2, 20), runs(1), onFile(5)),
			"Replicas 2, Value 2, Current 1, Status 1, Running 1, Bounds 2-20, Recommended 1, Stabilized none, Limited 2 TooFewReplicas",
			"stored Served 2, Highest 2",
		},
		{
			"none below a bound of two, and work", both(bounded(2, 20), asleep, onFile(5)),
			"Replicas 2, Value 2, Current 0, Status 0, Running 0, Bounds 2-20, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"stored Served 2, Highest 2",
		},
		{
			"none, and work", both(asleep, onFile(5)),
			"Replicas 1, Value 1, Current 0, Status 0, Running 0, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"stored Served 1, Highest 1",
		},
		{
			"fresh, down", both(fresh(5), withoutHistory),
			"Replicas 1, Value 1, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 5@10002), ReadAt 10002, GoodAt 10002, Recommended 1, History highs 1@10002, lows 1@10002, LastActive 10002, Served 1, Lowest 1",
		},
		{
			"fresh, up", fresh(30),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 30@10002), ReadAt 10002, GoodAt 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Served 6, Highest 6",
		},
	})
}
