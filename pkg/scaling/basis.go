package scaling

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Basis is what the triggers' part in a decision follows from. A decision carries it
// in place of the traces, which are made when somebody wants to see them. It is a
// value: the policy and the readings are shared with the record, and nothing writes
// to them.
type Basis struct {
	// Policy is nil if no trigger was looked at.
	Policy *Policy
	// Readings are those on file, Clock the moment of the decision on their clock, the
	// record's.
	Readings []Reading
	Clock    time.Duration
	// Spec is the observed spec.replicas, Status the status.replicas and Tolerance the band that the formula was given.
	Spec, Status int32
	Tolerance    algorithm.Tolerance
}

// TriggerTrace is what one trigger contributed.
type TriggerTrace struct {
	Type  string `json:"type"`
	Query string `json:"query"`
	// Known is false if no value was ever read; Value and AgeSeconds are then meaningless.
	Known      bool    `json:"known"`
	Value      float64 `json:"value"`
	AgeSeconds float64 `json:"ageSeconds"`
	Target     float64 `json:"target"`
	Activation float64 `json:"activation"`
	Active     bool    `json:"active"`
	// Recommended is the count that this trigger alone asks for; WithinTolerance
	// says that it is the present count because the reading is close enough.
	Recommended     int32  `json:"recommended"`
	WithinTolerance bool   `json:"withinTolerance,omitempty"`
	Error           string `json:"error,omitempty"`
	// Note is the source's remark about Value.
	Note string `json:"note,omitempty"`
}

// Triggers traces every trigger, in the policy's order; nil if none was looked at.
func (b Basis) Triggers() []TriggerTrace {
	if b.Policy == nil {
		return nil
	}
	traces := make([]TriggerTrace, len(b.Policy.Triggers))
	for i := range traces {
		traces[i] = b.trace(i)
	}
	return traces
}

func (b Basis) trace(i int) TriggerTrace {
	t := b.Policy.Triggers[i]
	trace := TriggerTrace{Type: t.Type, Query: t.Query.String(), Target: t.Target.Float(), Activation: t.Activation, Error: b.fault(i)}
	if r, ok := b.Policy.onFile(b.Readings, i, b.Spec); ok && r.Known {
		trace.Known, trace.Value, trace.AgeSeconds, trace.Note = true, r.Value, (b.Clock - r.At).Seconds(), r.Note
	}
	if trace.Error == "" {
		trace.Active = activation.IsActive(trace.Value, t.Activation)
		trace.Recommended, trace.WithinTolerance = b.recommended(i, trace.Value)
	}
	return trace
}

// usable is the reading on file for a trigger if it can be decided on.
func (b Basis) usable(i int) (Reading, bool) {
	r, ok := b.Policy.onFile(b.Readings, i, b.Spec)
	return r, ok && !r.Failed() && b.Clock-r.At <= b.Policy.staleLimit()
}

// recommended is what the formula makes of a usable reading of a trigger.
func (b Basis) recommended(i int, value float64) (replicas int32, held bool) {
	if b.Policy.Triggers[i].Counts {
		return int32(min(math.Ceil(value), math.MaxInt32)), false
	}
	usage, _ := algorithm.ToMilli(value) // what is on file has been checked
	return algorithm.AverageValue(usage, b.Policy.Triggers[i].Target, b.Status, b.Tolerance)
}

// fault is why a trigger's reading cannot be decided on; empty if it can.
func (b Basis) fault(i int) string {
	r, ok := b.Policy.onFile(b.Readings, i, b.Spec)
	query := b.Policy.Triggers[i].Query
	switch {
	case ok && r.Error != "":
		return r.Error
	case !ok || !r.Known:
		return "no reading yet of " + query.String()
	case b.Clock-r.At > b.Policy.staleLimit():
		return fmt.Sprintf("%s: the last reading is older than %v", query, b.Policy.staleLimit())
	}
	return ""
}

// notReadError is ErrNotRead of every trigger that has a fault, in words when somebody
// asks.
type notReadError struct{ basis Basis }

func (e *notReadError) Error() string {
	var lines []string
	for i := range e.basis.Policy.Triggers {
		if fault := e.basis.fault(i); fault != "" {
			lines = append(lines, ErrNotRead.Error()+": "+fault)
		}
	}
	return strings.Join(lines, "\n")
}

func (*notReadError) Unwrap() error { return ErrNotRead }
