package scaling

import (
	"errors"
	"math"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// change makes something of what is ordinary.
type change func(in *Input)

// both is one change and then others.
func both(changes ...change) change {
	return func(in *Input) {
		for _, c := range changes {
			c(in)
		}
	}
}

func unknown(in *Input)        { in.Record = Record{} }
func withoutHistory(in *Input) { in.Record.History = algorithm.History{} }
func away(in *Input)           { in.Degraded = true }
func shadow(in *Input)         { in.Policy.Shadow = true }
func passed(in *Input)         { in.Policy.Behavior = nil }
func native(in *Input)         { in.Observation.Native = true }
func neverSleeps(in *Input)    { in.Observation.ToZero = false }

// openLoop is a workload that nobody sees.
func openLoop(in *Input) {
	in.Observation = Observation{OpenLoop: true, Bounds: in.Observation.Bounds}
}

// least and most are the policy's own bounds, bounded those of the HPA.
func least(n int32) change { return func(in *Input) { in.Policy.Min = &n } }
func most(n int32) change  { return func(in *Input) { in.Policy.Max = &n } }

func bounded(low, high int32) change {
	return func(in *Input) { in.Observation.Bounds = algorithm.Bounds{Min: low, Max: high} }
}

func window(seconds float64) change {
	return func(in *Input) { in.Policy.Behavior.ScaleDown.Window = second(seconds) }
}

// above is what a reading has to exceed to be work; of an onlooker, none does. Beside
// one, another trigger may be work.
func above(threshold float64) change {
	return func(in *Input) { in.Policy.Triggers[0].Activation = threshold }
}

func onlooks(in *Input) { above(math.MaxInt32)(in) }

func onlooksBeside(in *Input) {
	onlooks(in)
	in.Observation.OtherWakes = true
}

// moves is a workload that has gone from one count to another, when all that had been
// decided was between the lowest and the highest.
func moves(from, lowest, highest, to int32) change {
	return func(in *Input) {
		in.Record.Replicas, in.Record.Lowest, in.Record.Highest, in.Record.Served = from, lowest, highest, highest
		in.Observation.Spec, in.Observation.Status = to, to
	}
}

// runs is a workload that has had as many replicas for long; asleep, none.
func runs(n int32) change { return moves(n, n, n, n) }
func asleep(in *Input)    { runs(0)(in) }

// starting is a workload of which so many replicas are there yet.
func starting(n int32) change { return func(in *Input) { in.Observation.Status = n } }

// onFile is what was read last.
func onFile(value float64) change {
	return func(in *Input) { in.Record.Readings[0].Value = value }
}

// otherwise is a reading on file that answers another question.
func otherwise(in *Input) { in.Record.Readings[0].Query = "list mails" }

// fresh is what is read anew, of one trigger or several.
func fresh(values ...float64) change {
	return func(in *Input) {
		for _, v := range values {
			in.Outcomes = append(in.Outcomes, Outcome{Value: v})
		}
	}
}

// fails is a read that fails, failed one on file, of the moment of the record.
func fails(in *Input) { in.Outcomes = []Outcome{{Err: errors.New("timeout")}} }

func failed(in *Input) {
	failing(in)
	in.Record.FailingSince = second(10_000)
}

// beside adds a trigger with so many mails, 3 per replica.
func beside(mails float64) change {
	return func(in *Input) {
		in.Policy.Triggers = append(in.Policy.Triggers, Trigger{Type: "fake", Target: 3000, Query: fakeQuery{"s", "list mails"}})
		in.Record.Readings = append(in.Record.Readings, Reading{Query: "list mails", Value: mails, At: second(10_000), Known: true})
	}
}

// ago sets a moment of the record so many seconds before the decision.
func ago(moment func(r *Record) *time.Duration, seconds float64) change {
	return func(in *Input) { *moment(&in.Record) = in.Record.Clock + in.Elapsed - second(seconds) }
}

func readAt(r *Record) *time.Duration       { return &r.ReadAt }
func goodAt(r *Record) *time.Duration       { return &r.GoodAt }
func seenSince(r *Record) *time.Duration    { return &r.SeenSince }
func lastActive(r *Record) *time.Duration   { return &r.LastActive }
func failingSince(r *Record) *time.Duration { return &r.FailingSince }
