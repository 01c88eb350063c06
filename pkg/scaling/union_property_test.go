package scaling

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// quietUnion is the policy that unions are asked with: windows, a cooldown and a limit
// downwards, and none upwards.
func quietUnion() *Policy {
	b := algorithm.DefaultBehavior()
	b.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 100000, Period: time.Second}}
	b.ScaleDown.Window = time.Minute
	return &Policy{
		Metric: "m", Target: 1000, Behavior: &b, Cooldown: 2 * time.Minute, Interval: 5 * time.Second,
		Triggers: []Trigger{{Type: "fake", Target: 5000, Query: fakeQuery{"s", "list jobs"}}},
	}
}

// unionCount is what runs while unions are asked.
const unionCount = 30

// drawReplica draws what one replica remembers at a moment that the clocks of all
// replicas show: each shows another time. What was read at one moment is one reading,
// whoever read it, and nobody has been without sight.
func drawReplica(t *rapid.T, name string, events []algorithm.Event) Record {
	seconds := func(what string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name+": "+what)) * time.Second
	}
	r := Record{
		Clock: seconds("clock", 0, 10) * 1000, Seeded: true,
		Served: unionCount, Lowest: unionCount, Highest: unionCount, Replicas: unionCount,
	}
	for at := -seconds("first sample's age", 0, 150); at < 0; at += seconds("until the next", 5, 60) {
		r.History = r.History.Add(r.Clock+at, rapid.Int32Range(0, 40).Draw(t, name+": sample"))
	}
	r.SeenSince = r.Clock - seconds("in sight for", 0, 100)
	age := seconds("reading's age", 5, 20)
	r.ReadAt, r.GoodAt, r.EvaluatedAt = r.Clock-age, r.Clock-age, r.Clock-age
	r.Recommended = int32(age / time.Second)
	r.Readings = []Reading{{Query: "list jobs", Value: 5 * age.Seconds(), At: r.ReadAt, Known: true}}
	r.EverActive = rapid.Bool().Draw(t, name+": ever active")
	if r.EverActive {
		r.LastActive = r.Clock - seconds("active ago", 0, 200)
	}
	for _, e := range events {
		r.Events = append(r.Events, algorithm.Event{At: r.Clock + e.At, Change: e.Change})
	}
	return r
}

// drawEvents draws scale events, whose times are negative: before now.
func drawEvents(t *rapid.T) []algorithm.Event {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) algorithm.Event {
		return algorithm.Event{
			At:     -time.Duration(rapid.IntRange(1, 30).Draw(t, "event's age")) * time.Second,
			Change: rapid.Int32Range(1, 5).Draw(t, "change") * rapid.SampledFrom([]int32{-1, 1}).Draw(t, "sign"),
		}
	}), 0, 2).Draw(t, "events")
}

// remembered is what decides in a record, with ages in place of times.
func remembered(r Record) string {
	ages := func(samples []algorithm.Sample) (list []string) {
		for _, s := range samples {
			list = append(list, fmt.Sprintf("%d %v ago", s.Replicas, r.Clock-s.At))
		}
		return list
	}
	text := fmt.Sprintf("highs %v, lows %v, active %v, seeded %v", ages(r.History.Highs), ages(r.History.Lows), r.Active, r.Seeded)
	if r.EverActive {
		text += fmt.Sprintf(", last active %v ago", r.Clock-r.LastActive)
	}
	for _, reading := range r.Readings {
		text += fmt.Sprintf(", read %v %v ago, good %v ago, recommended %d", reading.Value, r.Clock-r.ReadAt, r.Clock-r.GoodAt, r.Recommended)
	}
	for _, e := range r.Events {
		text += fmt.Sprintf(", %+d %v ago", e.Change, r.Clock-e.At)
	}
	return text
}

// TestUnionProperty: what replicas remember adds up to the same whoever adds it to whom,
// in any order and as often as they like.
func TestUnionProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		a, b, c := drawReplica(t, "a", events), drawReplica(t, "b", events), drawReplica(t, "c", events)
		if rapid.Bool().Draw(t, "only b has the events") {
			a.Events, c.Events = nil, nil
		}
		a.Active, b.Seeded = rapid.Bool().Draw(t, "a: active"), rapid.Bool().Draw(t, "b: seeded")
		ab := a.Union(b)
		for _, law := range []struct {
			name      string
			got, want Record
		}{
			{"commutative", b.Union(a), ab},
			{"associative", a.Union(b.Union(c)), ab.Union(c)},
			{"idempotent", ab.Union(ab), ab},
			{"absorbing its parts", ab.Union(b).Union(a), ab},
			{"neutral to nothing", ab.Union(Record{Clock: 77 * time.Hour}), ab},
		} {
			if got, want := remembered(law.got), remembered(law.want); got != want {
				t.Errorf("not %s:\ngot  %s\nwant %s\na    %s\nb    %s\nc    %s", law.name, got, want, remembered(a), remembered(b), remembered(c))
			}
		}
		if ab.Clock != a.Clock || ab.Replicas != a.Replicas || ab.UID != a.UID {
			t.Errorf("the union is not a's any more: %+v", ab)
		}
	})
}

// TestUnionNeverLowersAnAnswer: whatever is read next, a replica that has learnt what
// another remembers decides no less than either of the two would have alone, and puts
// nothing to sleep that either would keep awake. Scale events are those that all share:
// a limit is no memory of what was wanted. And neither has a gap, of which the one that
// read last has seen more.
func TestUnionNeverLowersAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		a, b := drawReplica(t, "a", events), drawReplica(t, "b", events)
		elapsed := time.Duration(rapid.IntRange(0, 25).Draw(t, "seconds until it is asked")) * time.Second
		value := float64(rapid.IntRange(0, 250).Draw(t, "read next"))
		decide := func(r Record) Decision {
			return Step(Input{
				Policy: quietUnion(), Record: r, Now: epoch, Elapsed: elapsed, Outcomes: []Outcome{{Value: value}},
				Observation: Observation{Spec: unionCount, Status: unionCount, Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true},
			}).Decision
		}
		united := decide(a.Union(b))
		for name, alone := range map[string]Decision{"a": decide(a), "b": decide(b)} {
			if united.Replicas < alone.Replicas || alone.Active && !united.Active {
				t.Errorf("united %d, active %v: %s\n%s alone %d, active %v: %s\na %s\nb %s", united.Replicas, united.Active, united.Why(),
					name, alone.Replicas, alone.Active, alone.Why(), remembered(a), remembered(b))
			}
		}
	})
}
