// Package recent is a map that forgets what nobody asks for.
package recent

import (
	"sync"
	"time"
)

// Map keeps each entry for as long after it was last put or asked for as it was made for,
// and twice as long at most. It has two generations: the young one becomes the old one,
// and what is still asked for moves to the young one again, which costs a look-up and no
// list of times. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	keep time.Duration

	mu         sync.Mutex
	young, old map[K]V
	turned     time.Time
}

// New returns an empty map whose entries are kept for a time.
func New[K comparable, V any](keep time.Duration) *Map[K, V] {
	return &Map[K, V]{keep: keep, young: map[K]V{}, turned: time.Now()}
}

// Get returns the value of a key, if it is there.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn()
	if value, ok = m.young[key]; ok {
		return value, true
	}
	if value, ok = m.old[key]; ok {
		m.young[key] = value
	}
	return value, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn()
	m.young[key] = value
}

// Len is how many entries there are; one in both generations counts twice.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}

// turn forgets what was not asked for in the last generation. After a silence as long as
// two, that is all. The caller holds the lock.
func (m *Map[K, V]) turn() {
	now := time.Now()
	switch since := now.Sub(m.turned); {
	case since >= 2*m.keep:
		m.young, m.old, m.turned = map[K]V{}, nil, now
	case since >= m.keep:
		m.young, m.old, m.turned = map[K]V{}, m.young, now
	}
}
