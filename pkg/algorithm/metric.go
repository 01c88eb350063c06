package algorithm

import "time"

// MetricSource is the kind of a metric: the type in spec.metrics of autoscaling/v2.
type MetricSource string

// The metric sources of autoscaling/v2.
const (
	ResourceSource          MetricSource = "Resource"
	ContainerResourceSource MetricSource = "ContainerResource"
	PodsSource              MetricSource = "Pods"
	ObjectSource            MetricSource = "Object"
	ExternalSource          MetricSource = "External"
)

// TargetType is the type of a metric's target.
type TargetType string

// The target types of autoscaling/v2.
const (
	ValueTarget        TargetType = "Value"
	AverageValueTarget TargetType = "AverageValue"
	UtilizationTarget  TargetType = "Utilization"
)

// Target is what a metric should be. 0 is an unset field: Kubernetes accepts none that
// is not positive.
type Target struct {
	// Type decides for an Object metric alone; everywhere else the field that is set does.
	Type         TargetType
	Value        Milli
	AverageValue Milli
	// Utilization is in percent of the pods' requests.
	Utilization int32
}

// Metric is one entry of spec.metrics.
type Metric struct {
	Source MetricSource
	Target Target
	// Resource names what a Resource or ContainerResource metric measures: cpu or memory.
	Resource string
	// Container is the one that a ContainerResource metric measures.
	Container string
}

// CPU is the resource whose readings wait until a pod has warmed up.
const CPU = "cpu"

// Reading is what a metric's API answered.
type Reading struct {
	// Err says why there is no answer. It is the only field then.
	Err error
	// Series are the values of an External metric, which are summed, or the one value
	// of an Object metric.
	Series []Milli
	// Pods are the readings of every other metric by the pod's name.
	Pods map[string]PodReading
}

// PodReading is what was measured of one pod.
type PodReading struct {
	Value Milli
	// At is when the measurement ended, Window how long it took.
	At     time.Duration
	Window time.Duration
}

// PodPhase is status.phase of a pod.
type PodPhase string

// The phases of a pod.
const (
	Pending   PodPhase = "Pending"
	Running   PodPhase = "Running"
	Succeeded PodPhase = "Succeeded"
	Failed    PodPhase = "Failed"
	Unknown   PodPhase = "Unknown"
)

// Status is a condition's status; "" is a condition that is not there.
type Status string

// The statuses of a condition.
const (
	True      Status = "True"
	False     Status = "False"
	Uncertain Status = "Unknown"
)

// Pod is one pod of the scale target, as far as the algorithm looks at it. Times are on
// the clock of the reconcile.
type Pod struct {
	Name     string
	Phase    PodPhase
	Deleting bool // it has a deletionTimestamp
	// Started is status.startTime; meaningless unless HasStarted.
	HasStarted bool
	Started    time.Duration
	// Ready is the status of the Ready condition, ReadySince its last transition.
	Ready      Status
	ReadySince time.Duration
	// Containers are the containers and the restartable init containers.
	Containers []Container
	// Requests are those of the whole pod where any is set at pod level, with overhead,
	// and with the containers' sums of what the pod level does not name; else nil.
	Requests map[string]Milli
}

// Container is one container's requests by resource.
type Container struct {
	Name     string
	Requests map[string]Milli
}

// Scale is the scale subresource: spec.replicas and status.replicas.
type Scale struct{ Spec, Status int32 }

// Workload is what the metrics of a scale target are set in relation to.
type Workload struct {
	Scale Scale
	// Pods are those that scale.status.selector selects.
	Pods []Pod
	Now  time.Duration
}

// Warmup is how long a young pod's CPU readings are distrusted.
type Warmup struct {
	// CPUInitialization is --horizontal-pod-autoscaler-cpu-initialization-period: so
	// long after its start a pod counts only while it is ready, and only once a whole
	// window was measured since it became so.
	CPUInitialization time.Duration
	// InitialReadiness is --horizontal-pod-autoscaler-initial-readiness-delay: an unready
	// pod whose readiness last changed within this time of its start was never ready.
	InitialReadiness time.Duration
}

// DefaultWarmup is the controller's: 5 minutes and 30 seconds.
func DefaultWarmup() Warmup { return Warmup{5 * time.Minute, 30 * time.Second} }

// Calculation is what one metric asks for.
type Calculation struct {
	// Failed: the metric did not count, and nothing else here means anything. Recommend
	// returns an error instead.
	Failed   bool
	Replicas int32
	// WithinTolerance: the metric asks for no change.
	WithinTolerance bool
	// Average is the reading per pod, of a Value target the reading itself; Utilization
	// is in percent of the requests. Both are what status.currentMetrics shows.
	Average     Milli
	Utilization int32
}
