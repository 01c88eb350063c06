//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// Cooldowns and polling of most scenarios, in seconds. KEDA's cooldown is two polls.
const (
	polling      = 2
	kedaCooldown = 4
)

func stabilised(triggers ...trigger) object {
	return object{max: 20, polling: polling, cooldown: kedaCooldown, behavior: transparent, triggers: triggers}
}

// jump lets a policy go up at once.
const jumpUp = `scaleUp: {policies: [{type: Pods, value: 1000, periodSeconds: 1}]}`

// testExactCount: 37 jobs, 5 per replica, take the workload from 0 to exactly 8; once
// the queue is empty it returns to 0 after both cooldowns and not before.
func testExactCount(t *testing.T) {
	w := newWorkload(t, env.pair, 0)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "15", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 0}",
	})))
	r := w.Record()
	w.Queue("jobs", 37)
	w.Await(8, time.Minute)
	time.Sleep(3 * hpaSync)
	w.Expect(r, 0, 1, 8)

	empty := time.Now()
	w.Queue("jobs", 0)
	zero := w.Await(0, 2*time.Minute)
	w.Expect(r, 0, 1, 8, 1, 0)
	// Activity is what was last measured, at most an interval or a poll before the queue
	// was emptied, and KEDA starts its own cooldown at its last poll that saw it.
	if quiet, want := zero.Sub(empty), (15+kedaCooldown-2*polling)*time.Second; quiet < want {
		t.Errorf("0 after %v without work, want both cooldowns: %v at least", quiet, want)
	}
}

// glide takes a workload from 6 replicas to 0 by one pod per 15 s.
func glide(t *testing.T, p *pair, disturb func()) {
	w := newWorkload(t, p, 6)
	w.Queue("jobs", 30)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "20",
		"behavior":       "scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1, periodSeconds: 15}]}",
	})))
	r := w.Record()
	w.Steady(r, 3*hpaSync+5*time.Second, 6)
	w.Queue("jobs", 0)
	w.Await(4, 3*time.Minute)
	disturb()
	w.Await(0, 5*time.Minute)
	checkSteps(t, w.Expect(r, 6, 5, 4, 3, 2, 1, 0))
}

// checkSteps checks that the steps down to 1 are 15 s apart and no less. How much more
// depends on the machine and on what was killed between two steps: it is printed.
func checkSteps(t *testing.T, h cluster.History) {
	t.Helper()
	for i := 2; i+1 < len(h); i++ {
		apart := h[i].At.Sub(h[i-1].At)
		t.Logf("%d follows %d after %.1f s", h[i].Replicas, h[i-1].Replicas, apart.Seconds())
		if apart < 14500*time.Millisecond {
			t.Errorf("%d follows %d after %v, want 15s at least", h[i].Replicas, h[i-1].Replicas, apart)
		}
	}
}

func testOnePodPer15s(t *testing.T) { glide(t, env.pair, func() {}) }

func testOnePodPer15sKilled(t *testing.T) {
	p := ownPair(t)
	glide(t, p, func() { p.killBoth(t) })
}

// dip empties the queue for 30 s inside a window of 60 s.
func dip(t *testing.T, p *pair, disturb func()) {
	w := newWorkload(t, p, 6)
	w.Queue("jobs", 30)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "20", "behavior": "scaleDown: {stabilizationWindowSeconds: 60}",
	})))
	r := w.Record()
	w.Steady(r, 15*time.Second, 6)
	w.Queue("jobs", 0)
	w.Steady(r, 15*time.Second, 6)
	disturb()
	w.Steady(r, 15*time.Second, 6)
	w.Queue("jobs", 30)
	w.Steady(r, 45*time.Second, 6)
	// and without work the window ends
	w.Queue("jobs", 0)
	empty := time.Now()
	w.Steady(r, 50*time.Second, 6)
	if at := w.Await(1, time.Minute); at.Sub(empty) < 58*time.Second {
		t.Errorf("fell %v after the queue was emptied, want the window of 60s", at.Sub(empty))
	}
}

func testDip(t *testing.T) { dip(t, env.pair, func() {}) }

func testDipKilled(t *testing.T) {
	p := ownPair(t)
	dip(t, p, func() { p.killBoth(t) })
}
