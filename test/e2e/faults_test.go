//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// testSourceHangs stops the source for two minutes while 6 replicas work: 6
// throughout, and a spike after it is served at once.
func testSourceHangs(t *testing.T) {
	w := newWorkload(t, env.pair, 6)
	w.queue("jobs", 30)
	o := stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "20", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 20}",
	}))
	if hpaSync < 15*time.Second {
		o.polling, o.cooldown = 1, 2 // the closed-cache race of KEDA 2.21 shows here
	} else {
		o.polling, o.cooldown = 30, 60
	}
	w.apply(o)
	r := w.record()
	w.steady(r, 6, 2*hpaSync+5*time.Second)
	w.redis.Suspend()
	w.steady(r, 6, 2*time.Minute)
	w.redis.Resume()
	w.queue("jobs", 100)
	spike := time.Now()
	at := w.await(20, hpaSync+8*time.Second) // a sync, and one more attempt to read
	t.Logf("spike served after %v", at.Sub(spike).Round(100*time.Millisecond))
	w.expect(r, 6, 20)
}

// testBadMetadataAtZero: an Event names the wrong key, and the healthy second trigger
// scales.
func testBadMetadataAtZero(t *testing.T) {
	w := newWorkload(t, env.pair, 0)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{"listLength": "many"}), w.keda("others")))
	w.awaitEvent("listLength")
	w.queue("others", 50)
	w.await(10, time.Minute)
}

// testBadMetadataAtFour: a policy that turns bad while 4 replicas work shrinks nothing,
// and the healthy second trigger still scales up.
func testBadMetadataAtFour(t *testing.T) {
	w := newWorkload(t, env.pair, 4)
	good := w.dashpot("jobs", map[string]string{"cooldownPeriod": "5", "behavior": "scaleDown: {stabilizationWindowSeconds: 5}"})
	w.queue("jobs", 20)
	w.apply(stabilised(good, w.keda("others")))
	r := w.record()
	w.steady(r, 4, 10*time.Second)
	bad := w.dashpot("jobs", map[string]string{"cooldownPeriod": "5", "behavior": "scaleDown: {stabilisationWindowSeconds: 5}"})
	w.apply(stabilised(bad, w.keda("others")))
	w.awaitEvent("stabilisationWindowSeconds")
	w.queue("jobs", 0)
	w.steady(r, 4, 30*time.Second)
	w.queue("others", 50)
	w.await(10, time.Minute)
	w.expect(r, 4, 10)
}

// awaitEvent waits for an Event of ours on the ScaledObject that contains a text.
func (w *workload) awaitEvent(text string) {
	w.t.Helper()
	var seen []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		events, err := env.cluster.Events(w.t.Context(), w.namespace, "ScaledObject", worker)
		if err != nil {
			w.t.Fatal(err)
		}
		seen = nil
		for _, e := range events {
			seen = append(seen, e.Source.Component+e.ReportingController+" "+e.Reason+": "+e.Message)
			if e.Reason == "InvalidPolicy" && strings.Contains(e.Message, text) {
				return
			}
		}
	}
	w.t.Errorf("no Event InvalidPolicy with %q; seen:\n%s", text, strings.Join(seen, "\n"))
}

// testAdopted: a new ScaledObject over 3 running pods with an empty queue keeps them
// for its cooldown.
func testAdopted(t *testing.T) {
	w := newWorkload(t, env.pair, 3)
	w.apply(stabilised(w.dashpot("jobs", map[string]string{
		"cooldownPeriod": "30", "behavior": "scaleDown: {stabilizationWindowSeconds: 30}",
	})))
	r := w.record()
	w.steady(r, 3, 28*time.Second)
	w.await(0, time.Minute)
	w.expect(r, 3, 1, 0)
}

// testFlushAll empties Dashpot's own Redis: what sleeps stays asleep, what works keeps
// its replicas, and a job afterwards still wakes.
func testFlushAll(t *testing.T) {
	p := ownPair(t)
	asleep, busy := newWorkload(t, p, 0), newWorkload(t, p, 6)
	metadata := map[string]string{"cooldownPeriod": "20", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 20}"}
	busy.queue("jobs", 30)
	asleep.apply(stabilised(asleep.dashpot("jobs", metadata)))
	busy.apply(stabilised(busy.dashpot("jobs", metadata)))
	rAsleep, rBusy := asleep.record(), busy.record()
	asleep.steady(rAsleep, 0, 10*time.Second)
	for range 3 {
		flush(t, p)
		asleep.steady(rAsleep, 0, 5*time.Second)
	}
	busy.queue("jobs", 0)
	flush(t, p)
	p.killBoth(t) // nobody remembers anything
	flush(t, p)
	asleep.steady(rAsleep, 0, 5*time.Second)
	busy.steady(rBusy, 6, 10*time.Second)
	asleep.queue("jobs", 1)
	asleep.await(1, 30*time.Second)
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
