package scaling

import (
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// A move is an event as far as it was asked for, of the moment at which it was.
func TestStepNotesMoves(t *testing.T) {
	unsure := func(in *Input) { in.Unsure = true }
	earlier := func(events ...algorithm.Event) change {
		return func(in *Input) { in.Record.Events = events }
	}
	testSteps(t, []stepRow{
		{"down as served", moves(5, 4, 5, 4), "", "stored Events -1@10000, Served 4, Highest 4, Replicas 4"},
		{"down further", moves(6, 5, 6, 4), "", "stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{"down, and up was served", moves(5, 5, 7, 4), "", "stored Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{"up as served", moves(3, 3, 4, 4), "", "stored Events +1@10000, Lowest 4, Replicas 4"},
		{"up further", moves(2, 2, 3, 4), "", "stored Events +1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{"up, and down was served", moves(3, 2, 3, 4), "", "stored Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{"up less than served", moves(3, 3, 9, 4), "", "stored Events +1@10000, Served 4, Lowest 4, Highest 4, Replicas 4"},
		{"woken to the floor", both(bounded(4, 20), moves(0, 0, 4, 4)), "Bounds 4-20", "stored Lowest 4, Replicas 4"},
		{"woken above the floor", both(bounded(3, 20), moves(0, 0, 4, 4)), "Bounds 3-20", "stored Events +1@10000, Lowest 4, Replicas 4"},
		{"woken to 4", moves(0, 0, 4, 4), "", "stored Events +3@10000, Lowest 4, Replicas 4"},
		{
			"down to below the floor", both(bounded(3, 20), moves(5, 0, 5, 2)),
			"Replicas 3, Value 3, Current 2, Status 2, Running 2, Bounds 3-20, Stabilized none, Limited 3 TooFewReplicas",
			"stored Events -2@10000, Served 3, Lowest 2, Highest 3, Replicas 2",
		},
		{"switched off", moves(4, 0, 4, 0), "Current 0, Status 0, Running 0", "stored Events -3@10000, Replicas 0, Slept true"},
		{"switched off by somebody else", moves(4, 4, 4, 0), "Current 0, Status 0, Running 0", "stored Lowest 0, Replicas 0"},
		{
			"switched off from below the floor", both(bounded(3, 20), moves(2, 0, 2, 0)),
			"Current 0, Status 0, Running 0, Bounds 3-20",
			"stored Served 4, Highest 4, Replicas 0, Slept true",
		},
		{
			"off and on", both(moves(4, 0, 4, 3), func(in *Input) { in.Record.Slept = true }),
			"Current 3, Status 3, Running 3",
			"stored Events -1@10000, Lowest 3, Replicas 3, Slept false",
		},
		{
			"events age", both(moves(5, 4, 5, 4), earlier(
				algorithm.Event{At: second(10_000) - algorithm.MaxPeriod - 1, Change: 7},
				algorithm.Event{At: second(10_000) - algorithm.MaxPeriod, Change: 8},
				algorithm.Event{At: second(10_000) - algorithm.MaxPeriod + 1, Change: 9},
			)),
			"",
			"stored Events +9@8200.000000001 -1@10000, Served 4, Highest 4, Replicas 4",
		},
		{"a shadow's do not count", both(shadow, moves(6, 5, 6, 4)), "Mode shadow, Current 6, Status 6", "stored Served 4, Lowest 4, Highest 4"},
		{"nor does what nobody sees", both(openLoop, moves(6, 5, 6, 4)), "Current 6, Status 6, OpenLoop true, CanSleep false", "stored Served 4, Lowest 4"},
		{"a rise that was served, unsure", both(unsure, moves(3, 3, 4, 4)), "", "stored Events +1@10000, Lowest 4, Replicas 4"},
		{
			"a rise that was not, unsure", both(unsure, moves(2, 2, 3, 4)),
			"LastActive 10002, CooldownUntil 10122",
			"stored History highs 4@10002, lows 4@10000, Events +1@10000, LastActive 10002, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002",
		},
		{
			"a fall that was not, unsure", both(unsure, moves(6, 5, 6, 4)),
			"",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002",
		},
		{"unsure, and it stays", unsure, "", ""},
	})
}

// A count that somebody else sets again and again within an hour.
func TestStepIsOverruled(t *testing.T) {
	before := func(to int32, times int, by float64) change {
		return func(in *Input) {
			in.Record.Overruled = Overruled{To: to, Times: times, At: second(10_002) - second(by)}
		}
	}
	testSteps(t, []stepRow{
		{"once", moves(6, 5, 6, 4), "", "stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{
			"twice", both(moves(6, 5, 6, 4), before(4, 1, 60)),
			"Overruled 2x 4@10002",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 2x 4@10002",
		},
		{
			"twice in just an hour", both(moves(6, 5, 6, 4), before(4, 2, 3600)),
			"Overruled 3x 4@10002",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 3x 4@10002",
		},
		{
			"twice in longer", both(moves(6, 5, 6, 4), before(4, 2, 3600+1e-9)),
			"",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002",
		},
		{
			"to another count", both(moves(6, 5, 6, 4), before(3, 2, 60)),
			"",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002",
		},
		{"upwards", moves(2, 2, 3, 4), "", "stored Events +1@10000, Served 4, Lowest 4, Highest 4, Replicas 4, Overruled 1x 4@10002"},
		{"below, within what was served", moves(6, 4, 6, 4), "", "stored Events -2@10000, Served 4, Highest 4, Replicas 4"},
		{"above, within what was served", moves(2, 2, 4, 4), "", "stored Events +2@10000, Lowest 4, Replicas 4"},
		{"back below what was served", moves(3, 5, 5, 4), "", "stored Events +1@10000, Served 4, Lowest 4, Highest 4, Replicas 4"},
		{"to zero", moves(6, 5, 6, 0), "Current 0, Status 0, Running 0", "stored Events -1@10000, Served 4, Lowest 0, Highest 4, Replicas 0"},
		{"from zero", moves(0, 0, 3, 4), "", "stored Events +2@10000, Served 4, Lowest 4, Highest 4, Replicas 4"},
		{
			"passed on", both(passed, moves(6, 5, 6, 4)),
			"Mode pass-through, Stabilized none, Limited none, CooldownUntil never",
			"stored Events -1@10000, Served 4, Lowest 4, Highest 4, Replicas 4",
		},
		{"told for an hour", before(4, 2, 3600), "Overruled 2x 4@6402", ""},
		{"and no longer", before(4, 2, 3600+1e-9), "", ""},
		{"once is not told", before(4, 1, 60), "", ""},
		{"down, not yet as far as was served", moves(6, 3, 3, 4), "", "stored Events -2@10000, Served 4, Lowest 4, Highest 4, Replicas 4"},
	})
}

// Whose zero a native workload's is.
func TestStepNotesZero(t *testing.T) {
	says := func(toZero, disabled bool) change {
		return func(in *Input) { in.Observation.HPA.ScaledToZero, in.Observation.HPA.Disabled = toZero, disabled }
	}
	slept := func(in *Input) { in.Record.Slept = true }
	rests := both(asleep, onFile(0), ago(lastActive, 200))
	testSteps(t, []stepRow{
		{
			"not native", both(rests, says(false, true)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true",
			"stored Active false",
		},
		{
			"by somebody else, and nobody says so", both(native, rests),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Native true",
			"stored Active false",
		},
		{
			"by somebody else", both(native, rests, says(false, true)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Stranded NotByHPA, Native true",
			"stored Active false",
		},
		{
			"by the HPA", both(native, rests, says(true, false)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Native true",
			"stored Active false, Slept true",
		},
		{
			"by the HPA, and it says so still", both(native, rests, slept, says(true, true)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Native true",
			"stored Active false",
		},
		{
			"by the HPA, which has forgotten", both(native, rests, slept, says(false, true)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Stranded ConditionLost, Native true",
			"stored Active false",
		},
		{
			"by the HPA, which will wake it", both(native, rests, slept),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true, Native true",
			"stored Active false",
		},
		{"it runs again", both(native, slept, says(false, true)), "Native true", "stored Slept false"},
		{"it runs, and the HPA says that it put it to zero", both(native, says(true, true)), "Native true", ""},
		{
			"one runs, and the HPA says that it is disabled", both(native, runs(1), says(false, true)),
			"Current 1, Status 1, Running 1, Native true",
			"stored Served 4, Highest 4",
		},
	})
}

// What is stored: what is new, and that a count is yet to be reached.
func TestStepFinishes(t *testing.T) {
	asks := func(served, lowest, highest int32) change {
		return func(in *Input) {
			in.Record.Served, in.Record.Lowest, in.Record.Highest = served, lowest, highest
			in.Record.Readings[0].Value = 30
		}
	}
	asksOne := both(withoutHistory, func(in *Input) {
		in.Record.Served, in.Record.Lowest, in.Record.Readings[0].Value = 1, 1, 5
	})
	after := func(elapsed float64) change { return func(in *Input) { in.Elapsed = second(elapsed) } }
	testSteps(t, []stepRow{
		{
			"6 for the first time", asks(4, 4, 4),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Served 6, Highest 6",
		},
		{
			"6 again, soon", both(asks(6, 4, 6), after(0.249999999)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"",
		},
		{
			"6 again, later", both(asks(6, 4, 6), after(0.25)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored",
		},
		{
			"6 again, passed on", both(asks(6, 4, 6), passed),
			"Mode pass-through, Replicas 6, Value 6, Recommended 6, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"6, the lowest", both(asks(6, 7, 8), after(0.1)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Lowest 6",
		},
		{
			"6, the highest", both(asks(6, 4, 5), after(0.1)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Highest 6",
		},
		{
			"6, after 5", both(asks(5, 4, 6), after(0.1)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Served 6",
		},
		{"it was inactive", func(in *Input) { in.Record.Active = false }, "", "stored Active true"},
		{
			"an error decides nothing", both(asleep, func(in *Input) {
				in.Record.Served, in.Record.Highest, in.Record.Readings[0].Error = 6, 6, "timeout"
			}),
			"Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"an error leaves it active", both(native, failing),
			"Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"",
		},
		{
			"6, after 7", both(asks(7, 4, 8), after(0.1)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Served 6",
		},
		{
			"1 again, soon", both(asksOne, after(0.249999999)),
			"Replicas 1, Value 1, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"",
		},
		{
			"1 again, later", both(asksOne, after(0.25)),
			"Replicas 1, Value 1, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"stored",
		},
	})
}
