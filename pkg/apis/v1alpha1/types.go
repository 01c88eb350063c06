package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the objects in this package.
var GroupVersion = schema.GroupVersion{Group: "dashpot.dev", Version: "v1alpha1"}

// Kind and Resource name the StabilizedMetric.
const (
	Kind     = "StabilizedMetric"
	Resource = "stabilizedmetrics"
)

// StabilizedMetric is a metric that a HorizontalPodAutoscaler of its namespace reads
// by its name, as spec.metrics[].external.metric.name. Its value is the number of
// replicas that was decided from its triggers, times the averageValue that the
// HorizontalPodAutoscaler divides by.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=smetric,categories=dashpot
type StabilizedMetric struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// StabilizedMetricList is a list of StabilizedMetrics.
//
// +kubebuilder:object:root=true
type StabilizedMetricList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StabilizedMetric `json:"items"`
}

// Spec says what is read and how the number of replicas follows from it.
type Spec struct {
	// Triggers are what is read. The one that asks for most replicas decides.
	Triggers []Trigger `json:"triggers"`
	// Behavior are windows, rate policies and tolerances as in autoscaling/v2, kept by
	// Dashpot. {} means the defaults of all. Without it the HorizontalPodAutoscaler's
	// own apply to the readings, which are then passed on.
	Behavior *Behavior `json:"behavior,omitempty"`
	// CooldownPeriod is how many seconds after the last active reading the workload is
	// kept awake. Only with behavior, and where minReplicas is 0.
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`
	// Interval is how many seconds old a reading may be before it is read again. By
	// default the trigger type's own: 5 for Redis, 15 for Prometheus.
	Interval *int32 `json:"interval,omitempty"`
	// MinReplicaCount narrows the HorizontalPodAutoscaler's minReplicas. Only with
	// behavior.
	MinReplicaCount *int32 `json:"minReplicaCount,omitempty"`
	// MaxReplicaCount narrows the HorizontalPodAutoscaler's maxReplicas. Only with
	// behavior.
	MaxReplicaCount *int32 `json:"maxReplicaCount,omitempty"`
	// Fallback is what to recommend once readings have failed for long.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Shadow decides by behavior and reports it, but sends what would be sent without.
	Shadow bool `json:"shadow,omitempty"`
}

// Trigger is one number to read.
type Trigger struct {
	// Type is the type that the trigger has in KEDA, such as redis or prometheus.
	Type string `json:"type"`
	// Metadata has the keys that KEDA's scaler of that type has.
	Metadata map[string]string `json:"metadata,omitempty"`
	// SecretRef names a Secret of the same namespace whose entries are added to the
	// metadata, such as password.
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	Name string `json:"name"`
}

// Behavior says how fast the number of replicas may change.
type Behavior struct {
	// ScaleUp says how the workload may grow.
	ScaleUp *Rules `json:"scaleUp,omitempty"`
	// ScaleDown says how the workload may shrink.
	ScaleDown *Rules `json:"scaleDown,omitempty"`
}

// Rules are those of one direction.
type Rules struct {
	// StabilizationWindowSeconds is how long the most cautious recommendation holds.
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`
	// SelectPolicy says which of several policies decides: the one that allows the
	// largest change, the smallest, or no change at all.
	SelectPolicy string `json:"selectPolicy,omitempty"`
	// Policies say how fast the count may change.
	Policies []RatePolicy `json:"policies,omitempty"`
	// Tolerance is how far the reading may be off the target before anything happens,
	// as a fraction.
	Tolerance *resource.Quantity `json:"tolerance,omitempty"`
}

// RatePolicy limits the change in a period.
type RatePolicy struct {
	// Type is the unit of value: Pods, or Percent of the count at the period's start.
	Type string `json:"type"`
	// Value is how much the count may change per period.
	Value int32 `json:"value"`
	// PeriodSeconds is the period's length.
	PeriodSeconds int32 `json:"periodSeconds"`
}

// Fallback replaces the recommendation when readings have failed for long.
type Fallback struct {
	// After is how many seconds readings must have failed.
	After int32 `json:"after"`
	// Replicas is the count to recommend then.
	Replicas int32 `json:"replicas"`
	// Behavior says whether replicas only raises the present count
	// (currentReplicasIfHigher) or replaces it (static).
	Behavior string `json:"behavior,omitempty"`
}

// Status is what was last decided, and what keeps it from working.
type Status struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are the findings of the last decision, with the types and reasons of a
	// HorizontalPodAutoscaler's where it has them.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastDecision is what was last decided.
	LastDecision *LastDecision `json:"lastDecision,omitempty"`
}

// LastDecision is a decision in short.
type LastDecision struct {
	// Time is when it was made.
	Time metav1.Time `json:"time"`
	// HorizontalPodAutoscaler is the name of the one that reads the metric.
	HorizontalPodAutoscaler string `json:"horizontalPodAutoscaler,omitempty"`
	// Reading is the value of the trigger that decided.
	Reading string `json:"reading,omitempty"`
	// CurrentReplicas is the count that the workload ran.
	CurrentReplicas int32 `json:"currentReplicas"`
	// RecommendedReplicas is what the formula gives, before windows and limits.
	RecommendedReplicas int32 `json:"recommendedReplicas"`
	// Replicas is the decided count. It is absent if none could be decided.
	Replicas *int32 `json:"replicas,omitempty"`
	// Active says whether the workload is to be awake.
	Active bool `json:"active"`
	// Value is the metric's value as it is served.
	Value string `json:"value,omitempty"`
	// Why is the decision's reason in one sentence.
	Why string `json:"why"`
}
