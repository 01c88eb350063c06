package watch

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestAHungServerDelaysNoOther(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.hung["a"] = true })
		for i := range 2000 {
			b.watch("a"+strconv.Itoa(i), policyOf(query("a/"+strconv.Itoa(i))))
		}
		c := b.watch("b", policyOf("b/jobs"))
		b.at(20.2)
		goroutines := runtime.NumGoroutine()
		b.set(func() { b.queues["b/jobs"] = 1 })
		b.at(20.6)
		b.want("announced", &c.heard, 20.5)
		// 2000 handlers and their contexts' watchers sleep; of reads there is one.
		b.at(40.2)
		if grown := runtime.NumGoroutine() - goroutines; grown > 2 {
			t.Errorf("%d more goroutines after 20 s of hanging", grown)
		}
		b.Watcher.mu.Lock()
		defer b.Watcher.mu.Unlock()
		if waiting := len(b.lanes[laneKey{"a", ticks}].probes); waiting > 2000 {
			t.Errorf("%d probes wait for the hung server, want each of 2000 once at most", waiting)
		}
	})
}

func TestAHungEvaluationDelaysNoOther(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.stuck["bad"] = true })
		b.watch("bad", policyOf("redis/bad"))
		good := b.watch("good", policyOf("redis/good"))
		b.at(1)
		b.set(func() { b.queues["redis/good"] = 1 })
		b.at(1.6)
		b.want("announced", &good.heard, 1.5)
	})
}

// A flood of evaluations that hang, as when KEDA restarts while the store is away,
// does not hold up what may have become active.
func TestHungChecksDelayNoEdge(t *testing.T) {
	run(t, exact(), func(b *bench) {
		good := b.watch("good", policyOf("redis/good"))
		for i := range 10 * workers {
			name := "bad" + strconv.Itoa(i)
			b.set(func() { b.stuck[name] = true })
			b.watch(name, policyOf("redis/bad"))
		}
		b.at(1)
		b.set(func() { b.queues["redis/good"] = 1 })
		b.at(1.6)
		b.want("announced", &good.heard, 1.5)
	})
}

// Two triggers on two servers: what one server says is enough, and an unread
// server is not a failed one.
func TestTriggersOnTwoServers(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("a/jobs", "b/jobs", "a/more"))
		b.at(1)
		b.set(func() { b.queues["a/more"] = 3 })
		b.at(1.6)
		b.want("announced", &c.heard, 1.5)
		got := b.request(1).Outcomes
		if want := []scaling.Outcome{{}, {}, {Value: 3}}; !slices.Equal(got, want) {
			t.Errorf("evaluated with %v, want %v", got, want)
		}
	})
}

func TestOneOfTwoServersHangs(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.hung["a"] = true })
		c := b.watch("worker", policyOf("a/jobs", "b/jobs"))
		b.set(func() { b.queues["b/jobs"] = 1; b.err = errors.New("not yet") })
		b.at(1) // the check at open failed; only the triggers can tell now
		b.set(func() { b.err = nil })
		b.at(10)
		// a is given up at 0.5 + 3 s; what b says counts from then on.
		b.want("announced", &c.heard, 3.5, 4.5, 6.5)
		outcomes := b.request(1).Outcomes
		if outcomes[0].Err == nil || outcomes[1].Value != 1 {
			t.Errorf("evaluated with %v, want an error and 1", outcomes)
		}
	})
}

// What was read before a policy was active is not evaluated when it no longer is:
// a server that does not answer then has failed.
func TestOldOutcomesAreForgotten(t *testing.T) {
	o := exact()
	o.ReadTimeout = 2700 * time.Millisecond
	run(t, o, func(b *bench) {
		b.watch("worker", policyOf("a/jobs", "b/jobs"))
		b.at(1)
		b.set(func() { b.queues["b/jobs"], b.replicas = 1, 4 })
		b.at(2)
		b.set(func() { b.hung["a"] = true })
		b.Poke("shop", "worker")
		b.at(6)
		b.want("evaluated", &b.evaluated, 0, 1.5, 4.7) // the poke's, when a is given up
		b.set(func() { b.queues["b/jobs"] = 0 })
		b.at(10.2)
		b.set(func() { b.queues["b/jobs"] = 1 })
		b.at(14)
		b.want("evaluated", &b.evaluated, 0, 1.5, 4.7, 9.7, 13.2)
		for _, n := range []int{2, 4} {
			if outcomes := b.request(n).Outcomes; outcomes[0].Err == nil || outcomes[1].Value != 1 {
				t.Errorf("evaluated with %v, want an error and 1", outcomes)
			}
		}
	})
}
