package watch

import (
	"strconv"
	"testing"
	"time"
)

func TestPokeIsAnsweredAtOnce(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(1.7)
		b.set(func() { b.queues["redis/jobs"] = 1 })
		if got := b.Poke("shop", "worker"); got != 1 {
			t.Errorf("the poke reached %d streams, want 1", got)
		}
		b.at(1.8)
		b.want("announced", &c.heard, 1.7)
		b.want("read", &b.reads, 0.5, 1.5, 1.7)
	})
}

// A poke makes a full evaluation even of an empty queue and of an active policy:
// it may be what tells the record of a new reading.
func TestPokeEvaluatesAlways(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.watch("worker", policyOf("redis/jobs"))
		b.at(0.2)
		b.Poke("shop", "worker")
		b.at(0.3)
		b.want("evaluated", &b.evaluated, 0, 0.2)
		b.set(func() { b.queues["redis/jobs"], b.replicas = 1, 4 })
		b.at(2)
		b.Poke("shop", "worker")
		b.at(2.1)
		b.want("evaluated", &b.evaluated, 0, 0.2, 0.5, 2)
		if got := b.request(3).Outcomes; len(got) != 1 || got[0].Value != 1 {
			t.Errorf("evaluated with %v, want 1", got)
		}
	})
}

func TestPokeReachesAllStreamsOfTheObject(t *testing.T) {
	run(t, exact(), func(b *bench) {
		one, two := b.watch("worker", policyOf("redis/jobs")), b.watch("worker", policyOf("redis/mails"))
		other := b.watch("other", policyOf("redis/jobs"))
		b.at(0.1)
		b.set(func() { b.queues["redis/jobs"], b.queues["redis/mails"] = 1, 1 })
		for name, want := range map[string]int{"worker": 2, "nobody": 0} {
			if got := b.Poke("shop", name); got != want {
				t.Errorf("the poke of %s reached %d streams, want %d", name, got, want)
			}
		}
		if got := b.Poke("elsewhere", "worker"); got != 0 {
			t.Errorf("a poke of another namespace reached %d streams, want 0", got)
		}
		b.at(0.2)
		b.want("first announced", &one.heard, 0.1)
		b.want("second announced", &two.heard, 0.1)
		b.want("other announced", &other.heard)
	})
}

func TestPokeLimit(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.watch("worker", policyOf("redis/jobs"))
		b.watch("other", policyOf("redis/jobs"))
		obeyed := 0
		var last time.Duration
		for i := range 300 { // one per 10 ms, for 3 s
			b.at(float64(i) / 100)
			if b.Poke("shop", "worker") == 1 {
				obeyed++
				last = time.Since(b.born)
			}
		}
		if obeyed != 30 || last < 2*time.Second {
			t.Errorf("%d pokes obeyed in 3 s, the last at %v; want 30, spread over all of it", obeyed, last)
		}
		if b.Poke("shop", "other") != 1 {
			t.Error("one object's pokes used up another's")
		}
	})
}

// Whatever a hung server has been asked, pokes for another get through.
func TestPokeBesideAHungServer(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.hung["a"] = true })
		for i := range 100 {
			b.watch("a"+strconv.Itoa(i), policyOf(query("a/"+strconv.Itoa(i))))
		}
		c := b.watch("b", policyOf("b/jobs"))
		b.at(1)
		for i := range 100 {
			b.Poke("shop", "a"+strconv.Itoa(i))
		}
		b.set(func() { b.queues["b/jobs"] = 1 })
		b.at(1.1)
		b.Poke("shop", "b")
		b.at(1.2)
		b.want("announced", &c.heard, 1.1)
	})
}

// A poke while its own read is under way is not lost: what was pushed after that
// read began is read too.
func TestPokeDuringAPoke(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.watch("worker", policyOf("a/jobs"))
		b.at(0.1)
		b.set(func() { b.hung["a"] = true })
		b.Poke("shop", "worker")
		b.at(0.2)
		b.Poke("shop", "worker")
		b.set(func() { b.hung["a"] = false })
		b.at(4)
		// 0.1: hangs for 3 s, then the second poke. The ticks go on beside them.
		b.want("read", &b.reads, 0.1, 0.5, 1.5, 2.5, 3.1, 3.5)
	})
}
