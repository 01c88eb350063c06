// Package externalmetrics serves the external metrics API of Kubernetes, through which
// a HorizontalPodAutoscaler reads the value of a StabilizedMetric by its name:
//
//	GET /apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/METRIC
//
// It is an aggregated API server: the API server passes the HPA controller's requests
// on to it, and it asks the API server in turn who somebody is and what they may. The
// permission to read a metric is the verb list on the resource METRIC of that group.
package externalmetrics
