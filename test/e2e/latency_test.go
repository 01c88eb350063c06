//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testLatency prints, and does not judge, how long a first job waits for a replica: by
// external-push and a poke, by external-push alone, and by KEDA's own trigger polled
// every second.
func testLatency(t *testing.T) {
	const runs = 10
	poked := newWorkload(t, env.pair, 0)
	pushed := newWorkload(t, env.pair, 0)
	polled := newWorkload(t, env.pair, 0)
	o := object{max: 20, polling: 1, cooldown: 1, behavior: transparent}
	metadata := map[string]string{"cooldownPeriod": "1", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 0}"}
	for w, tr := range map[*workload]trigger{
		poked: poked.dashpot("jobs", metadata), pushed: pushed.dashpot("jobs", metadata), polled: polled.keda("jobs"),
	} {
		o.triggers = []trigger{tr}
		w.apply(o)
	}
	time.Sleep(5 * time.Second)
	poke := func(w *workload) {
		if _, err := scenario.Post(t.Context(), fmt.Sprintf("http://%s/v1/poke/%s/%s", env.pair.HTTPAddr(0), w.Namespace, scenario.Worker)); err != nil {
			t.Errorf("poke: %v", err)
		}
	}
	t.Logf("push to replica 1 over %d runs:", runs)
	for _, c := range []struct {
		name string
		w    *workload
		poke func(*workload)
	}{
		{"external-push and poke", poked, poke},
		{"external-push", pushed, func(*workload) {}},
		{"KEDA's redis trigger, pollingInterval 1", polled, func(*workload) {}},
	} {
		var took []time.Duration
		for run := range runs {
			time.Sleep(time.Duration(run) * 97 * time.Millisecond) // any phase of a poll
			took = append(took, timeToOne(c.w, c.poke))
		}
		slices.Sort(took)
		t.Logf("%-42s min %4d ms, median %4d ms, max %4d ms", c.name, took[0].Milliseconds(), took[runs/2].Milliseconds(), took[runs-1].Milliseconds())
	}
}

// timeToOne pushes a job to a sleeping workload, waits for its first replica, and puts
// it back to sleep.
func timeToOne(w *workload, poke func(*workload)) time.Duration {
	w.T.Helper()
	start := time.Now()
	w.Queue("jobs", 1)
	poke(w)
	first := w.Await(1, time.Minute)
	w.Queue("jobs", 0)
	w.Await(0, time.Minute)
	return first.Sub(start)
}
