package delegate

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row, without any answer between them, mean that
	// a delegate is down and not just one of its metrics slow. The HPA controller has five
	// workers, so that the first round of them all can be enough.
	breakAfter = 5
	// pause is how long a delegate that is down is left alone. Each attempt takes one of
	// the controller's workers for the delegate's timeout: with 1 s in 6 s, a thirtieth of
	// them all.
	pause = 5 * time.Second
)

// breaker spares callers the wait for a delegate that is known to be down. After
// breakAfter failures in a row it refuses for a pause, then admits one attempt each pause
// until one succeeds. No timeout is as long as a pause, so that attempts are never two at
// once.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	cause    error
}

// refuses returns the last failure while the delegate is left alone. Its words do not
// change with the time.
func (b *breaker) refuses(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused(now)
}

// admit is refuses for somebody who asks the delegate if it is nil. The first after a
// pause begins the next one.
func (b *breaker) admit(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refused(now); err != nil {
		return err
	}
	if b.failures >= breakAfter {
		b.until = now.Add(pause)
	}
	return nil
}

func (b *breaker) refused(now time.Time) error {
	if b.failures >= breakAfter && now.Before(b.until) {
		return b.cause
	}
	return nil
}

// succeed reports that the delegate has answered, be it by a refusal.
func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.cause = 0, nil
}

// fail reports that the delegate could not be reached, or not in time.
func (b *breaker) fail(now time.Time, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.cause = b.failures+1, cause
	if b.failures == breakAfter { // those that come later have begun before
		b.until = now.Add(pause)
	}
}
