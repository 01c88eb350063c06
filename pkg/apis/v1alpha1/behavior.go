package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Behavior says how fast the number of replicas may change.
type Behavior struct {
	// scaleUp says how the workload may grow. By default it doubles or grows by 4
	// pods in 15 seconds, whichever is more, without a window.
	//
	// +optional
	// +kubebuilder:default={}
	ScaleUp *ScaleUp `json:"scaleUp,omitempty"`
	// scaleDown says how the workload may shrink. By default it goes to the
	// highest count that was recommended in the last 300 seconds at once.
	//
	// +optional
	// +kubebuilder:default={}
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
}

// The type of a tolerance in Go is not a resource.Quantity: to read 1e-999999999 as one
// takes minutes, and so would the list with that object in it. Its rule lets exponents
// of two digits pass, and the policy's parser reads the text.

// ScaleUp says how the workload may grow.
type ScaleUp struct {
	// stabilizationWindowSeconds is for how many seconds the lowest recommendation
	// holds the count, from 0 to 3600; 0 by default.
	//
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`
	// selectPolicy says which of several policies decides: the one that allows the
	// largest change (Max, the default), the smallest (Min), or no change at all
	// (Disabled).
	//
	// +optional
	// +kubebuilder:default=Max
	SelectPolicy SelectPolicy `json:"selectPolicy,omitempty"`
	// policies say how fast the count may grow, from 1 to 16 of them. By default 4
	// pods or 100 percent in 15 seconds.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:default={{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Policies []RatePolicy `json:"policies,omitempty"`
	// tolerance is how far above the target the reading may be before anything
	// happens: a fraction from 0 to 1000000 as a quoted number, such as "0.1" or
	// 100m for ten percent, which is the default.
	//
	// +optional
	// +kubebuilder:default="0.1"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkM]|[eE][+-]?[0-9]{1,2})?$') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0')) && !quantity(string(self)).isGreaterThan(quantity('1000000'))",message="must be a quoted number or quantity from 0 to 1000000, such as \"0.1\" or 100m"
	Tolerance *intstr.IntOrString `json:"tolerance,omitempty"`
}

// ScaleDown says how the workload may shrink.
type ScaleDown struct {
	// stabilizationWindowSeconds is for how many seconds the highest
	// recommendation holds the count, from 0 to 3600; 300 by default.
	//
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`
	// selectPolicy says which of several policies decides: the one that allows the
	// largest change (Max, the default), the smallest (Min), or no change at all
	// (Disabled).
	//
	// +optional
	// +kubebuilder:default=Max
	SelectPolicy SelectPolicy `json:"selectPolicy,omitempty"`
	// policies say how fast the count may shrink, from 1 to 16 of them. By default
	// 100 percent in 15 seconds.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:default={{type: Percent, value: 100, periodSeconds: 15}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Policies []RatePolicy `json:"policies,omitempty"`
	// tolerance is how far below the target the reading may be before anything
	// happens: a fraction from 0 to 1000000 as a quoted number, such as "0.1" or
	// 100m for ten percent, which is the default.
	//
	// +optional
	// +kubebuilder:default="0.1"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkM]|[eE][+-]?[0-9]{1,2})?$') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0')) && !quantity(string(self)).isGreaterThan(quantity('1000000'))",message="must be a quoted number or quantity from 0 to 1000000, such as \"0.1\" or 100m"
	Tolerance *intstr.IntOrString `json:"tolerance,omitempty"`
}

// SelectPolicy is the choice between policies.
//
// +kubebuilder:validation:Enum=Max;Min;Disabled
type SelectPolicy string

// RatePolicy limits the change in a period.
type RatePolicy struct {
	// type is the unit of value: Pods, or Percent of the count at the period's
	// start.
	//
	// +kubebuilder:validation:Enum=Pods;Percent
	Type string `json:"type"`
	// value is by how many pods or percent the count may change per period, from 1
	// to 1000000.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Value int32 `json:"value"`
	// periodSeconds is the period's length in seconds, from 1 to 1800.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	PeriodSeconds int32 `json:"periodSeconds"`
}
