package scaling

import (
	"errors"
	"math"
	"testing"
)

// What is read is filed, and what fails leaves the last reading in place.
func TestStepFilesReadings(t *testing.T) {
	neverRead := func(in *Input) { in.Record.Readings = nil }
	answers := func(o Outcome) change { return func(in *Input) { in.Outcomes = []Outcome{o} } }
	testSteps(t, []stepRow{
		{
			"the same", fresh(20),
			"LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 20@10002), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
		{
			"with a note", answers(Outcome{Value: 20, Spec: 4, Note: "of two shards"}),
			"LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 20@10002 of 4, of two shards), ReadAt 10002, GoodAt 10002, History highs 4@10002, lows 4@10002, LastActive 10002",
		},
		{
			"fails", fails,
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"fails again", both(failed, fails),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored ReadAt 10002",
		},
		{
			"never read, fails", both(neverRead, fails),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 0@0 unknown, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"of another question, fails", both(fails, otherwise),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 0@0 unknown, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"not a number", answers(Outcome{Value: math.NaN()}),
			"Held trigger not read: value NaN is not a finite number, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, value NaN is not a finite number), ReadAt 10002, FailingSince 10002",
		},
		{
			"less than nothing", answers(Outcome{Value: -1}),
			"Held trigger not read: value -1 is negative, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, value -1 is negative), ReadAt 10002, FailingSince 10002",
		},
		{
			"one of two fails, the other asks for more", both(beside(15), func(in *Input) {
				in.Outcomes = []Outcome{{Err: errors.New("timeout")}, {Value: 18}}
			}),
			"Replicas 6, Value 6, Decider 1, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 20@10000, timeout) (list mails: 18@10002), ReadAt 10002, FailingSince 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Served 6, Highest 6",
		},
		{
			"one of two fails, the other asks for less", both(beside(15), func(in *Input) {
				in.Outcomes = []Outcome{{Err: errors.New("timeout")}, {Value: 6}}
			}),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, LastActive 10002, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout) (list mails: 6@10002), ReadAt 10002, FailingSince 10002, LastActive 10002",
		},
		{
			"two, the second asks for more", both(beside(15), fresh(20, 18)),
			"Replicas 6, Value 6, Decider 1, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 20@10002) (list mails: 18@10002), ReadAt 10002, GoodAt 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Served 6, Highest 6",
		},
		{
			"two, the first asks for more", both(beside(15), fresh(30, 18)),
			"Replicas 6, Value 6, Recommended 6, Stabilized 6 ReadyForNewScale, Limited 6 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 30@10002) (list mails: 18@10002), ReadAt 10002, GoodAt 10002, Recommended 6, History highs 6@10002, lows 4@10000 6@10002, LastActive 10002, Served 6, Highest 6",
		},
	})
}

// A time in which all reads failed ends: it is no quiet time, and a long one no sight.
func TestStepEndsBlindTime(t *testing.T) {
	never := func(in *Input) { in.Record.EverActive = false }
	interval := func(in *Input) { in.Policy.Interval = second(12) }
	testSteps(t, []stepRow{
		{
			"of 10 s", both(failed, ago(goodAt, 10), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9942, CooldownUntil 10062",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 9942",
		},
		{
			"of 10 s, active 7 s ago", both(failed, ago(goodAt, 10), ago(lastActive, 7), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 10002",
		},
		{
			"never active", both(failed, never, ago(goodAt, 10), ago(lastActive, 70), fresh(0)),
			"Replicas 1, Value 1, Recommended 0, Stabilized 1 ReadyForNewScale, Limited 1 DesiredWithinRange, EverActive false, LastActive 9932, CooldownUntil never, Over true",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, Served 1, Lowest 1",
		},
		{
			"of just less than 45 s", both(failed, ago(goodAt, 45-1e-9), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9976.999999999, CooldownUntil 10096.999999999",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 9976.999999999",
		},
		{
			"of 45 s", both(failed, ago(goodAt, 45), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9977, CooldownUntil 10097",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 9977",
		},
		{
			"of just less than the window", both(failed, window(30), ago(goodAt, 29.999), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10030, LastActive 9961.999, CooldownUntil 10081.999",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 9961.999",
		},
		{
			"of the window", both(failed, window(30), ago(goodAt, 30), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10032, LastActive 9962, CooldownUntil 10082",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 9962",
		},
		{
			"of just less than four intervals", both(failed, interval, ago(goodAt, 47.999), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9979.999, CooldownUntil 10099.999",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 9979.999",
		},
		{
			"of four intervals", both(failed, interval, ago(goodAt, 48), ago(lastActive, 70), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9980, CooldownUntil 10100",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 9980",
		},
		{
			"of 45 s, passed on", both(failed, passed, ago(goodAt, 45), ago(lastActive, 70), fresh(0)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 0, Recommended 0, Stabilized none, Limited none, LastActive 9977, CooldownUntil never",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10002, lows 0@10002, LastActive 9977, Active false, Served 1, Lowest 1",
		},
		{
			"of just less, passed on", both(failed, passed, ago(goodAt, 44.999), ago(lastActive, 70), fresh(0)),
			"Mode pass-through, Replicas 1, Awake false, Active false, Value 0, Recommended 0, Stabilized none, Limited none, LastActive 9976.999, CooldownUntil never",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002, LastActive 9976.999, Active false, Served 1, Lowest 1",
		},
		{
			"it goes on", both(failed, ago(goodAt, 45), fails),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored ReadAt 10002",
		},
	})
}

// A time in which nobody asked ends: what was is taken to have lasted.
func TestStepEndsAGap(t *testing.T) {
	gap := func(seconds float64) change {
		return both(ago(readAt, seconds), ago(goodAt, seconds), ago(lastActive, 70), func(in *Input) { in.Record.Recommended = 7 })
	}
	idle := onFile(0)
	testSteps(t, []stepRow{
		{
			"of 45 s is none", both(gap(45), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002",
		},
		{
			"of longer", both(gap(45.000000001), fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002, LastActive 10002",
		},
		{
			"of two intervals is none", both(gap(60), fresh(0), func(in *Input) { in.Policy.Interval = second(30) }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002",
		},
		{
			"of more than two intervals", both(gap(60.000000001), fresh(0), func(in *Input) { in.Policy.Interval = second(30) }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002, LastActive 10002",
		},
		{
			"without work", both(gap(50), idle, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002",
		},
		{
			"at the threshold", both(gap(50), fresh(0), above(20)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002",
		},
		{
			"of another question", both(gap(50), fresh(0), otherwise),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002",
		},
		{
			"nothing had been read", both(gap(50), fresh(0), func(in *Input) { in.Record.Readings = nil }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, Recommended 0, History highs 4@10000 0@10002, lows 0@10002",
		},
		{
			"risen, without work", both(moves(3, 3, 4, 4), gap(50), idle, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002, Events +1@10000, LastActive 10002, Lowest 4, Replicas 4",
		},
		{
			"risen above all that was recommended", both(moves(8, 8, 9, 9), gap(50), idle, fresh(0)),
			"Replicas 9, Value 9, Current 9, Status 9, Running 9, Recommended 0, Stabilized 9 ScaleDownStabilized until 10062, Limited 9 DesiredWithinRange, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 9@10002, lows 0@10002, Events +1@10000, LastActive 10002, Lowest 9, Replicas 9",
		},
		{
			"fallen, without work", both(moves(5, 4, 5, 4), gap(50), idle, fresh(0)),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002, Events -1@10000, Served 4, Highest 4, Replicas 4",
		},
		{
			"nothing was recommended", both(gap(50), idle, fresh(0), func(in *Input) { in.Record.Recommended = 0 }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, History highs 4@10000 0@10002, lows 0@10002",
		},
		{
			"one was recommended", both(gap(50), idle, fresh(0), func(in *Input) { in.Record.Recommended = 1 }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10060, LastActive 9932, CooldownUntil 10052",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 4@10000 1@10002, lows 0@10002",
		},
		{
			"it ends with a failure", both(gap(50), fails),
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, LastActive 9932, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{"never active before", both(gap(50), fresh(0), func(in *Input) { in.Record.EverActive = false }),
			"Recommended 0, Stabilized 4 ScaleDownStabilized until 10062, LastActive 10002, CooldownUntil 10122",
			"stored Readings (list jobs: 0@10002), ReadAt 10002, GoodAt 10002, SeenSince 10002, Recommended 0, History highs 7@10002, lows 0@10002, LastActive 10002, EverActive true",
		},
	})
}

// What is answered where nothing can be read.
func TestStepHolds(t *testing.T) {
	testSteps(t, []stepRow{
		{
			"what runs", fails,
			"Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"one replica", both(fails, moves(1, 1, 1, 1)),
			"Replicas 1, Value 1, Held trigger not read: timeout, Current 1, Status 1, Running 1, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"what sleeps", both(asleep, fails),
			"Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Current 0, Status 0, Running 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"a native HPA", both(native, fails),
			"Err trigger not read: timeout, Replicas 0, Awake false, Active false, Value 0, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never, Native true",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"an HPA of Values", both(fails, func(in *Input) { in.Observation.ValueType = true }),
			"Value 1, Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"an HPA that nobody sees", both(fails, func(in *Input) { in.Observation.HPA.Target, in.Policy.Target = 0, 3000 }),
			"Value 12, Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"an HPA with a target of its own", both(fails, func(in *Input) { in.Observation.HPA.Target, in.Policy.Target = 2000, 3000 }),
			"Value 8, Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"an HPA of Values with a target of its own", both(fails, func(in *Input) { in.Observation.HPA.Target, in.Observation.ValueType = 2000, true }),
			"Value 2, Held trigger not read: timeout, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
		{
			"while pods come", both(fails, starting(3)),
			"Held trigger not read: timeout, Status 3, Decider -1, Recommended 0, Stabilized none, Limited none, CooldownUntil never",
			"stored Readings (list jobs: 20@10000, timeout), ReadAt 10002, FailingSince 10002",
		},
	})
}
