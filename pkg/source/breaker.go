package source

import (
	"sync"
	"time"
)

const (
	breakAfter = 3 // failures in a row
	pause      = time.Second
)

// breaker spares callers the wait for a server that is known to be down. After three
// failures in a row it refuses for a second, then admits one attempt, and refuses for
// another second each time that this fails. The pause does not grow: one attempt at a
// time is no burden, and what piled up while a server was away is waiting. Any success
// closes it.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	probing  bool
	cause    error
}

// admit returns the last failure if nobody should ask the server now: to whoever reads, it
// has only happened again, and its words must not change with the time. probe is true for
// an attempt that decides alone whether the pause is over; its end must be reported.
func (b *breaker) admit(now time.Time) (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return false, nil
	}
	if b.probing || now.Before(b.until) {
		return false, b.cause
	}
	b.probing = true
	return true, nil
}

// succeed reports that the server answered.
func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.until, b.probing, b.cause = 0, time.Time{}, false, nil
}

// fail reports that the server could not be reached. Attempts that began before the
// breaker opened say nothing new when they fail too.
func (b *breaker) fail(now time.Time, probe bool, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	} else if b.failures >= breakAfter {
		return
	}
	b.failures++
	b.cause = cause
	if b.failures >= breakAfter {
		b.until = now.Add(pause)
	}
}

// abandon reports that an attempt ended for a reason that says nothing about the
// server.
func (b *breaker) abandon(probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
}
