package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind and Resource name the StabilizedMetric.
const (
	Kind     = "StabilizedMetric"
	Resource = "stabilizedmetrics"
)

// StabilizedMetric is a metric that a HorizontalPodAutoscaler of its namespace
// reads by its name, as spec.metrics[].external.metric.name. Its value is the
// number of replicas that was decided from its triggers, times the
// averageValue of that HorizontalPodAutoscaler; without behavior it is the
// reading. A KEDA trigger of type external or external-push follows it with
// the metadata "metric: NAME".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['status', 'finalize'])",message="a metric cannot be called status or finalize: Kubernetes takes namespaces/NAMESPACE/status for a part of the namespace"
// +kubebuilder:resource:path=stabilizedmetrics,singular=stabilizedmetric,shortName=smetric,categories=dashpot
// +kubebuilder:printcolumn:name="Trigger",type=string,JSONPath=`.spec.triggers[*].type`,description="What is read: the type of the first trigger"
// +kubebuilder:printcolumn:name="Reading",type=string,JSONPath=`.status.lastDecision.reading`,description="The value of the trigger that decided"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.lastDecision.replicas`,description="The count that was decided"
// +kubebuilder:printcolumn:name="Active",type=boolean,JSONPath=`.status.lastDecision.active`,description="Whether the workload is to be awake"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="ScalingActive")].reason`,description="The reason of the condition ScalingActive"
// +kubebuilder:printcolumn:name="Why",type=string,priority=1,JSONPath=`.status.lastDecision.why`,description="The decision's reason in one sentence"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StabilizedMetric struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is read, and how the number of replicas follows from it.
	Spec Spec `json:"spec"`
	// status is what was last decided, and what keeps the metric from working. It
	// is written by Dashpot's adapter.
	//
	// +optional
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

// Spec says what is read, and how the number of replicas follows from it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicaCount) || !has(self.maxReplicaCount) || self.minReplicaCount <= self.maxReplicaCount",fieldPath=".minReplicaCount",message="must not be above maxReplicaCount",messageExpression="'minReplicaCount %d: must not be above maxReplicaCount %d'.format([self.minReplicaCount, self.maxReplicaCount])"
type Spec struct {
	// triggers are what is read, from 1 to 16 of them. The one that asks for the
	// most replicas decides.
	//
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Triggers []Trigger `json:"triggers"`
	// behavior are windows, rate policies and tolerances as a
	// HorizontalPodAutoscaler's spec.behavior has them, kept by Dashpot across
	// restarts. {} means the defaults of all. Without it the
	// HorizontalPodAutoscaler's own behavior applies to the readings, which are
	// then passed on as they are. With it the HorizontalPodAutoscaler's own has to
	// be transparent: stabilizationWindowSeconds 0, tolerance "0" and one policy
	// Pods 100000 per 1 second, both in scaleUp and in scaleDown.
	//
	// +optional
	Behavior *Behavior `json:"behavior,omitempty"`
	// cooldownPeriod is how many seconds after the last active reading the
	// workload is kept awake, from 0 to 2592000 (30 days); 300 by default. It has
	// an effect only with behavior, and where the HorizontalPodAutoscaler's
	// minReplicas is 0.
	//
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`
	// interval is how many seconds old a reading may be before the trigger is read
	// again, from 1 to 300. It is what KEDA calls pollingInterval. By default it
	// is the trigger type's own: 5 for Redis, 15 for Prometheus, the longest if
	// there are several.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	Interval *int32 `json:"interval,omitempty"`
	// minReplicaCount narrows the HorizontalPodAutoscaler's minReplicas, from 0 to
	// 1000000 replicas. It must not be above maxReplicaCount, and has an effect
	// only with behavior.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinReplicaCount *int32 `json:"minReplicaCount,omitempty"`
	// maxReplicaCount narrows the HorizontalPodAutoscaler's maxReplicas, from 1 to
	// 1000000 replicas. It has an effect only with behavior.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxReplicaCount *int32 `json:"maxReplicaCount,omitempty"`
	// fallback is what to recommend once the triggers could not be read for long.
	// Without it the present count is held for as long as that lasts.
	//
	// +optional
	Fallback *Fallback `json:"fallback,omitempty"`
	// shadow decides by behavior and reports it in the status, but sends what
	// would be sent without behavior: a rehearsal. false by default.
	//
	// +optional
	// +kubebuilder:default=false
	Shadow bool `json:"shadow,omitempty"`
}

// Trigger is one number to read.
type Trigger struct {
	// type is the type that the trigger has in KEDA, such as redis, redis-streams
	// or prometheus. One that this release does not know is reported in the
	// status.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type"`
	// metadata has the keys that KEDA's scaler of that type has, such as listName
	// or query. All values are texts, so quote numbers: listLength: "5". As in
	// KEDA, an empty value is as good as none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!('source' in self)",message="source must not be here: type says what to read"
	// +kubebuilder:validation:XValidation:rule="!('type' in self)",message="type must not be here: it stands beside metadata"
	// +kubebuilder:validation:XValidation:rule="!('metric' in self)",message="metric must not be here: the object itself is the metric"
	// +kubebuilder:validation:XValidation:rule="!('behavior' in self)",message="behavior must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('cooldownPeriod' in self)",message="cooldownPeriod must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('interval' in self)",message="interval must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('minReplicaCount' in self)",message="minReplicaCount must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('maxReplicaCount' in self)",message="maxReplicaCount must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('fallback' in self)",message="fallback must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!('shadow' in self)",message="shadow must not be here: it stands in spec, beside triggers"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.endsWith('FromEnv'))",message="a key that ends in FromEnv must not be here: it names a variable of a workload's container, which only KEDA can read; put the value in a Secret and name it in secretRef"
	Metadata map[string]string `json:"metadata,omitempty"`
	// secretRef names a Secret of the same namespace whose credentials are added
	// to the metadata under their own names, such as password. A key must not
	// stand in both. Other entries are not used.
	//
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// name is the Secret's name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Fallback replaces the recommendation when triggers could not be read for
// long.
type Fallback struct {
	// after is for how many seconds reading must have failed, from 1 to 86400 (a
	// day).
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	After int32 `json:"after"`
	// replicas is the count to recommend then, from 0 to 1000000.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Replicas int32 `json:"replicas"`
	// behavior says whether replicas only raises the present count
	// (currentReplicasIfHigher, the default) or replaces it (static). The words
	// are KEDA's.
	//
	// +optional
	// +kubebuilder:default=currentReplicasIfHigher
	// +kubebuilder:validation:Enum=currentReplicasIfHigher;static
	Behavior string `json:"behavior,omitempty"`
}
