package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// probeTimeout ends a check before the kubelet's own default of 1 s does, so that
// the answer says which check it was.
const probeTimeout = 900 * time.Millisecond

// readyPoll is how often a process that starts looks whether it is ready.
const readyPoll = 200 * time.Millisecond

// ErrDraining is why a process that is ending is not ready.
var ErrDraining = errors.New("shutting down")

// Check asks one part of the process whether it can do its work, and why not.
type Check struct {
	Name string
	Test func(context.Context) error
}

// Once returns a check that has passed for good when it passes the first time. It
// suits a dependency without which the process can go on, but not start.
func Once(c Check) Check {
	var passed atomic.Bool
	return Check{c.Name, func(ctx context.Context) error {
		if passed.Load() {
			return nil
		}
		if err := c.Test(ctx); err != nil {
			return err
		}
		passed.Store(true)
		return nil
	}}
}

// Probes answer the two questions that an orchestrator asks. Liveness: is the
// process turning? It depends on nothing else, for no restart mends a Redis that
// is down, and every restart costs. Readiness: can it answer?
type Probes struct {
	checks   atomic.Pointer[[]Check]
	draining atomic.Bool
}

// NewProbes returns probes that are ready when all checks pass.
func NewProbes(checks ...Check) *Probes {
	p := &Probes{}
	p.Replace(checks...)
	return p
}

// Replace exchanges all checks: what a process waits for while it starts is not
// what it needs later.
func (p *Probes) Replace(checks ...Check) { p.checks.Store(&checks) }

// Drain makes the process not ready from now on.
func (p *Probes) Drain() { p.draining.Store(true) }

// Ready returns nil, or every reason why the process cannot answer.
func (p *Probes) Ready(ctx context.Context) error {
	if p.draining.Load() {
		return ErrDraining
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var reasons []error
	for _, c := range *p.checks.Load() {
		if err := c.Test(ctx); err != nil {
			reasons = append(reasons, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
	return errors.Join(reasons...)
}

// Await returns true when the process is ready, and false if the context ends before.
// What is missing is logged when it changes.
func (p *Probes) Await(ctx context.Context, log *slog.Logger) bool {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	var last string
	for {
		err := p.Ready(ctx)
		switch {
		case err == nil:
			return true
		case errors.Is(ctx.Err(), context.Canceled):
			return false
		case err.Error() != last:
			last = err.Error()
			log.Warn("not ready", "reason", last)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// Register serves the probes as /healthz and /readyz.
func (p *Probes) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := p.Ready(r.Context()); err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		writeText(w, http.StatusOK, "ok")
	})
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // a caller that is gone needs no answer
}
