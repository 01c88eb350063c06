package cluster

import "sync"

// bell wakes everybody who waits for a change. The zero bell is ready for use.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// listen returns a channel that the next ring closes. Listen first and look then:
// a change in between is not missed.
func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// ring costs nothing while nobody listens.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
