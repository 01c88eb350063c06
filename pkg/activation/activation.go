// Package activation decides between no replicas and some. It is a pure state
// machine: what it remembers is one moment, when work was last seen.
//
// A workload that may be scaled to zero is awake from the first active reading
// until a quiet time has passed since the last one. Being quiet long enough does
// not put it to sleep in one step: from then on it should shrink to its floor,
// under whatever rate limits apply, and it sleeps only once it has arrived there.
package activation

import "time"

// Policy says when work counts as over.
type Policy struct {
	// CanSleep is false for a workload that is never scaled to zero: it is always
	// awake.
	CanSleep bool
	// Quiet is how long no active reading must have been seen.
	Quiet time.Duration
}

// IsActive reports whether a reading is work: strictly above its threshold, as
// KEDA means it. With threshold 0, 0 is not and 0.001 is.
func IsActive(value, threshold float64) bool { return value > threshold }

// Over reports whether the quiet time has passed, so that the workload should
// shrink to its floor. A lastActive in the future is not over.
func (p Policy) Over(lastActive, now time.Duration) bool {
	return p.CanSleep && now-lastActive >= p.Quiet
}

// Until is when the quiet time ends unless another active reading comes.
func (p Policy) Until(lastActive time.Duration) time.Duration {
	return lastActive + p.Quiet
}

// Asleep reports whether a workload may be switched off: its quiet time is over,
// and both the count decided for it and the count it runs have come down to the
// floor. Switching off from above the floor would kill busy pods past the rate
// limits, or pods that another trigger asked for.
func (p Policy) Asleep(over bool, decided, current, floor int32) bool {
	return p.CanSleep && over && decided <= floor && current <= floor
}
