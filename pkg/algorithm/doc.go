// Package algorithm is the HorizontalPodAutoscaler's algorithm: the same inputs give the
// same integers and the same reason words as the controller of Kubernetes 1.37.
//
// A reconcile is a row of steps, and most have a file of that name:
//
//	recommend  a metric's reading and target give a replica count (pods, requests)
//	combine    several metrics' counts become one
//	stabilize  the windows hold a count against recent ones
//	limit      policies and bounds limit how far one step may go
//	legacy     the last two for an HPA without a behavior
//	encode     the number that makes a real HPA land on the count
//
// Controller.Reconcile runs them as the HPA's controller does, with its conditions and
// its State from one reconcile to the next. The steps themselves are pure functions for
// whoever composes them otherwise.
//
// Nothing here reads a clock or logs. Time is a logical time.Duration since an origin
// that the caller chooses; it only has to be the same origin for every value of one call.
package algorithm
