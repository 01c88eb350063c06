package main

import (
	"slices"
	"sync"
	"time"
)

// step is a workload's spec.replicas from a moment on.
type step struct {
	at    time.Duration
	count int32
}

// timeline is what a workload's spec.replicas was, as its only writer knows. It is safe
// for concurrent use.
type timeline struct {
	mu    sync.Mutex
	steps []step
}

// set notes a count that has just been written.
func (l *timeline) set(at time.Duration, count int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, step{at, count})
}

// at is the count at a moment; 0 before the first.
func (l *timeline) at(t time.Duration) int32 {
	least, _ := l.within(t, t)
	return least
}

// within are the least and the largest count of a time.
func (l *timeline) within(from, to time.Duration) (least, most int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := len(l.steps)
	for first > 0 && l.steps[first-1].at > from {
		first--
	}
	var counts []int32
	if first == 0 {
		counts = append(counts, 0)
	} else {
		first--
	}
	for _, s := range l.steps[first:] {
		if s.at <= to {
			counts = append(counts, s.count)
		}
	}
	return slices.Min(counts), slices.Max(counts)
}

// moves are a workload's counts by two clocks: when a write was sent, and when it was
// confirmed. In between, replicas may have seen the one count or the other.
type moves struct{ sent, confirmed timeline }
