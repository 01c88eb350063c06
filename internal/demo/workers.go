package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often the made-up workload moves.
const tick = 50 * time.Millisecond

// queue is a real Redis protocol server with one list.
type queue struct{ server *miniredis.Miniredis }

func newQueue() (*queue, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the built-in queue: %w", err)
	}
	return &queue{server}, nil
}

func (q *queue) push(n int) {
	for range n {
		_, _ = q.server.Push("jobs", "job") // the key is a list and stays one
	}
}

// pop takes up to n jobs and returns how many there were.
func (q *queue) pop(n int) int {
	for taken := range n {
		if _, err := q.server.Lpop("jobs"); err != nil {
			return taken
		}
	}
	return n
}

func (q *queue) length() int {
	jobs, err := q.server.List("jobs")
	if err != nil {
		return 0 // an empty list is no key
	}
	return len(jobs)
}

// run lets jobs arrive and the replicas finish them until the context ends. woken is
// called when the burst has arrived.
func (q *queue) run(ctx context.Context, s script, w *world, woken func()) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var arriving, working float64
	burst := false
	for last := w.start; ; {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			at, passed := now.Sub(w.start), s.units(now.Sub(last))
			last = now
			if !burst && s.units(at) >= burstAt {
				burst = true
				q.push(burstJobs)
				woken()
			}
			arriving += s.arrivals(at) * passed
			q.push(int(arriving))
			arriving -= float64(int(arriving))
			working += float64(w.count()) * jobsPerUnit * passed
			q.pop(int(working))
			working -= float64(int(working))
		}
	}
}
