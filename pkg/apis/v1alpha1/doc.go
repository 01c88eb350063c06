// Package v1alpha1 is the API of Dashpot's own objects, group dashpot.dev.
//
// +kubebuilder:object:generate=true
// +groupName=dashpot.dev
package v1alpha1
