package scaling

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// copied shares nothing with r.
func copied(r Record) Record {
	r.Readings = slices.Clone(r.Readings)
	r.History.Highs, r.History.Lows = slices.Clone(r.History.Highs), slices.Clone(r.History.Lows)
	r.Events = slices.Clone(r.Events)
	return r
}

// Stores and concurrent callers share records, so neither Step nor Union may write to
// one, nor to what a later record has taken over from it.
func TestRecordsAreValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	in := watched(t, 20, signals()[1])
	var shared, before []Record
	keep := func(r Record) {
		shared, before = append(shared, r), append(before, copied(r))
	}
	keep(in.Record)
	for range 500 {
		in.Elapsed = time.Duration(random.IntN(5_000)) * time.Millisecond
		in.Now = in.Now.Add(in.Elapsed)
		in.Blind, in.Lost = random.IntN(20) == 0, random.IntN(20) == 0
		in.Outcomes = nil
		switch random.IntN(4) {
		case 0:
			in.Outcomes = []Outcome{{Err: errors.New("timeout")}}
		case 1, 2:
			in.Outcomes = []Outcome{{Value: float64(random.IntN(40))}}
		}
		in.Record = shared[max(0, len(shared)-1-random.IntN(3))] // another replica steps on an older one
		result := Step(in)
		keep(result.Record)
		keep(result.Record.Union(shared[random.IntN(len(shared))]))
		in.Observation.Spec, in.Observation.Status = result.Decision.Replicas, result.Decision.Replicas
	}
	for i := range shared {
		if !reflect.DeepEqual(shared[i], before[i]) {
			t.Fatalf("record %d was\n%+v\nand has become\n%+v", i, before[i], shared[i])
		}
	}
}
