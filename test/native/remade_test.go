//go:build e2e

package native_test

import (
	"testing"
	"time"
)

// testObjectsMadeAgain deletes the HPA and the StabilizedMetric of 12 working replicas
// and makes them again within 5 s: 12 throughout.
func testObjectsMadeAgain(t *testing.T) { remade(t, statusLimit, func() {}) }

// testObjectsMadeAgainKilled is the same with both adapters killed meanwhile,
// whose Lease has to expire before a status is written again.
func testObjectsMadeAgainKilled(t *testing.T) { remade(t, successionLimit, func() { killBoth(t) }) }

func remade(t *testing.T, limit time.Duration, disturb func()) {
	w := newWorkload(t, 12)
	w.Queue(jobs, 60)
	apply := func() {
		w.apply(metric{name: jobs, cooldown: 10, up: jumpUp, down: jumpDown})
		w.scale(transparent())
	}
	r := w.Record()
	apply()
	w.awaitDecided(jobs, 12)
	w.Steady(r, 3*hpaSync, 12)
	w.remove()
	disturb()
	apply()
	w.awaitDecidedWithin(limit, jobs, 12)
	w.Steady(r, 20*time.Second, 12)
}
