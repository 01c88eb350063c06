package scaling

import (
	"testing"
	"time"
)

// When a workload may sleep, and what it is told to do until it does.
func TestStepSleeps(t *testing.T) {
	quiet := func(seconds float64) change {
		return both(onFile(0), ago(lastActive, seconds))
	}
	never := func(in *Input) { in.Record.EverActive = false }
	short := func(in *Input) { in.Policy.Cooldown = 10 * time.Second }
	testSteps(t, []stepRow{
		{
			"quiet for just less than the cooldown", quiet(119.999),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9882.001, CooldownUntil 10002.001",
			"",
		},
		{
			"for the cooldown", quiet(120),
			"Replicas 1, Value 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Served 1, Lowest 1",
		},
		{
			"for the cooldown, of one", both(runs(1), quiet(120)),
			"Replicas 1, Awake false, Active false, Value 1, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false",
		},
		{
			"of one, by a native HPA", both(native, runs(1), quiet(120)),
			"Replicas 0, Awake false, Active false, Value 0, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true, Native true",
			"stored Active false, Served 0, Lowest 0",
		},
		{
			"of one, in shadow", both(shadow, runs(1), quiet(120)),
			"Mode shadow, Replicas 0, Awake false, Active false, Value 0, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false, Served 0, Lowest 0, Highest 0",
		},
		{
			"of one, in open loop", both(runs(1), quiet(120), openLoop, least(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 1, Status 1, Running 0, Bounds 0-20, OpenLoop true, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false, Served 0, Lowest 0",
		},
		{
			"of none", both(asleep, quiet(120)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false",
		},
		{
			"of none, yet not quiet", both(asleep, quiet(60)),
			"Replicas 1, Value 1, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ScaleDownStabilized until 10060, Limited 1 DesiredWithinRange, LastActive 9942, CooldownUntil 10062",
			"stored Served 1, Highest 1",
		},
		{
			"of none, where 4 were served since within the window", both(moves(0, 0, 4, 0), onFile(10)),
			"Current 0, Status 0, Running 0, Recommended 2, Stabilized 4 ScaleDownStabilized until 10060",
			"stored",
		},
		{
			"of none, where 4 were served and more is work", both(moves(0, 0, 4, 0), onFile(30)),
			"Replicas 6, Value 6, Current 0, Status 0, Running 0, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Served 6, Highest 6",
		},
		{
			"of none, where 4 were served long ago", both(moves(0, 0, 4, 0), withoutHistory, onFile(10)),
			"Replicas 2, Value 2, Current 0, Status 0, Running 0, Recommended 2, Stabilized 2 ReadyForNewScale, Limited 2 DesiredWithinRange",
			"stored Served 2",
		},
		{
			"of one, where 4 were served since within the window", both(moves(1, 1, 4, 1), onFile(10)),
			"Replicas 2, Value 2, Current 1, Status 1, Running 1, Recommended 2, Stabilized 2 ReadyForNewScale, Limited 2 DesiredWithinRange",
			"stored Served 2",
		},
		{"of one, and work", both(runs(1), ago(lastActive, 120)), "Current 1, Status 1, Running 1", "stored LastActive 10000, Served 4, Highest 4"},
		{
			"of one that never sleeps", both(neverSleeps, runs(1), quiet(120)),
			"Replicas 1, Value 1, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ScaleDownStabilized until 10060, Limited 1 DesiredWithinRange, LastActive 9882, CanSleep false, CooldownUntil 10002",
			"",
		},
		{
			"of two at a floor of two", both(bounded(2, 20), runs(2), quiet(120)),
			"Replicas 2, Awake false, Active false, Value 2, Current 2, Status 2, Running 2, Bounds 2-20, Recommended 0, Stabilized 2 ReadyForNewScale, Limited 2 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false",
		},
		{
			"of three at a floor of two", both(bounded(2, 20), runs(3), quiet(120)),
			"Replicas 2, Value 2, Current 3, Status 3, Running 3, Bounds 2-20, Recommended 0, Stabilized 2 ReadyForNewScale, Limited 2 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Served 2, Lowest 2",
		},
		{
			"never active", both(never, quiet(120)),
			"Replicas 1, Value 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, LastActive 9882, CooldownUntil never, Over true",
			"stored Served 1, Lowest 1",
		},
		{
			"for the window, longer than the cooldown", both(short, quiet(60)),
			"Replicas 1, Value 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9942, CooldownUntil 10002, Over true",
			"stored Served 1, Lowest 1",
		},
		{
			"for just less than the window", both(short, quiet(59.999)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9942.001, CooldownUntil 10002.001",
			"",
		},
		{
			"seen for just less than the window", both(quiet(120), ago(seenSince, 59.999)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9882, CooldownUntil 10002",
			"",
		},
		{
			"seen for the window", both(quiet(120), ago(seenSince, 60)),
			"Replicas 1, Value 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Served 1, Lowest 1",
		},
		{
			"one, seen for a second", both(runs(1), quiet(120), ago(seenSince, 1)),
			"Replicas 1, Awake false, Active false, Value 1, Current 1, Status 1, Running 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9882, CooldownUntil 10002, Over true",
			"stored Active false",
		},
		{
			"an onlooker's zero", both(asleep, onlooksBeside, onFile(0)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Recommended 0, Stabilized 1 ScaleDownStabilized until 10060, Limited 1 DesiredWithinRange",
			"stored Active false",
		},
		{
			"an onlooker's one", both(onlooksBeside, onFile(0)),
			"Awake false, Active false, Recommended 0, Stabilized 4 ScaleDownStabilized until 10060",
			"stored Active false",
		},
		{
			"an onlooker, which never sleeps", both(onlooksBeside, neverSleeps, onFile(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, CanSleep false",
			"",
		},
		{
			"an onlooker at a native HPA", both(native, onlooksBeside, onFile(0)),
			"Awake false, Active false, Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, Native true",
			"stored Active false",
		},
		{
			"an onlooker that asks for more", both(onlooksBeside, onFile(30)),
			"Replicas 6, Awake false, Active false, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Active false, Served 6, Highest 6",
		},
	})
}

// Without the store, counts only rise.
func TestStepWithoutTheStore(t *testing.T) {
	testSteps(t, []stepRow{
		{
			"less is asked for", both(away, onFile(5), ago(seenSince, 1), withoutHistory),
			"Degraded true, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"",
		},
		{
			"more is asked for", both(away, onFile(30)),
			"Replicas 6, Value 6, Degraded true, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange",
			"stored Served 6, Highest 6",
		},
		{
			"quiet for long", both(away, onFile(0), ago(lastActive, 200)),
			"Degraded true, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true",
			"",
		},
		{
			"quiet for long, one", both(away, runs(1), onFile(0), ago(lastActive, 200)),
			"Replicas 1, Value 1, Current 1, Status 1, Running 1, Degraded true, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, LastActive 9802, CooldownUntil 9922, Over true",
			"",
		},
		{
			"asleep, no work", both(away, asleep, onFile(0), ago(lastActive, 10)),
			"Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Degraded true, Recommended 0, Stabilized 1 ScaleDownStabilized until 10060, Limited 1 DesiredWithinRange, LastActive 9992, CooldownUntil 10112",
			"stored Active false",
		},
		{
			"asleep, and work", both(away, asleep, onFile(5), ago(lastActive, 10)),
			"Replicas 1, Value 1, Current 0, Status 0, Running 0, Degraded true, Recommended 1, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange",
			"stored LastActive 10000, Served 1, Highest 1",
		},
		{
			"at zero, and never to sleep", both(away, asleep, onFile(0), ago(lastActive, 10), neverSleeps),
			"Replicas 1, Value 1, Current 0, Status 0, Running 0, Degraded true, Recommended 0, Stabilized 1 ScaleDownStabilized until 10060, Limited 1 DesiredWithinRange, LastActive 9992, CanSleep false, CooldownUntil 10112",
			"stored Served 1, Highest 1",
		},
		{
			"passed on, less", both(away, passed, onFile(5)),
			"Mode pass-through, Degraded true, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"passed on, more", both(away, passed, onFile(30)),
			"Mode pass-through, Replicas 6, Value 6, Degraded true, Recommended 6, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 6, Highest 6",
		},
		{
			"passed on, no work", both(away, passed, onFile(0)),
			"Mode pass-through, Degraded true, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"passed on, no work, asleep", both(away, passed, asleep, onFile(0)),
			"Mode pass-through, Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Degraded true, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Active false",
		},
		{
			"passed on, work, asleep", both(away, passed, asleep, onFile(5)),
			"Mode pass-through, Replicas 1, Value 1, Current 0, Status 0, Running 0, Degraded true, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"stored Served 1, Highest 1",
		},
		{
			"passed on to a native HPA, no work", both(away, passed, native, onFile(0)),
			"Mode pass-through, Degraded true, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"",
		},
		{
			"passed on, less, while pods come", both(away, passed, onFile(5), starting(3)),
			"Mode pass-through, Status 3, Degraded true, Recommended 1, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
		{
			"passed on, no work, of one", both(away, passed, runs(1), onFile(0)),
			"Mode pass-through, Replicas 1, Value 1, Current 1, Status 1, Running 1, Degraded true, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"",
		},
	})
}
