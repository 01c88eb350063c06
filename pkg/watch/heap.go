package watch

import (
	"container/heap"
	"time"
)

// dueHeap orders streams by when they are due.
type dueHeap []*stream

// Len implements heap.Interface.
func (h *dueHeap) Len() int { return len(*h) }

// Less implements heap.Interface.
func (h *dueHeap) Less(i, j int) bool { return (*h)[i].due.Before((*h)[j].due) }

// Swap implements heap.Interface.
func (h *dueHeap) Swap(i, j int) {
	list := *h
	list[i], list[j] = list[j], list[i]
	list[i].index, list[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	s, _ := x.(*stream) // set pushes nothing else
	s.index = len(*h)
	*h = append(*h, s)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	s.index = -1
	return s
}

// set puts a stream where its due time belongs.
func (h *dueHeap) set(s *stream, due time.Time) {
	s.due = due
	if s.index < 0 {
		heap.Push(h, s)
		return
	}
	heap.Fix(h, s.index)
}

func (h *dueHeap) remove(s *stream) {
	if s.index >= 0 {
		heap.Remove(h, s.index)
	}
}
