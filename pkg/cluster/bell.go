package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// defaultPatience is how long a caller waits for an object that has not been seen.
const defaultPatience = 500 * time.Millisecond

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

// await looks, and looks again at every ring, until the answer is another than
// scaling.ErrUnobserved, or the patience or the context is at its end; then it looks
// once more, for the reason may be another by now.
func await[T any](ctx context.Context, patience time.Duration, changed *bell, look func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		rung := changed.listen()
		found, err := look()
		if !errors.Is(err, scaling.ErrUnobserved) {
			return found, err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return look()
		}
	}
}
