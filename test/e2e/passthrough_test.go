//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"
)

// testPassThroughAsKEDA drives two Deployments over one trace, one by KEDA's own redis
// trigger and one by ours in pass-through, both under the HPA's default behavior. The
// counts are the same: its steps, its tolerance (104 jobs on 20 replicas change nothing)
// and its 300 s window.
func testPassThroughAsKEDA(t *testing.T) {
	ours, theirs := newWorkload(t, env.pair, 0), newWorkload(t, env.pair, 0)
	o := object{max: 30, polling: 5, cooldown: 300}
	o.triggers = []trigger{ours.dashpot("jobs", nil)}
	ours.apply(o)
	o.triggers = []trigger{theirs.keda("jobs")}
	theirs.apply(o)
	rOurs, rTheirs := ours.Record(), theirs.Record()
	for _, step := range []struct {
		jobs int
		wait time.Duration
	}{{37, time.Minute}, {100, time.Minute}, {104, 45 * time.Second}, {33, 6 * time.Minute}} {
		ours.Queue("jobs", step.jobs)
		theirs.Queue("jobs", step.jobs)
		time.Sleep(step.wait)
	}
	a, b := rOurs.History(), rTheirs.History()
	t.Logf("ours   %s", a)
	t.Logf("KEDA's %s", b)
	if !slices.Equal(a.Replicas(), b.Replicas()) {
		t.Errorf("ours went %v, KEDA's %v", a.Replicas(), b.Replicas())
	}
	if last := b.Replicas()[len(b)-1]; last != 7 {
		t.Errorf("KEDA's own ended at %d, want 7: the trace did not run as intended", last)
	}
}
