// Package algorithm is the HorizontalPodAutoscaler's arithmetic as pure
// functions: the same inputs give the same integers and the same reason words as
// the controller of Kubernetes 1.37.
//
// One file holds one step, in the order in which they run:
//
//	recommend  a reading and a target give a replica count
//	combine    several triggers' counts become one
//	stabilize  the windows hold a count against recent ones
//	limit      policies and bounds limit how far one step may go
//	encode     the number that makes a real HPA land on the count
//
// Nothing here reads a clock, logs, or keeps state. Time is a logical
// time.Duration since an origin that the caller chooses; it only has to be the
// same origin for every value of one call.
package algorithm
