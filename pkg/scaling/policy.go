package scaling

import (
	"math"
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Ref names the object that carries a policy.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// The Kinds of objects that carry a policy: one that KEDA asks for, and one that an HPA
// asks for itself.
const (
	KindScaledObject     = "ScaledObject"
	KindStabilizedMetric = "StabilizedMetric"
)

// Key names one record: whose it is, which workload it scales and by what. Two
// triggers of one ScaledObject have two records; so has one ScaledObject before and
// after it is pointed at another workload.
type Key struct {
	Ref
	Target string `json:"target"`
	// Record is the policy's.
	Record string `json:"record"`
}

// String is the key as one path: Kind/namespace/name/target/record.
func (k Key) String() string {
	return k.Kind + "/" + k.Namespace + "/" + k.Name + "/" + k.Target + "/" + k.Record
}

// Policy is what a user asked for. It is immutable once parsed, and safe to share.
type Policy struct {
	// Record tells the records of one object's policies apart. It does not change when
	// a policy is switched between pass-through and stabilised, nor with a target.
	Record string
	// Metric is the metric's name as KEDA's HPA knows it, without KEDA's sN- prefix.
	Metric string
	// Target is the HPA's AverageValue target for Metric.
	Target algorithm.Milli
	// Shared names the StabilizedMetric, of the object's namespace, whose policy is to be
	// followed in place of this one, which has a name and a target but no triggers;
	// empty for a policy of its own.
	Shared string
	// Invalid says why the policy cannot be followed, every problem at once; nil
	// for a good one. Metric and Target are set all the same: KEDA must always be
	// told a name.
	Invalid error
	// Warnings are problems that do not keep the policy from working.
	Warnings []string

	Triggers []Trigger
	// Behavior is nil in pass-through: the HPA's own windows and policies apply.
	Behavior *algorithm.Behavior
	// Cooldown is how long after the last active reading a stabilised workload
	// stays awake, at least; the scale-down window counts too.
	Cooldown time.Duration
	// Interval is how old readings may be before the triggers are read again.
	Interval time.Duration
	// Min and Max override the observed bounds of a stabilised policy.
	Min, Max *int32
	Fallback *Fallback
	// Shadow decides and reports, but sends what pass-through would send.
	Shadow bool
}

// Stabilised reports whether the windows and policies are ours.
func (p *Policy) Stabilised() bool { return p.Behavior != nil }

// SharedAs is the policy under the metric and target of the one that names it: another
// object asks for it by them. What is remembered of that object is its own.
func (p *Policy) SharedAs(asking *Policy) *Policy {
	shared := *p
	shared.Metric, shared.Target = asking.Metric, asking.Target
	return &shared
}

// mode is what the policy's decisions are used for.
func (p *Policy) mode() Mode {
	switch {
	case p.Shadow && p.Stabilised():
		return Shadow
	case p.Stabilised():
		return Stabilised
	}
	return PassThrough
}

// Trigger is one number to read and what it means.
type Trigger struct {
	// Type is the trigger's type, in KEDA's words: redis, redis-streams.
	Type string
	// Target is how much of the reading one replica takes.
	Target algorithm.Milli
	// Activation is the threshold that a reading must exceed to be work.
	Activation float64
	// Query says what to read. Only the source that parsed it looks inside.
	Query Query
	// Counts: the reading is a number of replicas, which a formula of its own has given,
	// tolerance and all. It is asked for as it is.
	Counts bool
	// Costly: the server has others to serve, and an answer costs it more than a look at
	// a number. It is read once per interval, even while a push stream waits for work.
	Costly bool
}

// Query is one question to one server.
type Query interface {
	// Server identifies the server and the credentials. Queries of one server are
	// read together, and share its fate when it is slow or down.
	Server() string
	// String names what is read, for traces and logs, without credentials. Every
	// request compares it with the names on file, so it should be at hand.
	String() string
}

// Fallback replaces the recommendation when readings have failed for long.
type Fallback struct {
	After    time.Duration
	Replicas int32
	// Static obeys Replicas even below the current count.
	Static bool
}

// canWork reports whether any reading can be work at all. What pods use is none, as in
// KEDA, whose workloads that have triggers of no other kind are always active.
func (p *Policy) canWork() bool {
	return len(p.Triggers) == 0 || slices.ContainsFunc(p.Triggers, func(t Trigger) bool { return t.Activation < math.MaxInt32 })
}

// onFile is the reading among those of a record that serves a trigger: one of the same
// question.
func (p *Policy) onFile(readings []Reading, trigger int, spec int32) (Reading, bool) {
	if trigger >= len(readings) || !readings[trigger].serves(p.Triggers[trigger], spec) {
		return Reading{}, false
	}
	return readings[trigger], true
}

// staleLimit is how old a reading may be and still be decided on, while a server is too
// slow to be waited for, and how long a silence is no gap. An HPA that asks every 15 s
// about such a server gets readings of that age, and that must do; a server that has
// hung is another matter.
func (p *Policy) staleLimit() time.Duration { return max(GapLimit, 2*p.Interval) }

// quiet is how long after the last active reading a workload may be put to sleep.
func (p *Policy) quiet() time.Duration {
	if p.Behavior == nil {
		return p.Cooldown
	}
	return max(p.Cooldown, p.Behavior.ScaleDown.Window)
}

// memory is how long what a record of this policy holds may still matter.
func (p *Policy) memory() time.Duration {
	longest := max(p.quiet(), algorithm.MaxWindow)
	if p.Behavior != nil {
		longest = max(longest, p.Behavior.LongestPeriod())
	}
	return longest
}
