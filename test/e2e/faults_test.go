//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testSourceHangs stops the source for two minutes while 6 replicas work: 6
// throughout, and a spike after it is served at once.
func testSourceHangs(t *testing.T) {
	w := newWorkload(t, env.pair, 6)
	w.Queue("jobs", 30)
	o := stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "20", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 20}",
	}))
	if hpaSync < 15*time.Second {
		o.polling, o.cooldown = 1, 2 // the closed-cache race of KEDA 2.21 shows here
	} else {
		o.polling, o.cooldown = 30, 60
	}
	w.apply(o)
	r := w.Record()
	w.Steady(r, 2*hpaSync+5*time.Second, 6)
	w.Redis.Suspend()
	w.Steady(r, 2*time.Minute, 6)
	w.Redis.Resume()
	w.Queue("jobs", 100)
	spike := time.Now()
	at := w.Await(20, time.Minute)
	t.Logf("spike served after %v", at.Sub(spike).Round(100*time.Millisecond))
	w.Expect(r, 6, 20)
}

// testBadMetadataAtZero: an Event names the wrong key, and the healthy second trigger
// scales.
func testBadMetadataAtZero(t *testing.T) {
	w := newWorkload(t, env.pair, 0)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{"listLength": "many"}), w.keda("others")))
	w.awaitEvent("listLength")
	w.Queue("others", 50)
	w.Await(10, time.Minute)
}

// testBadMetadataAtFour: a policy that turns bad while 4 replicas work shrinks nothing,
// and the healthy second trigger still scales up.
func testBadMetadataAtFour(t *testing.T) {
	w := newWorkload(t, env.pair, 4)
	good := w.dashpot("jobs", map[string]string{"cooldownPeriod": "5", "behavior": "scaleDown: {stabilizationWindowSeconds: 5}"})
	w.Queue("jobs", 20)
	w.apply(stabilised(good, w.keda("others")))
	r := w.Record()
	// KEDA 2.21 takes a poll during which its object is edited for one that found no work. If
	// it is the first, no cooldown holds it either: 4 → 0.
	w.awaitActive()
	w.Steady(r, 10*time.Second, 4)
	bad := w.dashpot("jobs", map[string]string{"cooldownPeriod": "5", "behavior": "scaleDown: {stabilisationWindowSeconds: 5}"})
	w.apply(stabilised(bad, w.keda("others")))
	w.awaitEvent("stabilisationWindowSeconds")
	w.Queue("jobs", 0)
	w.Steady(r, 30*time.Second, 4)
	w.Queue("others", 50)
	w.Await(10, time.Minute)
	w.Expect(r, 4, 10)
}

// awaitActive waits until KEDA has seen work.
func (w *workload) awaitActive() {
	w.T.Helper()
	keda := kedaSide{w.T, w.Namespace}
	for deadline := time.Now().Add(kedaLimit); keda.condition(scenario.Worker, "Active") != metav1.ConditionTrue; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.T.Fatal("KEDA does not call the object active")
		}
	}
}

// awaitEvent waits for an Event of ours on the ScaledObject that contains a text.
func (w *workload) awaitEvent(text string) {
	w.T.Helper()
	var seen []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		events, err := env.cluster.Events(w.T.Context(), w.Namespace, "ScaledObject", scenario.Worker)
		if err != nil {
			w.T.Fatal(err)
		}
		seen = nil
		for _, e := range events {
			seen = append(seen, e.Source.Component+e.ReportingController+" "+e.Reason+": "+e.Message)
			if e.Reason == "InvalidPolicy" && strings.Contains(e.Message, text) {
				return
			}
		}
	}
	w.T.Errorf("no Event InvalidPolicy with %q; seen:\n%s", text, strings.Join(seen, "\n"))
}

// testAdopted: a new ScaledObject over 3 running pods with an empty queue keeps them
// for its cooldown.
func testAdopted(t *testing.T) {
	w := newWorkload(t, env.pair, 3)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "30", "behavior": "scaleDown: {stabilizationWindowSeconds: 30}",
	})))
	r := w.Record()
	w.Steady(r, 28*time.Second, 3)
	w.Await(0, time.Minute)
	w.Expect(r, 3, 1, 0)
}

// testFlushAll empties Dashpot's own Redis: what sleeps stays asleep, what works keeps
// its replicas, and a job afterwards still wakes.
func testFlushAll(t *testing.T) {
	p := ownPair(t)
	asleep, busy := newWorkload(t, p, 0), newWorkload(t, p, 6)
	metadata := map[string]string{"cooldownPeriod": "20", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 20}"}
	busy.Queue("jobs", 30)
	asleep.apply(stabilised(asleep.dashpot("jobs", metadata)))
	busy.apply(stabilised(busy.dashpot("jobs", metadata)))
	rAsleep, rBusy := asleep.Record(), busy.Record()
	asleep.Steady(rAsleep, 10*time.Second, 0)
	for range 3 {
		flush(t, p)
		asleep.Steady(rAsleep, 5*time.Second, 0)
	}
	busy.Queue("jobs", 0)
	flush(t, p)
	p.killBoth(t) // nobody remembers anything
	flush(t, p)
	asleep.Steady(rAsleep, 5*time.Second, 0)
	busy.Steady(rBusy, 10*time.Second, 6)
	asleep.Queue("jobs", 1)
	asleep.Await(1, 30*time.Second)
}

// flush empties Dashpot's own Redis.
func flush(t *testing.T, p *pair) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: p.state.Addr()})
	defer func() { _ = client.Close() }()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
