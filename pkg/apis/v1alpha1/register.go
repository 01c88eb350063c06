package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the objects in this package.
var GroupVersion = schema.GroupVersion{Group: "dashpot.dev", Version: "v1alpha1"}

// AddToScheme tells a scheme of the objects in this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &StabilizedMetric{}, &StabilizedMetricList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
