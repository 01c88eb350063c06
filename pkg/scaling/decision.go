package scaling

import (
	"errors"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Mode is what a policy's decisions are used for.
type Mode string

// The modes. A shadow decides and reports, but sends what pass-through would.
const (
	PassThrough Mode = "pass-through"
	Stabilised  Mode = "stabilised"
	Shadow      Mode = "shadow"
)

// Stranded is why a native HPA does not wake a workload; empty if it would.
type Stranded string

// An HPA wakes only what it knows to have put to zero itself, by its condition
// ScaledToZero.
const (
	// ForeignZero: somebody else wrote the zero.
	ForeignZero Stranded = "NotByHPA"
	// LostCondition: the HPA wrote it, and what it noted of that is gone.
	LostCondition Stranded = "ConditionLost"
)

// Errors that a Decision may carry, to be told apart with errors.Is.
var (
	// ErrBadPolicy: the policy cannot be followed; the user has to mend it.
	ErrBadPolicy = errors.New("invalid policy")
	// ErrNotRead: a trigger could not be read.
	ErrNotRead = errors.New("trigger not read")
	// ErrTooMany: the process has as many as it takes on, of policies or of streams; who
	// has one keeps it.
	ErrTooMany = errors.New("too many")
)

// Answer is what of a decision goes out; its other fields say nothing where Err is set.
type Answer struct {
	Value  algorithm.Milli
	Active bool
	Err    error
}

// Decision is what one request gets: the answer, and every fact that led to it.
// Its traces and words are made on demand, by Explain.
type Decision struct {
	Key  Key
	Mode Mode
	// At is the store's clock at the decision, From the one at which the record it
	// was made from was stored; zero if there was none.
	At, From time.Time

	// Err is set when nothing may be served. The fields of the answer are then
	// meaningless.
	Err error
	// Replicas is the decided count, Awake whether the workload is to run at all.
	Replicas int32
	Awake    bool
	// Active and Value are what is answered: Awake, and the value that makes the
	// HPA land on Replicas. A shadow answers with the reading instead.
	Active bool
	Value  algorithm.Milli
	// Held is why the count is kept where it is although the policy could not be
	// followed; nil if it was.
	Held error

	// Current and Status are the scale target's spec.replicas and status.replicas
	// that the decision started from: what is observed, or in open loop and for a
	// shadow the last decision.
	Current, Status int32
	// Running is the observed spec.replicas; meaningless in open loop.
	Running  int32
	Bounds   algorithm.Bounds
	OpenLoop bool
	// Degraded: the store did not answer; counts only rise.
	Degraded bool

	// Basis is what the triggers' traces are made from, Decider the index of the one
	// that asked for most, -1 if none could.
	Basis   Basis
	Decider int
	// Recommended is the largest of the triggers' counts.
	Recommended int32
	// Stabilized and Limited are the count after the windows and after policies and
	// bounds, with upstream's reason; empty in pass-through.
	Stabilized, Limited Checked
	// Fallback: the count is the policy's fallback.
	Fallback bool

	// EverActive and LastActive say when a reading last was work.
	EverActive bool
	LastActive time.Time
	// CanSleep: the workload may be scaled to zero. CooldownUntil is then when it
	// has been quiet for long enough, and Over whether that has passed.
	CanSleep      bool
	CooldownUntil time.Time
	Over          bool
	// KEDACooldown is added to ours before KEDA scales to zero.
	KEDACooldown time.Duration

	// Swallowed: no value makes the HPA leave its tolerance towards Replicas.
	Swallowed bool
	HPA       HPA
	// ZeroReason says who scaled to zero, when it was not us.
	ZeroReason string
	// Overruled: somebody else has set the same count more than once within an hour; its
	// Times is 0 if not.
	Overruled Overruled
	// Stranded: the workload is at zero, and a native HPA will not wake it.
	Stranded Stranded
	// Native: the HPA asks itself, without KEDA.
	Native   bool
	Warnings []string
}

// Checked is a count after one step of the algorithm.
type Checked struct {
	Replicas int32            `json:"replicas"`
	Reason   algorithm.Reason `json:"reason,omitempty"`
	// Until is when what held the count lets go; zero if nothing does by itself.
	Until time.Time `json:"until,omitzero"`
}
