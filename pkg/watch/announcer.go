package watch

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// announcer decides when an active policy is announced.
type announcer struct {
	active bool
	// pause is how long after the last announcement the next is due, at again; 0
	// if none was made of this sleep.
	pause time.Duration
	again time.Time
}

const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// hear takes a decision and reports whether to announce that the policy is active.
func (a *announcer) hear(d scaling.Decision, now time.Time) bool {
	was := a.active
	a.active = d.Err == nil && d.Active
	switch {
	case !a.active, d.Running > 0 && !d.OpenLoop:
		a.pause = 0
		return false
	case d.OpenLoop:
		return !was
	case a.pause > 0 && now.Before(a.again):
		return false
	}
	a.pause = min(max(firstPause, 2*a.pause), lastPause)
	a.again = now.Add(a.pause)
	return true
}
