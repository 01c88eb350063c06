package scaling

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func TestALayoutHasItsNumber(t *testing.T) {
	data, err := MarshalRecord(Record{})
	if err != nil || !strings.HasPrefix(string(data), `{"v":1,`) {
		t.Errorf("got %s, %v", data, err)
	}
	if data, err := MarshalRecord(Record{Readings: []Reading{{Value: math.NaN()}}}); err == nil {
		t.Errorf("a record that has no JSON is stored as %s", data)
	}
}

// A time that cannot be read ends the decoding there, before or after the number.
func TestANewerLayoutIsToldByItsNumber(t *testing.T) {
	for data, newer := range map[string]bool{
		`{"time":"long ago","v":2}`: true,
		`{"v":2,"time":"long ago"}`: true,
		`{"time":"long ago","v":1}`: false,
		`{"v":1,"time":"long ago"}`: false,
		`{"time":"long ago"}`:       false,
		`{"v":2}`:                   true,
	} {
		r, err := UnmarshalRecord([]byte(data))
		if err == nil || errors.Is(err, ErrNewerRecord) != newer || !reflect.DeepEqual(r, Record{}) {
			t.Errorf("%s: %+v, %v; want an error, newer: %v", data, r, err, newer)
		}
		if newer && !strings.Contains(err.Error(), "layout 2, this release knows 1") {
			t.Errorf("%s: %v does not say which layouts", data, err)
		}
	}
}

// Every moment of the later readings is on the clock of the union.
func TestUnionTakesReadingsWithTheirTimes(t *testing.T) {
	r := Record{Clock: 100 * time.Second, ReadAt: 10 * time.Second, Recommended: 1}
	other := Record{
		Clock: 20 * time.Second, ReadAt: 15 * time.Second, GoodAt: 12 * time.Second, FailingSince: 13 * time.Second, Recommended: 7,
		Readings: []Reading{{Query: "list jobs", At: 12 * time.Second}},
	}
	u := r.Union(other)
	if u.ReadAt != 95*time.Second || u.GoodAt != 92*time.Second || u.FailingSince != 93*time.Second || u.Recommended != 7 || u.Readings[0].At != 92*time.Second {
		t.Errorf("got %+v", u)
	}
	if other.Readings[0].At != 12*time.Second {
		t.Error("the union wrote to the other's readings")
	}
}

// A record without readings has none to give, whenever it was last read: those of a time
// that nobody can measure are dropped.
func TestUnionLosesNoReadings(t *testing.T) {
	r := Record{Clock: time.Minute, ReadAt: time.Second, Readings: []Reading{{Query: "list jobs"}}}
	if u := r.Union(Record{Clock: time.Minute, ReadAt: 30 * time.Second}); len(u.Readings) != 1 || u.ReadAt != time.Second {
		t.Errorf("got %+v", u)
	}
}

// A record may have room behind its events: it is its own.
func TestUnionWritesToNobodysEvents(t *testing.T) {
	room := make([]algorithm.Event, 1)
	r := Record{Events: room[:0]}
	u := r.Union(Record{Events: []algorithm.Event{{At: time.Second, Change: 3}}})
	if len(u.Events) != 1 || room[0] != (algorithm.Event{}) {
		t.Errorf("events %v; wrote %v where they were not", u.Events, room)
	}
}

// A count was computed from one spec.replicas, and serves neither more nor fewer.
func TestACountServesOneSpec(t *testing.T) {
	trigger := Trigger{Counts: true, Query: scopedQuery{fakeQuery{"any", "cpu"}}}
	for spec, want := range map[int32]bool{9: false, 10: true, 11: false} {
		if got := (Reading{Query: "cpu", Spec: 10}).serves(trigger, spec); got != want {
			t.Errorf("computed from 10, serves %d: %v", spec, got)
		}
	}
}
