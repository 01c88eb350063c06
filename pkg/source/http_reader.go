package source

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// httpQuery is one number at an HTTP server. Its type is comparable, and two that ask the
// same are equal.
type httpQuery interface {
	scaling.Query
	// request says where to ask, for which path with which parameters, and how long that
	// may take.
	request() (at unique.Handle[httpServer], path string, timeout time.Duration)
	// decode is the outcome of an answer, one with a status of failure too. Its error does
	// not name the query, and neither it nor a note shows anything of the answer but numbers.
	decode(httpAnswer) scaling.Outcome
}

// httpReader asks HTTP servers. Nobody who asks waits for another's query, and a query
// that several ask at once is sent once.
type httpReader[Q httpQuery] struct {
	timeout time.Duration
	clients httpClients

	mu      sync.Mutex
	flights map[httpQuery]*flight
}

// flight is one request under way.
type flight struct {
	done    chan struct{}
	outcome scaling.Outcome // valid once done is closed
}

func newHTTPReader[Q httpQuery](timeout time.Duration, clients httpClients) *httpReader[Q] {
	return &httpReader[Q]{timeout: timeout, clients: clients, flights: map[httpQuery]*flight{}}
}

func (r *httpReader[Q]) close() { r.clients.close() }

// read asks all queries at once. The first that is not answered in time does not take
// the others' answers with it.
func (r *httpReader[Q]) read(ctx context.Context, queries []Q) ([]scaling.Outcome, error) {
	if ctx.Err() != nil {
		return nil, noAnswer(context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	flights := make([]*flight, len(queries))
	for i, q := range queries {
		flights[i] = r.join(ctx, q)
	}
	outcomes := make([]scaling.Outcome, len(queries))
	for i, f := range flights {
		select {
		case <-f.done:
			outcomes[i] = f.outcome
			continue
		case <-ctx.Done():
		}
		select {
		case <-f.done: // the context ended while another query was waited for
			outcomes[i] = f.outcome
		default:
			outcomes[i].Err = fmt.Errorf("%s: %w", queries[i], noAnswer(context.Cause(ctx)))
		}
	}
	return outcomes, nil
}

// join returns the flight of a query, and starts it if there is none. It is not the
// caller's alone, and so goes on when the caller leaves, to its own timeout.
func (r *httpReader[Q]) join(ctx context.Context, q Q) *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.flights[q]; ok {
		return f
	}
	f := &flight{done: make(chan struct{})}
	r.flights[q] = f
	go func() {
		f.outcome = r.ask(context.WithoutCancel(ctx), q)
		if f.outcome.Err != nil {
			f.outcome.Err = fmt.Errorf("%s: %w", q, f.outcome.Err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.flights, q)
		close(f.done)
	}()
	return f
}

func (r *httpReader[Q]) ask(ctx context.Context, q Q) scaling.Outcome {
	at, path, timeout := q.request()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	outcome, err := r.clients.get(ctx, at, path, q.decode)
	if err != nil {
		return scaling.Outcome{Err: err}
	}
	return outcome
}
