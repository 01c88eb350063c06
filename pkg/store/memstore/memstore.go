// Package memstore keeps records in this process: for one replica, for tests and
// for trying Dashpot out. A restart loses them.
package memstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// sweepEvery is how often a Swap also looks for expired records of other keys. An
// expired record is never served; the sweep only gives its memory back.
const sweepEvery = time.Minute

// Store is a scaling.Store in memory. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[scaling.Key]entry
	swept   time.Time
}

type entry struct {
	record  *scaling.Record
	version scaling.Version
	expires time.Time
}

// Option changes how a Store works.
type Option func(*Store)

// WithClock replaces time.Now, for tests.
func WithClock(now func() time.Time) Option {
	return func(s *Store) { s.now = now }
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{now: time.Now, entries: map[scaling.Key]entry{}}
	for _, opt := range opts {
		opt(s)
	}
	s.swept = s.now()
	return s
}

// Load implements scaling.Store. It fails only when the context has ended.
func (s *Store) Load(ctx context.Context, key scaling.Key) (*scaling.Loaded, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	e := s.live(key, now)
	return &scaling.Loaded{Record: e.record, Version: e.version, Now: now}, nil
}

// Swap implements scaling.Store. It fails when the context has ended, and for a ttl
// below 1 ms, the shortest that every store can keep.
func (s *Store) Swap(ctx context.Context, key scaling.Key, version scaling.Version, next scaling.Record, ttl time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("swap %s: %w", key, err)
	}
	if ttl < time.Millisecond {
		return false, fmt.Errorf("swap %s: ttl is %s; it must be at least 1ms", key, ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	if s.live(key, now).version != version {
		return false, nil
	}
	s.entries[key] = entry{&next, scaling.Version(rand.Text()), now.Add(ttl)}
	return true, nil
}

// live returns the entry of a key, the zero one if there is none or it has expired.
func (s *Store) live(key scaling.Key, now time.Time) entry {
	if e := s.entries[key]; now.Before(e.expires) {
		return e
	}
	return entry{}
}

func (s *Store) sweep(now time.Time) {
	if now.Sub(s.swept) < sweepEvery {
		return
	}
	s.swept = now
	for key, e := range s.entries {
		if !now.Before(e.expires) {
			delete(s.entries, key)
		}
	}
}
