//go:build e2e

package native_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

const (
	// gliding is how many seconds without work take a workload to zero. It comes down
	// to one pod before that if the HPA looks every 2 s.
	gliding = 60
	// ratePeriod is that of the policy by which it comes down.
	ratePeriod = 15 * time.Second
)

// testGlide takes a workload from 0 to exactly 8 by 37 jobs at 5 per replica, back to
// 0 by a policy and a cooldown, and up again.
func testGlide(t *testing.T) {
	w := newWorkload(t, 1)
	r, empty := w.glide(func() {})
	down := r.History()
	w.checkCooldown(empty, down[len(down)-2].At, down[len(down)-1].At)
	w.Queue(jobs, 37)
	w.Await(8, time.Minute)
	w.Expect(r, append(down.Replicas(), 8)...)
}

// testGlideDisturbed takes the same way while both adapters are killed and started
// again, their Redis is restarted without its data and stopped for a while, and so is
// the queue's.
func testGlideDisturbed(t *testing.T) {
	w := newWorkload(t, 1)
	w.glide(func() {
		killBoth(t)
		time.Sleep(2 * hpaSync) // long enough to be asked, and so to remember
		env.state.Restart()
		time.Sleep(hpaSync)
		for _, server := range []*redistest.Server{env.state, w.Redis} {
			server.Suspend()
			time.Sleep(5 * time.Second)
			server.Resume()
		}
	})
}

// glide goes from 0 to 8 and back to 0, and is disturbed half way down. It returns
// the record of it, and when the queue was emptied.
func (w *workload) glide(disturb func()) (r *cluster.Recorder, empty time.Time) {
	w.T.Helper()
	pods, down := 2, []int32{6, 4, 2, 1, 0}
	if hpaSync > 2*time.Second { // each step may take two syncs: fewer and larger ones
		pods, down = 4, []int32{4, 1, 0}
	}
	policy := fmt.Sprintf(`scaleDown: {tolerance: "0", stabilizationWindowSeconds: 5, policies: [{type: Pods, value: %d, periodSeconds: %g}]}`, pods, ratePeriod.Seconds())
	w.apply(metric{name: jobs, cooldown: 5, up: jumpUp, down: policy})
	w.scale(transparent())
	w.Await(0, 2*time.Minute)
	w.apply(metric{name: jobs, cooldown: gliding, up: jumpUp, down: policy})

	r = w.Record()
	w.Queue(jobs, 37)
	w.Await(8, time.Minute)
	// As in every HPA, pods that were added within a policy's period may go at once.
	w.Steady(r, max(3*hpaSync, ratePeriod+time.Second), 0, 8)

	empty = time.Now()
	w.Queue(jobs, 0)
	w.Await(4, 3*time.Minute)
	disturb()
	w.Await(0, 5*time.Minute)
	checkSteps(w.T, w.Expect(r, append([]int32{0, 8}, down...)...)[1:])
	return r, empty
}

// checkSteps checks that steps down are a period apart, the last excepted, which the
// cooldown decides.
func checkSteps(t *testing.T, down cluster.History) {
	t.Helper()
	for i := 2; i+1 < len(down); i++ {
		if apart := down[i].At.Sub(down[i-1].At); apart < ratePeriod-500*time.Millisecond {
			t.Errorf("%d follows %d after %v, want %v at least", down[i].Replicas, down[i-1].Replicas, apart, ratePeriod)
		}
	}
}

// checkCooldown checks that the cooldown began when there was work last, and that zero
// did not come before it was over. How long after depends on the next sync and on the
// machine: it is printed.
func (w *workload) checkCooldown(empty, one, zero time.Time) {
	w.T.Helper()
	var last scaling.Explanation
	for _, d := range w.decisions(jobs) {
		if d.At.After(last.At) {
			last = d
		}
	}
	if last.Cooldown == nil {
		w.T.Fatalf("no cooldown in the decision at zero\n%s", w.Explain())
	}
	// Work is last seen at the last sync before, which a busy machine may have delayed.
	const interval, rounding = time.Second, 100 * time.Millisecond
	from := last.Cooldown.LastActive
	if from.Before(empty.Add(-3*hpaSync-interval)) || from.After(empty.Add(rounding)) {
		w.T.Errorf("the cooldown counts from %v, but the queue was emptied at %v", from, empty)
	}
	over := from.Add(gliding * time.Second)
	if zero.Before(over) {
		w.T.Errorf("zero %v before the cooldown was over", over.Sub(zero))
	}
	if one.After(over) {
		over = one
	}
	w.T.Logf("zero %.1f s after the last work and %.1f s after it was due, cooldown %d s",
		zero.Sub(from).Seconds(), zero.Sub(over).Seconds(), gliding)
}

// killBoth kills both adapters at once and starts them again a second later.
func killBoth(t *testing.T) {
	t.Helper()
	for i := range env.adapters.Count() {
		env.adapters.Kill(i)
	}
	time.Sleep(time.Second)
	for i := range env.adapters.Count() {
		if err := env.adapters.Restart(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// decisionsOf asks adapter i for its last decisions: all, or those below a path.
func decisionsOf(t *testing.T, i int, path string) []scaling.Explanation {
	t.Helper()
	answer, err := scenario.Get(t.Context(), fmt.Sprintf("http://%s/v1/policies%s", env.adapters.HTTPAddr(i), path))
	if err != nil {
		return nil // it was never asked about this one
	}
	var list struct {
		Policies []scaling.Explanation `json:"policies"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return list.Policies
}
