package demo

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	namespace    = "demo"
	workloadName = "worker"
	maxReplicas  = 12
)

// world is the made-up cluster: one workload, seen through scaling.Observer.
type world struct {
	cooldown time.Duration // KEDA's own
	mu       sync.Mutex
	start    time.Time
	replicas int32
	changes  []change
	last     scaling.Decision
}

// change is one move of the replica count.
type change struct {
	at       time.Duration
	from, to int32
	why      string
}

func newWorld(cooldown time.Duration) *world { return &world{cooldown: cooldown, start: time.Now()} }

// Observe shows the workload as its owner would see it: a Deployment that may sleep,
// under an HPA that passes counts on untouched.
func (w *world) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	n := w.count()
	return scaling.Observation{
		Target: "apps/Deployment/" + workloadName, Spec: n, Status: n,
		Bounds: algorithm.Bounds{Min: 1, Max: maxReplicas}, ToZero: true, Cooldown: w.cooldown,
		HPA: scaling.HPA{Name: "keda-hpa-" + workloadName, Target: 1000},
	}, nil
}

func (w *world) count() int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replicas
}

// decided remembers the last decision, for its reason.
func (w *world) decided(_, d *scaling.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = *d
}

func (w *world) decision() scaling.Decision {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// scale moves the replica count if it is still from, and notes who moved it and why.
func (w *world) scale(from, to int32, who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if from != w.replicas || to == from {
		return
	}
	w.changes = append(w.changes, change{time.Since(w.start), from, to, who + ": " + why(w.last)})
	w.replicas = to
}

// why is a decision's reason; there is only one queue to name.
func why(d scaling.Decision) string {
	reason := d.Why()
	for _, t := range d.Basis.Triggers() {
		reason = strings.ReplaceAll(reason, t.Query, "the queue")
	}
	return reason
}

func (w *world) history() []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]change(nil), w.changes...)
}
