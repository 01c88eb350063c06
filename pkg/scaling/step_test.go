package scaling

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestAllocations counts what one decision asks of the garbage collector.
func TestAllocations(t *testing.T) {
	type variant struct {
		name   string
		change func(*Input)
		want   float64
	}
	variants := []variant{
		{"on file", func(*Input) {}, 0},
		{"on file, not yet followed", func(in *Input) { in.Elapsed = time.Second; in.Observation.Bounds.Max = 7 }, 0},
		{"on file, the count has moved", func(in *Input) { in.Observation.Spec, in.Observation.Status = 0, 0 }, 1}, // an event
		{"on file, of several triggers", several(0), 0},
		{"on file, one failing, the others asking for more", several(1), 0},
		{"on file, fallback", func(in *Input) { failing(in); in.Policy.Fallback = &Fallback{Replicas: 3} }, 0},
		{"on file, in shadow", func(in *Input) { in.Policy.Shadow = true }, 0},
		{"on file, in pass-through", func(in *Input) { in.Policy.Behavior = nil }, 0},
		{"on file, in open loop", func(in *Input) { in.Observation.OpenLoop = true }, 0},
		{"on file, degraded", func(in *Input) { in.Degraded = true }, 0},
		{"on file, held", failing, 1}, // the error
		// A record is a value: what a reading changes of it is made anew, the readings
		// and the samples of both windows.
		{"fresh", func(in *Input) { in.Elapsed, in.Outcomes = time.Second, []Outcome{{Value: 3}} }, 3},
	}
	for _, samples := range sampleCounts {
		for _, s := range signals() {
			onFile := watched(t, samples, s)
			for _, v := range variants {
				in, policy := onFile, *onFile.Policy
				in.Policy = &policy
				v.change(&in)
				if got := testing.AllocsPerRun(100, func() { Step(in) }); got != v.want {
					t.Errorf("%s, %d samples, %s: %v allocations, want %v: %s", s.name, samples, v.name, got, v.want, Step(in).Decision.Why())
				}
			}
		}
	}
}

// several gives the policy nine triggers more, of which some failed when last read.
func several(failed int) func(*Input) {
	return func(in *Input) {
		readings := in.Record.Readings[:1:1]
		triggers := in.Policy.Triggers[:1:1]
		for i := range 9 {
			query := fmt.Sprintf("list %d", i)
			reading := Reading{Query: query, Value: 15_000, At: in.Record.Clock, Known: true}
			if i < failed {
				reading.Error = "timeout"
			}
			triggers = append(triggers, Trigger{Type: "fake", Target: 1000, Query: fakeQuery{"s", query}})
			readings = append(readings, reading)
		}
		in.Policy.Triggers, in.Record.Readings = triggers, readings
	}
}

func failing(in *Input) {
	reading := in.Record.Readings[0]
	reading.Error = "timeout"
	in.Record.Readings = []Reading{reading}
}

// A decision may be kept while its record goes on: what it tells does not change.
func TestADecisionKeepsItsTraces(t *testing.T) {
	in := watched(t, 20, signals()[1])
	first := Step(in)
	told := Explain(first.Decision)
	for range 3 {
		in.Record, in.Elapsed = first.Record, time.Second
		for _, outcome := range []Outcome{{Value: 1}, {Err: errors.New("timeout")}} {
			in.Outcomes = []Outcome{outcome}
			in.Record = Step(in).Record
		}
	}
	if again := Explain(first.Decision); !reflect.DeepEqual(again, told) {
		t.Errorf("told %+v, then %+v", told, again)
	}
	want := TriggerTrace{Type: "fake", Query: "list jobs", Known: true, Value: 9981, AgeSeconds: 0.001, Target: 1, Active: true, Recommended: 9981}
	if got := told.Triggers; len(got) != 1 || got[0] != want {
		t.Errorf("traced %+v, want %+v", got, want)
	}
}

// Of several triggers, the error names each that failed on a line of its own.
func TestHeldForSeveralTriggers(t *testing.T) {
	in := watched(t, 20, signals()[1])
	several(2)(&in)
	in.Record.Readings[3].At -= time.Hour
	in.Observation.Spec = 20_000 // more than the others ask for
	const want = "trigger not read: timeout\ntrigger not read: timeout\ntrigger not read: list 2: the last reading is older than 45s"
	if held := Step(in).Decision.Held; held == nil || held.Error() != want {
		t.Errorf("held for %v, want %s", held, want)
	}
}

// Traces say what was not usable, and why.
func TestTracesOfWhatWasNotUsable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   TriggerTrace
	}{
		{"failed", failing, TriggerTrace{Known: true, Value: 9981, AgeSeconds: 0.001, Error: "timeout"}},
		{"never read", func(in *Input) { in.Record.Readings = nil }, TriggerTrace{Error: "no reading yet of list jobs"}},
		{"another question", func(in *Input) {
			in.Record.Readings = []Reading{{Query: "list mails", Known: true}}
		}, TriggerTrace{Error: "no reading yet of list jobs"}},
		{"stale", func(in *Input) { in.Elapsed = time.Minute }, TriggerTrace{
			Known: true, Value: 9981, AgeSeconds: 60, Error: "list jobs: the last reading is older than 45s",
		}},
	} {
		in := watched(t, 20, signals()[1])
		c.change(&in)
		c.want.Type, c.want.Query, c.want.Target = "fake", "list jobs", 1
		d := Step(in).Decision
		if got := d.Basis.Triggers(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: traced %+v, want %+v", c.name, got, c.want)
		}
		if !errors.Is(d.Held, ErrNotRead) || d.Held.Error() != "trigger not read: "+c.want.Error {
			t.Errorf("%s: held for %v, want its trace's error", c.name, d.Held)
		}
	}
}
