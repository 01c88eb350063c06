package scaling

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// RecordVersion is the layout of a Record as it is stored.
const RecordVersion = 1

// ErrNewerRecord is returned for a record that a later release wrote.
var ErrNewerRecord = errors.New("record was written by a newer release")

// Record is all that is remembered for one key. It is a value: nothing writes to
// the slices of a Record that has been handed on.
//
// Every time but Time is on the record's own clock, which starts at 0 and only
// elapses, so that no wall clock that jumps can age a window.
type Record struct {
	// Time is the store's clock when the record was made, the anchor from which
	// the next step computes what has elapsed.
	Time time.Time `json:"time"`
	// Clock is the record's own clock at that moment.
	Clock time.Duration `json:"clock"`
	// UID is that of the object whose past it is; empty if nobody knew it.
	UID string `json:"uid,omitempty"`
	// Seeded: the record has a past. One that has not is a key without memory.
	Seeded bool `json:"seeded,omitempty"`

	// Readings has one entry per trigger.
	Readings []Reading `json:"readings,omitempty"`
	// ReadAt is when the triggers were last read, with or without success.
	ReadAt time.Duration `json:"readAt,omitempty"`
	// GoodAt is when all of them last answered.
	GoodAt time.Duration `json:"goodAt,omitempty"`

	// FailingSince is when a read failed after which none has been good; meaningful
	// while the readings are failing.
	FailingSince time.Duration `json:"failingSince,omitempty"`
	// SeenSince is when the last gap or blind time ended.
	SeenSince time.Duration `json:"seenSince,omitempty"`

	// Recommended is the last recommendation, before windows and limits.
	Recommended int32             `json:"recommended,omitempty"`
	History     algorithm.History `json:"history"`
	Events      []algorithm.Event `json:"events,omitempty"`

	// LastActive is when a reading last was work; meaningful if EverActive.
	LastActive time.Duration `json:"lastActive,omitempty"`
	EverActive bool          `json:"everActive,omitempty"`
	// Active is what was last answered.
	Active bool `json:"active,omitempty"`

	// Served is the count last decided, Replicas the count last observed, at
	// EvaluatedAt. Lowest and Highest are the extremes of what was decided since the
	// observed count last changed: the HPA may act on any of them.
	Served      int32         `json:"served,omitempty"`
	Lowest      int32         `json:"lowest,omitempty"`
	Highest     int32         `json:"highest,omitempty"`
	Replicas    int32         `json:"replicas,omitempty"`
	EvaluatedAt time.Duration `json:"evaluatedAt,omitempty"`
	// Sight is the observation that Replicas is of, or a later one.
	Sight Sight `json:"sight,omitzero"`
	// Overruled is the count that somebody else sets against what was decided.
	Overruled Overruled `json:"overruled,omitzero"`
	// Slept: a native HPA has put the workload to the zero at which it is.
	Slept bool `json:"slept,omitempty"`
}

// Sight is an observation of the scale target: its revision, and when it was looked at.
type Sight struct {
	Revision uint64        `json:"revision"`
	At       time.Duration `json:"at"`
}

// Overruled is a count that somebody else has set, how often in a row without setting
// another, and when last.
type Overruled struct {
	To    int32         `json:"to"`
	Times int           `json:"times"`
	At    time.Duration `json:"at"`
}

// Reading is the last answer for one trigger.
type Reading struct {
	// Query is what was read. A reading serves only a trigger that asks the same.
	Query string  `json:"query"`
	Value float64 `json:"value"`
	// Spec is the spec.replicas from which a count was computed.
	Spec int32 `json:"spec,omitempty"`
	// At is when Value was read; a failure after it leaves both in place.
	At time.Duration `json:"at"`
	// Note is the source's remark about Value.
	Note string `json:"note,omitempty"`
	// Known is false until a value was read.
	Known bool `json:"known,omitempty"`
	// Error is why the last attempt failed, empty if it did not.
	Error string `json:"error,omitempty"`
}

// Failed reports whether the last attempt to read failed.
func (r Reading) Failed() bool { return r.Error != "" || !r.Known }

type storedRecord struct {
	V int `json:"v"`
	Record
}

// MarshalRecord encodes a record for a store.
func MarshalRecord(r Record) ([]byte, error) {
	data, err := json.Marshal(storedRecord{RecordVersion, r})
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return data, nil
}

// UnmarshalRecord decodes what MarshalRecord wrote, in this release or an older
// one. A newer layout is ErrNewerRecord.
func UnmarshalRecord(data []byte) (Record, error) {
	var stored storedRecord
	err := json.Unmarshal(data, &stored)
	if stored.V <= RecordVersion && err != nil {
		// A newer layout may have other types, at which decoding stops before or after
		// its number.
		stored.V = layoutOf(data)
	}
	switch {
	case stored.V > RecordVersion:
		return Record{}, fmt.Errorf("%w: layout %d, this release knows %d", ErrNewerRecord, stored.V, RecordVersion)
	case err != nil:
		return Record{}, fmt.Errorf("decode record: %w", err)
	}
	return stored.Record, nil
}

// layoutOf is the layout number of a record that cannot be decoded; 0 if it has none.
func layoutOf(data []byte) int {
	var layout struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &layout); err != nil {
		return 0
	}
	return layout.V
}

// forgotten is the record without anything that was remembered, and no longer a key
// without memory. Its clock goes on, so that no replica takes it for a loss.
func (r Record) forgotten(now time.Time) Record {
	return Record{
		Time: now, Clock: r.Clock, EvaluatedAt: r.Clock, UID: r.UID, Seeded: true,
		Replicas: r.Replicas, Served: r.Replicas, Lowest: r.Replicas, Highest: r.Replicas, Sight: r.Sight,
	}
}

// Union returns r with all that other remembers and r does not: samples, the later
// readings and active time, events if r has none. Both are of one key and of one moment,
// whatever their clocks show. No window and no cooldown ends earlier by it.
func (r Record) Union(other Record) Record {
	other = other.shifted(r.Clock - other.Clock)
	r.History = r.History.Merge(other.History)
	if other.EverActive && (!r.EverActive || other.LastActive > r.LastActive) {
		r.LastActive, r.EverActive = other.LastActive, true
	}
	if len(other.Readings) > 0 && other.ReadAt > r.ReadAt {
		r.Readings, r.ReadAt, r.GoodAt, r.FailingSince = other.Readings, other.ReadAt, other.GoodAt, other.FailingSince
		r.Recommended = other.Recommended
	}
	if other.Seeded { // the time without sight that ended last
		r.SeenSince = max(r.SeenSince, other.SeenSince)
	}
	r.Active = r.Active || other.Active
	r.Seeded = r.Seeded || other.Seeded
	if len(r.Events) == 0 {
		r.Events = other.Events
	}
	return r
}

// shifted is the record on a clock that is ahead of its own.
func (r Record) shifted(by time.Duration) Record {
	r.Readings, r.Events = slices.Clone(r.Readings), slices.Clone(r.Events)
	for i := range r.Readings {
		r.Readings[i].At += by
	}
	for i := range r.Events {
		r.Events[i].At += by
	}
	r.History = algorithm.History{Highs: shiftSamples(r.History.Highs, by), Lows: shiftSamples(r.History.Lows, by)}
	for _, at := range []*time.Duration{
		&r.Clock, &r.ReadAt, &r.GoodAt, &r.FailingSince, &r.SeenSince, &r.LastActive, &r.EvaluatedAt, &r.Overruled.At, &r.Sight.At,
	} {
		*at += by
	}
	return r
}

func shiftSamples(samples []algorithm.Sample, by time.Duration) []algorithm.Sample {
	moved := slices.Clone(samples)
	for i := range moved {
		moved[i].At += by
	}
	return moved
}
