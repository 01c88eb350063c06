package algorithm

import (
	"cmp"
	"slices"
	"time"
)

// Memory is what a controller remembers of one workload: what it recommended, and how
// it changed the scale. The zero value is that of a controller that has just started.
type Memory struct {
	begun   bool
	history History
	events  []Event
	slots   slots // in place of both, without Differences.LongMemory
}

// NewMemory is a memory of recommendations and changes made elsewhere, in order of time.
// It has begun: no count that is found adds to it.
func NewMemory(samples []Sample, events []Event) Memory {
	m := Memory{begun: true, events: slices.Clone(events)}
	m.slots.samples = slices.Clone(samples)
	for _, s := range samples {
		remember(&m.history, s.At, s.Replicas)
	}
	for _, e := range events {
		list := m.slots.list(e)
		*list = append(*list, slot{event: e})
	}
	return m
}

// pastOf gives the recommendations and the changes that count, as Stabilize and Limit
// take them.
func (d Differences) pastOf(m *Memory) (History, []Event) {
	if d.LongMemory {
		return m.history, m.events
	}
	return m.slots.history(), m.slots.events()
}

// seed starts a memory with the count that is there.
func (d Differences) seed(m *Memory, now time.Duration, current int32) {
	begun := m.begun
	m.begun = true
	switch {
	case begun:
	case d.LongMemory && d.SeedDown:
		rememberHigh(&m.history, now, current)
	case d.LongMemory:
		remember(&m.history, now, current)
	default:
		m.slots.recommend(Sample{now, current}, 0)
	}
}

// recommend remembers what the metrics wanted, before windows and limits. longest is
// the longer one of the two windows.
func (d Differences) recommend(m *Memory, s Sample, longest time.Duration) {
	if d.LongMemory {
		remember(&m.history, s.At, s.Replicas)
		return
	}
	m.slots.recommend(s, longest)
}

// change remembers that the scale was written. An HPA without behavior has no use for it.
func (d Differences) change(m *Memory, e Event, b *Behavior) {
	switch {
	case b == nil:
	case d.LongMemory:
		m.events = pushEvent(m.events, e, MaxPeriod)
	default:
		m.slots.change(e, *b)
	}
}

// slots are the memory of upstream's controller. A list never shrinks; a new entry takes
// the place of the last one that was out of reach, and is appended if all are in reach.
// What is out of reach counts again if a longer window or period reaches it in time.
//
// Source: horizontal.go, stabilizeRecommendation*, storeScaleEvent.
type slots struct {
	samples    []Sample
	ups, downs []slot
}

// slot is an event; once it was seen to be out of reach, it may be replaced.
type slot struct {
	event    Event
	outdated bool
}

func (s *slots) recommend(next Sample, longest time.Duration) {
	for i := len(s.samples) - 1; i >= 0; i-- {
		if s.samples[i].At < next.At-longest {
			s.samples[i] = next
			return
		}
	}
	s.samples = append(s.samples, next)
}

func (s *slots) change(e Event, b Behavior) {
	list, keep := s.list(e), b.ScaleDown.longestPeriod()
	if e.Change > 0 {
		keep = b.ScaleUp.longestPeriod()
	}
	replaced := -1
	for i := range *list {
		old := &(*list)[i]
		old.outdated = old.outdated || old.event.At < e.At-keep
		if old.outdated {
			replaced = i
		}
	}
	if replaced >= 0 {
		(*list)[replaced] = slot{event: e}
		return
	}
	*list = append(*list, slot{event: e})
}

func (s *slots) list(e Event) *[]slot {
	if e.Change > 0 {
		return &s.ups
	}
	return &s.downs
}

// history is what the samples are for a window: replaced slots are not in order of time.
func (s *slots) history() History {
	sorted := slices.SortedStableFunc(slices.Values(s.samples), func(a, b Sample) int { return cmp.Compare(a.At, b.At) })
	// With room for all, none is dropped for its age: the controller's own window may be
	// longer than the longest that a behavior can have.
	h := History{Highs: make([]Sample, 0, len(sorted)+1), Lows: make([]Sample, 0, len(sorted)+1)}
	for _, sample := range sorted {
		remember(&h, sample.At, sample.Replicas)
	}
	return h
}

func (s *slots) events() []Event {
	var events []Event
	for _, list := range [][]slot{s.ups, s.downs} {
		for _, slot := range list {
			events = append(events, slot.event)
		}
	}
	return events
}
