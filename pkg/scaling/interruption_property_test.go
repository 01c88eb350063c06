package scaling

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// interruptedWorld is two replicas on one store, which fail in every way that a cluster
// knows, beside one that nothing ever happens to. Both see the same queue, and each
// workload follows what it was told at once.
type interruptedWorld struct {
	*rig

	replicas  []*Evaluator
	reference *rig
	log       []string
	// alone is the replica that answers while the store is away, -1 while it is not.
	alone int
	// last is the replica that answered last.
	last int
	// worked is when a reading last was work, or what runs was found without a memory.
	worked time.Time
}

func newInterruptedWorld(replicas int32) *interruptedWorld {
	w := &interruptedWorld{rig: newRig(replicas), reference: newRig(replicas), alone: -1}
	w.replicas = []*Evaluator{w.replica(), w.replica()}
	return w
}

// interruptions are what may happen before an evaluation.
var interruptions = map[string]func(w *interruptedWorld){
	"nothing":           func(*interruptedWorld) {},
	"first killed":      func(w *interruptedWorld) { w.kill(0) },
	"second killed":     func(w *interruptedWorld) { w.kill(1) },
	"store unreachable": func(w *interruptedWorld) { w.store.err = errors.New("connection refused") },
	"store read only":   func(w *interruptedWorld) { w.store.readOnly = true },
	"store back":        func(w *interruptedWorld) { w.store.err, w.store.readOnly = nil, false },
	"store emptied":     func(w *interruptedWorld) { w.store.data = map[Key]Loaded{} },
	"clock 10 min ahead": func(w *interruptedWorld) {
		if w.alone < 0 {
			w.store.skew += 10 * time.Minute
		}
	},
	"clock 10 min back": func(w *interruptedWorld) { w.store.skew -= 10 * time.Minute },
}

func (w *interruptedWorld) kill(replica int) {
	if replica != w.alone {
		w.replicas[replica] = w.replica()
	}
}

// happenings are the names, those first to which a failing case is reduced.
var happenings = []string{
	"nothing", "nothing", "nothing", "first killed", "second killed", "store unreachable", "store read only",
	"store back", "store back", "store emptied", "clock 10 min ahead", "clock 10 min back",
}

// ask has a replica and the reference decide on the same queue, and lets both workloads
// follow.
func (w *interruptedWorld) ask(t *rapid.T, replica int, jobs float64) (got, want Decision) {
	t.Helper()
	for _, r := range []*rig{w.rig, w.reference} {
		r.source.set("a", jobs, false)
	}
	if jobs > 0 {
		w.worked = time.Now()
	}
	if w.alone >= 0 {
		replica = w.alone
	}
	got = w.replicas[replica].Evaluate(t.Context(), request("a"))
	want = w.reference.Evaluate(t.Context(), request("a"))
	w.alone, w.last = -1, replica
	if got.Degraded {
		w.alone = replica
	}
	follow(w.rig, got)
	follow(w.reference, want)
	return got, want
}

// follow brings a workload to what was decided, as KEDA and a transparent HPA do.
func follow(r *rig, d Decision) {
	switch {
	case d.Err != nil:
	case d.Active:
		r.observer.replicas(d.Replicas)
	default:
		r.observer.replicas(0)
	}
}

// TestInterruptionsLowerNothing: whatever is killed, unreachable, emptied or wrong, no
// answer is ever below that of a run without interruptions, whose windows have seen
// everything; and nothing is put to sleep that the other keeps awake.
//
// What a replica learns alone, while the store is away, nobody else knows until it has
// stored that: so it is the one that is asked, and it is not killed before. And a clock
// that jumps ahead takes from a window what the replica that is asked next has not seen of
// it (TestClockProperty): so that is the one that was asked last, and the clock does not jump
// while that one cannot see the store.
func TestInterruptionsLowerNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			w := newInterruptedWorld(rapid.SampledFrom([]int32{6, 1, 0}).Draw(t, "replicas"))
			cooldown := request("a").Policy.quiet()
			for range rapid.IntRange(1, 25).Draw(t, "evaluations") {
				time.Sleep(time.Duration(rapid.SampledFrom([]int{30, 5, 10, 20}).Draw(t, "seconds later")) * time.Second)
				what := rapid.SampledFrom(happenings).Draw(t, "what happens")
				interruptions[what](w)
				running := w.observer.obs.Spec
				jobs := float64(rapid.SampledFrom([]int{0, 0, 0, 3, 30, 100}).Draw(t, "jobs"))
				replica := rapid.IntRange(0, 1).Draw(t, "replica")
				if what == "clock 10 min ahead" {
					replica = w.last
				}
				got, want := w.ask(t, replica, jobs)
				w.log = append(w.log, what+": "+got.Why())
				if got.Err != nil {
					t.Fatalf("no answer: %v", got.Err)
				}
				if got.Replicas < want.Replicas || want.Active && !got.Active {
					t.Fatalf("%d replicas, active %v; uninterrupted %d, active %v: %s\n%s", got.Replicas, got.Active,
						want.Replicas, want.Active, want.Why(), strings.Join(w.log, "\n"))
				}
				if quiet := time.Since(w.worked); !got.Active && running > 0 && !w.worked.IsZero() && quiet < cooldown {
					t.Fatalf("inactive %v after the last work, within the cooldown of %v\n%s", quiet, cooldown, strings.Join(w.log, "\n"))
				}
			}
		})
	})
}

// TestFailoversLowerNothing is the same for a store that falls back to what it was a while
// ago, again and again to the same record too, as long as who answers has seen what it was
// since.
func TestFailoversLowerNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			w := newInterruptedWorld(6)
			old := maps.Clone(w.store.data)
			for range rapid.IntRange(1, 15).Draw(t, "evaluations") {
				time.Sleep(time.Duration(rapid.SampledFrom([]int{30, 5, 10, 20}).Draw(t, "seconds later")) * time.Second)
				switch rapid.SampledFrom([]string{"nothing", "nothing", "snapshot", "failover"}).Draw(t, "what happens") {
				case "snapshot":
					old = maps.Clone(w.store.data)
				case "failover":
					w.store.data = maps.Clone(old)
				}
				jobs := float64(rapid.SampledFrom([]int{0, 0, 30, 100}).Draw(t, "jobs"))
				got, want := w.ask(t, 0, jobs)
				if got.Replicas < want.Replicas || want.Active && !got.Active {
					t.Fatalf("%d replicas, active %v; without a failover %d, active %v: %s", got.Replicas, got.Active, want.Replicas, want.Active, got.Why())
				}
			}
		})
	})
}
