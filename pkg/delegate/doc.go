// Package delegate asks other servers of external metrics, such as KEDA's or
// prometheus-adapter, for what this one does not have itself. A cluster has one place for
// such a server, the APIService v1beta1.external.metrics.k8s.io; whoever holds it gets
// every query of every HPA, and passes on what is for others.
//
// A delegate that is slow or down costs only those who ask for its own metrics: each has
// a deadline, a limit of requests at a time, and a breaker. What it answers passes
// unchanged, refusals included.
package delegate
