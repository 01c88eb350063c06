package scaling

import (
	"reflect"
	"testing"
)

// The decision that all others are compared with, in full.
func TestStepOrdinarily(t *testing.T) {
	in := ordinary()
	nothing := make([]field, reflect.TypeFor[Decision]().NumField())
	const want = "Mode stabilised, Err <nil>, Replicas 4, Awake true, Active true, Value 4, Held <nil>, Current 4, Status 4, Running 4, Bounds 1-20, " +
		"OpenLoop false, Degraded false, Decider 0, Recommended 4, Stabilized 4 ReadyForNewScale, Limited 4 DesiredWithinRange, Fallback false, " +
		"EverActive true, LastActive 10000, CanSleep true, CooldownUntil 10120, Over false, KEDACooldown 0, Swallowed false, ZeroReason , " +
		"Overruled 0x 0@0, Stranded , Native false, Warnings []"
	if got := differences(nothing, shown(Step(in).Decision, in)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// From what a decision begins: what runs or was served last, and within which bounds.
func TestStepBegins(t *testing.T) {
	testSteps(t, []stepRow{
		{"as ever", func(*Input) {}, "", ""},
		{"unsaved", func(in *Input) { in.Unsaved = true }, "", "stored"},
		{"no store", func(in *Input) { in.Degraded = true }, "Degraded true", ""},
		{"a later moment", func(in *Input) { in.Elapsed = second(30) }, "", ""},
		{"open loop", openLoop, "Running 0, OpenLoop true, CanSleep false", ""},
		{"open loop, min 0, max beyond", both(openLoop, least(0), most(50)), "Running 0, Bounds 0-50, OpenLoop true", ""},
		{"open loop, min 2", both(openLoop, least(2)), "Running 0, Bounds 2-20, OpenLoop true, CanSleep false", ""},
		{
			"open loop, first seen", both(openLoop, unknown, fresh(20)),
			"Current 0, Status 0, Running 0, OpenLoop true, LastActive 2, CanSleep false, CooldownUntil 122",
			"stored Seeded true, Readings (list jobs: 20@2), ReadAt 2, GoodAt 2, SeenSince 2, Recommended 4, History highs 4@2, lows 4@2, LastActive 2, EverActive true, Active true, Served 4, Highest 4",
		},
		{
			"shadow of 6", both(shadow, func(in *Input) { in.Record.Served, in.Record.Highest = 6, 6 }),
			"Mode shadow, Current 6, Status 6",
			"stored Served 4, Highest 4, Replicas 6",
		},
		{
			"shadow, first seen", both(shadow, unknown, fresh(20)),
			"Mode shadow, LastActive 2, CooldownUntil 122",
			"stored UID its, Seeded true, Readings (list jobs: 20@2), ReadAt 2, GoodAt 2, SeenSince 2, Recommended 4, History highs 4@2, lows 4@2, LastActive 2, EverActive true, Active true, Served 4, Lowest 4, Highest 4, Replicas 4",
		},
		{"native", native, "Native true", ""},
		{"native, min 0", both(native, least(0)), "Native true", ""},
		{"native, min 1", both(native, least(1)), "CanSleep false, Native true", ""},
		{"min 3", least(3), "Bounds 3-20", ""},
		{
			"min above the HPA's max", least(30),
			"Replicas 20, Value 20, Bounds 20-20, Stabilized none, Limited 20 TooFewReplicas",
			"stored Served 20, Highest 20",
		},
		{"min below the HPA's", both(least(0), bounded(2, 20)), "Bounds 2-20", ""},
		{"max 3", most(3), "Replicas 3, Value 3, Bounds 1-3, Stabilized none, Limited 3 TooManyReplicas", "stored Served 3, Lowest 3"},
		{"max above the HPA's", most(30), "", ""},
		{
			"max below the HPA's min", both(most(1), bounded(2, 20)),
			"Replicas 2, Value 2, Bounds 2-2, Stabilized none, Limited 2 TooManyReplicas",
			"stored Served 2, Lowest 2",
		},
		{
			"max below min", both(least(5), most(3)),
			"Replicas 5, Value 5, Bounds 5-5, Stabilized none, Limited 5 TooFewReplicas",
			"stored Served 5, Highest 5",
		},
		{"a native onlooker", both(native, onlooks), "CanSleep false, Native true", ""},
		{"an onlooker", onlooks, "CanSleep false", ""},
		{
			"an onlooker beside work", both(onlooks, func(in *Input) { in.Observation.OtherWakes = true }),
			"Awake false, Active false",
			"stored Active false",
		},
		{
			"invalid", func(in *Input) { in.Policy.Invalid, in.Unsaved = ErrBadPolicy, true },
			"Held invalid policy, Decider -1, Recommended 0, Stabilized none, Limited none, EverActive false, LastActive never, CooldownUntil never",
			"",
		},
	})
}

// What a record without memory becomes, and one that has lost some of it.
func TestStepSeeds(t *testing.T) {
	blind := func(in *Input) { in.Blind = true }
	lost := func(in *Input) { in.Lost = true }
	another := func(in *Input) { in.Observation.UID = "new" }
	testSteps(t, []stepRow{
		{
			"first seen", both(unknown, fresh(20)),
			"LastActive 2, CooldownUntil 122",
			"stored UID its, Seeded true, Readings (list jobs: 20@2), ReadAt 2, GoodAt 2, SeenSince 2, Recommended 4, History highs 4@2, lows 4@2, LastActive 2, EverActive true, Active true, Served 4, Lowest 4, Highest 4, Replicas 4",
		},
		{
			"first seen, asleep", both(asleep, unknown, fresh(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, LastActive 0, CooldownUntil never, Over true",
			"stored UID its, Seeded true, Readings (list jobs: 0@2), ReadAt 2, GoodAt 2, SeenSince 2, History highs 0@2, lows 0@2",
		},
		{
			"first seen, at 1", both(unknown, fresh(0), func(in *Input) { in.Observation.Spec, in.Observation.Status = 1, 1 }),
			"Replicas 1, Value 1, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ScaleDownStabilized until 62, Limited 1 DesiredWithinRange, LastActive 2, CooldownUntil 122",
			"stored UID its, Seeded true, Readings (list jobs: 0@2), ReadAt 2, GoodAt 2, SeenSince 2, History highs 1@2, lows 0@2, LastActive 2, EverActive true, Active true, Served 1, Lowest 1, Highest 1, Replicas 1",
		},
		{
			"blind", both(blind, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002",
		},
		{
			"blind, asleep", both(asleep, blind, fresh(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, CooldownUntil never, Over true",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, EverActive false, Active false",
		},
		{
			"blind, first seen", both(blind, unknown, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 62, EverActive false, LastActive 0, CooldownUntil never",
			"stored UID its, Seeded true, Readings (list jobs: 0@2), ReadAt 2, GoodAt 2, SeenSince 2, History highs 4@2, lows 0@2, Active true, Served 4, Lowest 4, Highest 4, Replicas 4",
		},
		{
			"blind, and not read", blind,
			"Held trigger not read: no reading yet of list jobs, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (), SeenSince 10002, History highs 4@10002, lows 4@10000",
		},
		{
			"lost", both(lost, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 10002",
		},
		{
			"lost, asleep", both(asleep, lost, fresh(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, CooldownUntil never, Over true",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, EverActive false, Active false",
		},
		{
			"lost and blind", both(lost, blind, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 10002",
		},
		{
			"another object", both(another, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored UID new, Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 10002",
		},
		{
			"another object, asleep", both(asleep, another, fresh(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, CooldownUntil never, Over true",
			"stored UID new, Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, EverActive false, Active false",
		},
		{"nobody knows which object", func(in *Input) { in.Observation.UID = "" }, "", ""},
		{"nobody knew which object", func(in *Input) { in.Record.UID = "" }, "", "stored UID its"},
		{
			"lost, while it moved", both(moves(5, 4, 5, 4), lost, fresh(20)),
			"LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 20@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, History highs 4@10002, lows 4@10002, Events -1@10000, LastActive 10002, Served 4, Highest 4, Replicas 4",
		},
		{
			"blind, asleep, and not read", both(asleep, blind),
			"Err trigger not read: no reading yet of list jobs, Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Decider -1, Recommended 0, Stabilized none, Limited none, EverActive false, CooldownUntil never",
			"stored Readings (), SeenSince 10002, EverActive false",
		},
	})
}

// A later count that another process has seen stands in for what this one sees, for two
// minutes.
func TestStepCatchesUp(t *testing.T) {
	outdated := func(replicas int32, seconds float64) change {
		return func(in *Input) {
			in.Observation.Revision, in.Observation.Spec, in.Observation.Status = 6, replicas, replicas
			in.Record.Sight = Sight{Revision: 7, At: in.Record.Clock + in.Elapsed - second(seconds)}
		}
	}
	testSteps(t, []stepRow{
		{"risen two minutes ago", outdated(2, 120), "", ""},
		{"fallen two minutes ago", outdated(6, 120), "", ""},
		{"longer ago", outdated(2, 120+1e-9), "Current 2, Status 2, Running 2", "stored Lowest 2, Replicas 2, Overruled 1x 2@10002"},
	})
}
