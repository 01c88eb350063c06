package scaling

import (
	"context"
	"errors"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Source reads numbers.
type Source interface {
	// Read answers queries, all of one server, in order: one outcome each. It
	// returns by the context's end at the latest.
	Read(ctx context.Context, queries []Query) []Outcome
}

// Outcome is one answer of a source: a finite value that is not negative, or the
// reason why there is none, which names what was to be read.
type Outcome struct {
	Value float64
	// Spec is the spec.replicas of the workload that the query was asked for. The
	// evaluator sets it.
	Spec int32
	// Note tells a user something about Value that the number does not; usually empty.
	Note string
	Err  error
}

// ErrNoData is wrapped by an outcome whose source answered without a number.
var ErrNoData = errors.New("no data")

// Store keeps records, shared by all replicas, and owns the clock. It does no
// arithmetic.
type Store interface {
	// Load returns the record of a key and the store's time, of one moment. A key
	// without a record is not an error. Nobody writes to a record that was loaded, nor to
	// its slices, neither the store nor who loads or swaps it.
	Load(ctx context.Context, key Key) (*Loaded, error)
	// Swap replaces the record of a key if it is still the one with that version,
	// and keeps the new one for ttl. It reports whether it did.
	Swap(ctx context.Context, key Key, version Version, next Record, ttl time.Duration) (bool, error)
}

// Version identifies one stored record; empty where there is none. It is a random
// token: a counter can repeat after a failover.
type Version string

// Loaded is what a store knows of a key.
type Loaded struct {
	// Record is nil where there is none, and where it cannot be read.
	Record  *Record
	Version Version
	// Now is the store's clock.
	Now time.Time
}

// Observer sees what the cluster shows of a workload.
type Observer interface {
	// Observe returns what is known of the object's workload and of the HPA that
	// asks for the metric. An object not seen yet is ErrUnobserved, never zero
	// replicas; it waits a moment for it, within the context.
	Observe(ctx context.Context, ref Ref, metric string) (Observation, error)
}

// Errors that an Observer wraps.
var (
	// ErrUnobserved: the cluster shows nothing (yet) of an object.
	ErrUnobserved = errors.New("not observed")
	// ErrAmbiguousTarget: several HPAs ask for one metric, and nobody can say from here
	// for which of their targets.
	ErrAmbiguousTarget = errors.New("ambiguous target")
)

// Metric is a StabilizedMetric: a policy that is asked for by name.
type Metric struct {
	// Ref is of KindStabilizedMetric; its name is that of the metric.
	Ref Ref
	// UID and Generation are the object's, of which Policy was made.
	UID        string
	Generation int64
	Labels     map[string]string
	Policy     *Policy
	// Replaced is closed when another Policy takes the place of this one, or none does.
	Replaced <-chan struct{}
}

// Request asks for the metric's decision.
func (m Metric) Request() Request { return Request{Ref: m.Ref, Policy: m.Policy, UID: m.UID} }

// ErrNoSuchMetric is wrapped where there is no StabilizedMetric of a name.
var ErrNoSuchMetric = errors.New("no such StabilizedMetric")

// Observation is what the cluster shows of a workload.
type Observation struct {
	// OpenLoop: nothing is observed; the last served count is taken as applied.
	// Every other field is then a default.
	OpenLoop bool
	// UID is the object's; empty if it is not known.
	UID string
	// Job: the object is a ScaledJob, which is served without a record.
	Job bool
	// Native: an HPA asks for the metric itself, without KEDA between. It holds at an
	// error, and scales to zero itself.
	Native bool
	// Target names the scale target, as apps/Deployment/worker.
	Target string
	// Spec and Status are spec.replicas and status.replicas of the scale target.
	Spec, Status int32
	// Revision is the API server's at which they were so: of two observations of one
	// target, that with the greater is the later one. 0 if it is not known.
	Revision uint64
	// Bounds are those of the HPA: at least 1, and maxReplicaCount.
	Bounds algorithm.Bounds
	// ToZero: the workload may be switched off: minReplicaCount is 0, or
	// idleReplicaCount is set, or a native HPA's minReplicas is 0.
	ToZero bool
	// Cooldown is KEDA's own cooldownPeriod, which adds to ours.
	Cooldown time.Duration
	// OtherWakes: a trigger beside the one that asks can be work, so that a policy which
	// cannot need not keep the workload awake. Only of KEDA's.
	OtherWakes bool
	// ValueType: the trigger or HPA uses metricType Value, which cannot be served.
	ValueType bool
	// ZeroReason says in words who scaled to zero, when it was not us.
	ZeroReason string
	HPA        HPA
}

// HPA is what is seen of the HPA that asks for a metric.
type HPA struct {
	Name string
	// Target is its AverageValue target for the metric; 0 if it does not ask for it.
	Target algorithm.Milli
	// Tolerance is what it applies. Meaningful if Target is not 0.
	Tolerance algorithm.Tolerance
	// Opaque lists what keeps it from being transparent, in words: empty if it
	// passes counts on untouched.
	Opaque []string
	// Owners are all HPAs of the scale target, this one too, if they are several.
	Owners Owners
	// ScaledToZero is the HPA's condition of that name: it wrote the zero itself, and
	// will wake the workload. Disabled: it says that it is, because of a zero that it
	// does not know to be its own. Both only of a native HPA.
	ScaledToZero, Disabled bool
	// CannotWake says in words why the HPA's own behavior keeps a workload at zero
	// for ever, with the cure; empty if it does not. Only of a native HPA.
	CannotWake string
}

// Owners are the HPAs that scale one target, if they are several. While the target has
// pods, the HPA controller lets none of them scale.
type Owners struct {
	// Names are the first few of them in words, in order, as native or keda-hpa-worker
	// (ScaledObject worker); nil if there is one HPA at most. More counts the rest.
	Names []string
	More  int
}
