package scaling

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// reads makes sure that one question is read once at a time, whoever asks, and
// that nobody waits for a server that is known to be slow.
type reads struct {
	source   Source
	patience time.Duration
	timeout  time.Duration

	mu      sync.Mutex
	flights map[string]*flight
	// slow are the servers that have tried a caller's patience, and when.
	slow map[string]time.Time
}

// slowMemory is how long a server counts as slow of which nobody has heard since: who
// reads it tries it every few seconds.
const slowMemory = 15 * time.Minute

// flight is one read under way, and what became of it.
type flight struct {
	servers []string
	done    chan struct{}
	result  *state // valid once done is closed
}

func newReads(source Source, patience, timeout time.Duration) *reads {
	return &reads{source: source, patience: patience, timeout: timeout, flights: map[string]*flight{}, slow: map[string]time.Time{}}
}

// join returns the flight for a question, and starts it if there is none. fly does
// the work: it calls read when it comes to it, and its state is the flight's result.
func (r *reads) join(q *question, fly func(ctx context.Context, read func() []Outcome) *state) *flight {
	id, queries := flightID(q), queriesOf(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.flights[id]; ok {
		return f
	}
	f := &flight{done: make(chan struct{})}
	for server := range byServer(queries) {
		f.servers = append(f.servers, server)
	}
	r.flights[id] = f
	go func() {
		quick := false
		// Reading and storing may each take the timeout.
		ctx, cancel := context.WithTimeout(context.Background(), 2*r.timeout)
		defer cancel()
		f.result = fly(ctx, func() []Outcome {
			started := time.Now()
			ctx, cancel := context.WithTimeout(ctx, r.timeout)
			defer cancel()
			outcomes := ReadAll(ctx, r.source, queries)
			quick = time.Since(started) < r.patience
			return outcomes
		})
		r.land(id, f, quick)
	}()
	return f
}

func (r *reads) land(id string, f *flight, quick bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.flights, id)
	if quick {
		for _, server := range f.servers {
			delete(r.slow, server)
		}
	}
	close(f.done)
}

// wait reports whether the flight landed before the caller's patience ended. A
// server that tries one caller's patience does not get to try the next one's.
func (r *reads) wait(ctx context.Context, f *flight) bool {
	select {
	case <-f.done:
		return true
	default:
	}
	if r.isSlow(f) {
		return false
	}
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case <-f.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
		r.markSlow(f)
	}
	return false
}

func (r *reads) isSlow(f *flight) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, server := range f.servers {
		if _, slow := r.slow[server]; slow {
			return true
		}
	}
	return false
}

func (r *reads) markSlow(f *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-f.done: // it landed after all
	default:
		now := time.Now()
		maps.DeleteFunc(r.slow, func(_ string, at time.Time) bool { return now.Sub(at) >= slowMemory })
		for _, server := range f.servers {
			r.slow[server] = now
		}
	}
}

// flightID names a question: two policies of one key that read the same share a
// flight, an edited one gets its own.
func flightID(q *question) string {
	var id strings.Builder
	id.WriteString(q.key.String())
	for _, t := range q.policy.Triggers {
		id.WriteString("\x00" + t.Query.Server() + "\x00" + t.asks())
	}
	return id.String()
}

func queriesOf(q *question) []Query {
	queries, scope := make([]Query, len(q.policy.Triggers)), scopeOf(q)
	for i, t := range q.policy.Triggers {
		queries[i] = In(t.Query, scope)
	}
	return queries
}

// byServer groups the indices of queries by their server.
func byServer(queries []Query) map[string][]int {
	groups := map[string][]int{}
	for i, q := range queries {
		groups[q.Server()] = append(groups[q.Server()], i)
	}
	return groups
}

// ReadAll reads queries of any servers, each server's together and all servers at
// once, and returns the outcomes in order.
func ReadAll(ctx context.Context, source Source, queries []Query) []Outcome {
	outcomes := make([]Outcome, len(queries))
	for i, q := range queries { // should a source answer less than it was asked
		outcomes[i].Err = fmt.Errorf("%s: %w", q, ErrNoData)
	}
	var wg sync.WaitGroup
	for _, indices := range byServer(queries) {
		wg.Go(func() {
			group := make([]Query, len(indices))
			for j, i := range indices {
				group[j] = queries[i]
			}
			for j, o := range source.Read(ctx, group) {
				if j < len(indices) {
					outcomes[indices[j]] = o
				}
			}
		})
	}
	wg.Wait()
	return outcomes
}
