package watch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// With exact(), the random phase is half an interval: ticks are at 0.5, 1.5, 2.5 ….

func TestEdgeIsAnnouncedAtTheNextTick(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(3)
		b.want("evaluated", &b.evaluated, 0)
		b.want("read", &b.reads, 0.5, 1.5, 2.5)
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.at(3.6)
		b.want("announced", &c.heard, 3.5)
		b.want("evaluated", &b.evaluated, 0, 3.5)
		if got, want := b.request(1).Outcomes, []scaling.Outcome{{Value: 1}}; !slices.Equal(got, want) {
			t.Errorf("evaluated with outcomes %v, want %v", got, want)
		}
	})
}

func TestOnlyAValueAboveTheThresholdIsEvaluated(t *testing.T) {
	run(t, exact(), func(b *bench) {
		p := policyOf("redis/jobs")
		p.Triggers[0].Activation = 5
		b.watch("worker", p)
		b.set(func() { b.queues["redis/jobs"] = 5 })
		b.at(10)
		b.want("evaluated", &b.evaluated, 0)
		b.set(func() { b.queues["redis/jobs"] = 5.001 })
		b.at(10.6)
		b.want("evaluated", &b.evaluated, 0, 10.5)
	})
}

// A server that costs much to ask is asked at the policy's own interval: every 15 s,
// at half of it by the phase.
func TestACostlySourceIsReadAtItsInterval(t *testing.T) {
	run(t, exact(), func(b *bench) {
		p := policyOf("prometheus/requests")
		p.Triggers[0].Costly, p.Interval = true, 15*time.Second
		c := b.watch("worker", p)
		b.at(30)
		b.want("read", &b.reads, 7.5, 22.5)
		b.set(func() { b.queues["prometheus/requests"] = 1 })
		b.at(38)
		b.want("read", &b.reads, 7.5, 22.5, 37.5)
		b.want("announced", &c.heard, 37.5)
	})
}

// What cannot be read is not work, and not a reason to stop reading.
func TestAFailingSourceIsReadOn(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.broken["redis/jobs"], b.queues["redis/jobs"], b.err = true, 1, errors.New("not read") })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(3)
		b.want("evaluated", &b.evaluated, 0)
		b.set(func() { b.broken["redis/jobs"], b.err = false, nil })
		b.at(3.6)
		b.want("read", &b.reads, 0.5, 1.5, 2.5, 3.5)
		b.want("announced", &c.heard, 3.5)
	})
}

func TestRepeatsWhileNothingRuns(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(100)
		b.want("announced", &c.heard, 0, 1, 3, 7, 15, 31, 61, 91)
		b.want("read", &b.reads)
	})
}

func TestNothingIsAnnouncedWhileItRuns(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.set(func() { b.replicas = 4 })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(21)
		b.want("announced", &c.heard)
		b.want("evaluated", &b.evaluated, 0, 5, 10, 15, 20)
		b.want("read", &b.reads)
	})
}

func TestReadsAgainOnceInactive(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.set(func() { b.replicas = 4 })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(7)
		b.set(func() { b.queues["redis/jobs"], b.replicas = 0, 0 })
		b.at(12)
		b.want("evaluated", &b.evaluated, 0, 5, 10)
		b.want("read", &b.reads, 10.5, 11.5)
		b.set(func() { b.queues["redis/jobs"] = 2 })
		b.at(13)
		b.want("announced", &c.heard, 12.5)
	})
}

func TestAFailedDecisionIsRetriedEverySecond(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.set(func() { b.err = errors.New("store unreachable") })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(3)
		b.want("evaluated", &b.evaluated, 0, 0.5, 1.5, 2.5)
		b.set(func() { b.err = nil })
		b.at(3.6)
		b.want("announced", &c.heard, 3.5)
	})
}

func TestAnInvalidPolicyKeepsItsStream(t *testing.T) {
	run(t, exact(), func(b *bench) {
		p := policyOf("redis/jobs")
		p.Invalid = scaling.ErrBadPolicy
		c := b.watch("worker", p)
		b.Poke("shop", "worker")
		b.at(29*60 + 1)
		b.set(func() {
			if want := 29 + 1; len(b.evaluated) != want {
				t.Errorf("%d evaluations in 29 min, want one per minute", len(b.evaluated))
			}
		})
		b.want("read", &b.reads)
		b.want("announced", &c.heard)
		if c.ended != 0 {
			t.Errorf("the stream ended after %v", c.ended)
		}
	})
}

func TestStreamLife(t *testing.T) {
	for random, minutes := range map[float64]float64{0: 27, 0.5: 30, 0.999999: 33} {
		run(t, Options{Random: func() float64 { return random }}, func(b *bench) {
			c := b.watch("worker", policyOf("redis/jobs"))
			b.at(34 * 60)
			if c.err != nil || c.ended.Round(time.Second).Minutes() != minutes {
				t.Errorf("random %v: ended after %v with %v, want %v min and nil", random, c.ended, c.err, minutes)
			}
		})
	}
}

// A stream whose evaluation is under way ends on time all the same.
func TestStreamLifeWhileStuck(t *testing.T) {
	o := exact()
	o.Life, o.EvaluateTimeout = 10*time.Second, time.Hour
	run(t, o, func(b *bench) {
		b.set(func() { b.stuck["worker"] = true })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(11)
		if c.err != nil || c.ended != 10*time.Second {
			t.Errorf("ended after %v with %v, want 10s and nil", c.ended, c.err)
		}
	})
}

func TestEndOfStreams(t *testing.T) {
	run(t, exact(), func(b *bench) {
		var clients []*client
		for i := range 3 {
			clients = append(clients, b.watch("worker"+strconv.Itoa(i), policyOf("redis/jobs")))
		}
		b.at(2)
		b.Shutdown()
		b.Shutdown() // before any handler has returned
		synctest.Wait()
		for i, c := range clients {
			if c.err != nil || c.ended != 2*time.Second {
				t.Errorf("stream %d ended after %v with %v, want 2s and nil", i, c.ended, c.err)
			}
		}
		late := b.watch("late", policyOf("redis/jobs"))
		if late.ended != 2*time.Second || late.err != nil {
			t.Errorf("a stream after Shutdown ended after %v with %v, want 2s and nil", late.ended, late.err)
		}
		b.at(5)
		b.Watcher.mu.Lock()
		defer b.Watcher.mu.Unlock()
		if len(b.objects) != 0 || len(b.due) != 0 || len(b.lanes) != 0 {
			t.Errorf("left behind: %d objects, %d due, %d lanes", len(b.objects), len(b.due), len(b.lanes))
		}
	})
}

func TestSendErrorEndsTheStream(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		broken := errors.New("broken pipe")
		c := b.watchAs(&client{refuse: broken}, "worker", policyOf("redis/jobs"))
		b.at(5)
		if !errors.Is(c.err, broken) || len(c.heard) != 1 {
			t.Errorf("ended with %v after %d sends, want %v after 1", c.err, len(c.heard), broken)
		}
		b.want("evaluated", &b.evaluated, 0)
	})
}

func TestClientGone(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(2)
		c.cancel()
		synctest.Wait()
		b.Watcher.mu.Lock()
		if len(b.due) != 0 || len(b.objects) != 0 {
			t.Error("a closed stream is kept")
		}
		b.Watcher.mu.Unlock()
		b.at(5)
		if !errors.Is(c.err, context.Canceled) {
			t.Errorf("ended with %v, want %v", c.err, context.Canceled)
		}
		b.want("read", &b.reads, 0.5, 1.5)
	})
}

func TestAClosedStreamIsNotEvaluated(t *testing.T) {
	run(t, exact(), func(b *bench) {
		for i := range workers {
			name := "bad" + strconv.Itoa(i)
			b.set(func() { b.stuck[name] = true })
			b.watch(name, policyOf("redis/bad"))
		}
		b.watch("worker", policyOf("redis/jobs")).cancel() // its evaluation waits for a worker
		b.at(5)
		for i := range b.evaluated {
			if name := b.request(i).Ref.Name; name == "worker" {
				t.Errorf("%s was evaluated", name)
			}
		}
	})
}

// There is one evaluation of a stream at a time; what is read meanwhile is evaluated
// after it.
func TestReadWhileEvaluating(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.stuck["worker"] = true })
		b.watch("worker", policyOf("redis/jobs"))
		b.at(0.1)
		b.Poke("shop", "worker")
		b.at(1)
		b.want("evaluated", &b.evaluated, 0)
		b.set(func() { b.stuck["worker"] = false })
		b.at(2.1)
		b.want("evaluated", &b.evaluated, 0, 2)
	})
}

// A read that comes back after the policy has become active has nothing to say.
func TestALateReadIsIgnored(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.watch("worker", policyOf("redis/jobs"))
		b.set(func() { b.lag["redis"] = 2 * time.Second })
		b.at(0.6)
		b.set(func() { b.lag["redis"], b.queues["redis/jobs"], b.replicas = 0, 1, 4 })
		b.Poke("shop", "worker")
		b.at(5)
		b.want("read", &b.reads, 0.5, 0.6)
		b.want("evaluated", &b.evaluated, 0, 0.6)
	})
}

func TestManyIdleStreams(t *testing.T) {
	run(t, Options{}, func(b *bench) {
		const streams = 10_000
		for i := range streams {
			ctx := b.t.Context()
			go func() { _ = b.Watch(ctx, refOf(strconv.Itoa(i)), policyOf(query("redis/"+strconv.Itoa(i))), nil) }()
		}
		b.at(10)
		goroutines := runtime.NumGoroutine()
		b.set(func() { b.batches = nil })
		b.at(11)
		b.Shutdown()
		synctest.Wait()
		// 20 slots of about 500; a slot of more than 500 is two batches.
		if got := len(b.batches); got < slots || got > 2*slots {
			t.Errorf("%d batches in a second, want %d to %d", got, slots, 2*slots)
		}
		total := 0
		for _, size := range b.batches {
			total += size
			if size > 500 {
				t.Errorf("a batch of %d queries, want 500 at most", size)
			}
		}
		if total != streams {
			t.Errorf("%d queries in a second, want %d", total, streams)
		}
		if goroutines > streams+50 {
			t.Errorf("%d goroutines for %d streams", goroutines, streams)
		}
		if len(b.evaluated) != streams {
			t.Errorf("%d evaluations, want one per stream", len(b.evaluated))
		}
	})
}
