package watch

import (
	"testing"
	"time"
)

// One server answers a poke later than another: each answer is evaluated when it comes,
// with the last one of the other. A decision in between, by which the policy is as inactive
// as before, does not make them wait for each other.
func TestALateAnswerToAPokeIsEvaluated(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("a/jobs", "b/jobs"))
		b.at(0.6) // both were read at 0.5
		b.set(func() { b.lag["b"] = 100 * time.Millisecond })
		b.at(0.7)
		b.Poke("shop", "worker")
		b.at(0.75)
		b.set(func() { b.queues["b/jobs"] = 1 })
		b.at(0.9)
		b.want("evaluated", &b.evaluated, 0, 0.7, 0.8)
		b.want("announced", &c.heard, 0.8)
	})
}
