package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is what was last decided, and what keeps the metric from working.
type Status struct {
	// observedGeneration is the generation of the spec that the status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are the findings of the last decision, with the types and reasons
	// of a HorizontalPodAutoscaler's where it has them: ScalingActive,
	// AbleToScale, ScalingLimited.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// lastDecision is what was last decided.
	//
	// +optional
	LastDecision *LastDecision `json:"lastDecision,omitempty"`
}

// LastDecision is a decision in short. Where none could be made, all but time and why is
// absent: a 0 would be taken for one.
type LastDecision struct {
	// time is when it was made.
	Time metav1.Time `json:"time"`
	// horizontalPodAutoscaler is the name of the one that reads the metric.
	//
	// +optional
	HorizontalPodAutoscaler string `json:"horizontalPodAutoscaler,omitempty"`
	// reading is the value of the trigger that decided.
	//
	// +optional
	Reading string `json:"reading,omitempty"`
	// currentReplicas is the count that the workload ran.
	//
	// +optional
	CurrentReplicas *int32 `json:"currentReplicas,omitempty"`
	// recommendedReplicas is what the formula gives, before windows and limits.
	//
	// +optional
	RecommendedReplicas *int32 `json:"recommendedReplicas,omitempty"`
	// replicas is the decided count.
	//
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// active says whether the workload is to be awake.
	//
	// +optional
	Active *bool `json:"active,omitempty"`
	// value is the metric's value as it is served.
	//
	// +optional
	Value string `json:"value,omitempty"`
	// why is the decision's reason in one sentence.
	Why string `json:"why"`
}
