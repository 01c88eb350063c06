// Package cluster shows pkg/scaling what the Kubernetes API knows of a workload.
//
// It is the one place where API types become plain structs. Every informer does
// so in its transform, so that what stays in memory is a handful of fields per
// object: no pod templates, no managedFields, no status that nobody reads.
//
// Observer is the scaling.Observer over those informers, either of what KEDA scales
// or of native HPAs; OpenLoop is the one for a process without a cluster. Policies are
// those that StabilizedMetrics and the Secrets they name ask for. Events and Statuses
// tell users what has become of theirs.
package cluster
