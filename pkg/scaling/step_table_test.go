package scaling

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// second is a moment of a record's clock, or how long something takes.
func second(n float64) time.Duration { return time.Duration(math.Round(n * float64(time.Second))) }

// ordinary is a stabilised workload of 4 replicas that may sleep: of 5 jobs per replica
// there were 20 when they were last read, 2 s ago. Nothing is read anew.
func ordinary() Input {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleDown.Window = time.Minute
	behavior.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 100, Period: time.Second}}
	return Input{
		Key: Key{Ref: Ref{KindScaledObject, "shop", "worker"}, Target: "apps/Deployment/worker", Record: "jobs"},
		Policy: &Policy{
			Metric: "jobs", Target: 1000, Behavior: &behavior, Cooldown: 2 * time.Minute, Interval: 5 * time.Second,
			Triggers: []Trigger{{Type: "fake", Target: 5000, Query: fakeQuery{"s", "list jobs"}}},
		},
		Observation: Observation{
			UID: "its", Target: "apps/Deployment/worker", Spec: 4, Status: 4, Bounds: algorithm.Bounds{Min: 1, Max: 20}, ToZero: true,
			HPA: HPA{Name: "keda-hpa-worker", Target: 1000, Tolerance: algorithm.Tolerance{Down: 0.1, Up: 0.1}},
		},
		Record: Record{
			Time: epoch, Clock: second(10_000), UID: "its", Seeded: true,
			Readings: []Reading{{Query: "list jobs", Value: 20, At: second(10_000), Known: true}},
			ReadAt:   second(10_000), GoodAt: second(10_000), SeenSince: second(100),
			Recommended: 4, History: algorithm.History{}.Add(second(10_000), 4),
			LastActive: second(10_000), EverActive: true, Active: true,
			Served: 4, Lowest: 4, Highest: 4, Replicas: 4, EvaluatedAt: second(10_000),
		},
		Now: epoch.Add(2 * time.Second), Elapsed: 2 * time.Second,
	}
}

// stepRow is a change of what is ordinary.
type stepRow struct {
	name   string
	change change
	// decided is everything that it changes of the decision.
	decided string
	// stored is everything that changes in the record, but for its date; empty if it is not
	// to be stored.
	stored string
}

// testSteps checks what each change leads to, and what is the same of all: whose decision it
// is, and the dates of what is stored.
func testSteps(t *testing.T, rows []stepRow) {
	t.Helper()
	usual := ordinary()
	before := shown(Step(usual).Decision, usual)
	for _, row := range rows {
		in := ordinary()
		row.change(&in)
		given := copied(in.Record)
		result := Step(in)
		stored := ""
		if result.Changed {
			stored = strings.TrimSpace("stored " + differences(shown(given, in), shown(result.Record, in)))
			given.Time, given.Clock, given.EvaluatedAt = in.Now, given.Clock+in.Elapsed, given.Clock+in.Elapsed
		}
		if decided := differences(before, shown(result.Decision, in)); decided != row.decided || stored != row.stored {
			t.Errorf("%s:\n got %s\n  is %s\nwant %s\n and %s", row.name, decided, stored, row.decided, row.stored)
		}
		if r := result.Record; !r.Time.Equal(given.Time) || r.Clock != given.Clock || r.EvaluatedAt != given.EvaluatedAt {
			t.Errorf("%s: stored %v, at %v, evaluated at %v", row.name, r.Time, r.Clock, r.EvaluatedAt)
		}
		if d := result.Decision; d.Key != in.Key || !d.At.Equal(in.Now) || !d.From.Equal(in.Record.Time) || !reflect.DeepEqual(d.HPA, in.Observation.HPA) {
			t.Errorf("%s: of %v, at %v, from %v, for %+v", row.name, d.Key, d.At, d.From, d.HPA)
		}
		if !result.Changed && !reflect.DeepEqual(result.Record, given) {
			t.Errorf("%s: changed to %+v, and not stored", row.name, result.Record)
		}
	}
}

// field is a field of a decision or record in words, moments as seconds of the record's
// clock.
type field struct{ name, value string }

// shown leaves out what testSteps checks of all, and what has tests of its own.

func shown(v any, in Input) (fields []field) {
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		switch name := value.Type().Field(i).Name; name {
		case "At", "Time", "Clock", "EvaluatedAt", "Key", "Basis", "HPA", "From", "Sight":
		default:
			fields = append(fields, field{name, words(value.Field(i).Interface(), in)})
		}
	}
	return fields
}

func differences(before, after []field) string {
	var list []string
	for i := range after {
		if before[i] != after[i] {
			list = append(list, after[i].name+" "+after[i].value)
		}
	}
	return strings.Join(list, ", ")
}

func words(v any, in Input) string {
	switch v := v.(type) {
	case time.Duration:
		return clock(v)
	case time.Time:
		if v.IsZero() {
			return "never"
		}
		return clock(v.Sub(in.Now) + in.Record.Clock + in.Elapsed)
	case algorithm.Milli:
		return fmt.Sprint(v.Float())
	case algorithm.Bounds:
		return fmt.Sprintf("%d-%d", v.Min, v.Max)
	case Checked:
		if v == (Checked{}) {
			return "none"
		}
		text := fmt.Sprintf("%d %s", v.Replicas, v.Reason)
		if !v.Until.IsZero() {
			text += " until " + words(v.Until, in)
		}
		return text
	case Overruled:
		return fmt.Sprintf("%dx %d@%s", v.Times, v.To, clock(v.At))
	case algorithm.History:
		return "highs" + samples(v.Highs) + ", lows" + samples(v.Lows)
	case []algorithm.Event:
		var list []string
		for _, e := range v {
			list = append(list, fmt.Sprintf("%+d@%s", e.Change, clock(e.At)))
		}
		return strings.Join(list, " ")
	case []Reading:
		var list []string
		for _, r := range v {
			list = append(list, reading(r))
		}
		return "(" + strings.Join(list, ") (") + ")"
	}
	return fmt.Sprint(v)
}

// clock is a moment of a record's clock in seconds.
func clock(at time.Duration) string { return fmt.Sprint(at.Seconds()) }

func samples(list []algorithm.Sample) (text string) {
	for _, s := range list {
		text += fmt.Sprintf(" %d@%s", s.Replicas, clock(s.At))
	}
	return text
}

func reading(r Reading) string {
	text := fmt.Sprintf("%s: %v@%s", r.Query, r.Value, clock(r.At))
	if r.Spec != 0 {
		text += fmt.Sprintf(" of %d", r.Spec)
	}
	if !r.Known {
		text += " unknown"
	}
	for _, more := range []string{r.Note, r.Error} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}
