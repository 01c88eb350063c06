package watch

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// One replica is what runs.
func TestNothingIsAnnouncedOfOneReplica(t *testing.T) {
	var a announcer
	if a.hear(scaling.Decision{Active: true, Running: 1}, time.Unix(0, 0)) {
		t.Error("announced, though one replica runs")
	}
}

// A batch has 500 queries at most, unless one stream alone has more.
func TestBatches(t *testing.T) {
	for name, c := range map[string]struct{ streams, want []int }{ // queries of each
		"as many as there may be":    {slices.Repeat([]int{1}, 500), []int{500}},
		"one more":                   {slices.Repeat([]int{1}, 501), []int{500, 1}},
		"too many of one stream":     {[]int{501}, []int{501}},
		"of the second":              {[]int{1, 501}, []int{1, 501}},
		"two that fit together":      {[]int{250, 250}, []int{500}},
		"two that do not":            {[]int{250, 251}, []int{250, 251}},
		"of the first, then a small": {[]int{501, 1}, []int{501, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, exact(), func(b *bench) {
				for i, queries := range c.streams {
					var list []query
					for j := range queries {
						list = append(list, query("redis/"+strconv.Itoa(j)))
					}
					b.watch(strconv.Itoa(i), policyOf(list...))
				}
				b.at(1)
				b.set(func() {
					if !slices.Equal(b.batches, c.want) {
						t.Errorf("batches of %v, want %v", b.batches, c.want)
					}
				})
			})
		})
	}
}

// Of several streams in one batch, each gets its own answers.
func TestAnswersGoToWhomTheyAreOf(t *testing.T) {
	for _, busy := range []int{0, 1, 2} {
		run(t, exact(), func(b *bench) {
			var clients []*client
			for i := range 3 {
				clients = append(clients, b.watch(strconv.Itoa(i), policyOf(query("redis/"+strconv.Itoa(i)))))
			}
			b.set(func() { b.queues[query("redis/"+strconv.Itoa(busy))] = 7 })
			b.at(0.6)
			for i, c := range clients {
				if told := len(c.heard) > 0; told != (i == busy) {
					t.Errorf("queue %d has work: stream %d was told %v", busy, i, told)
				}
			}
			if got := b.request(3); got.Ref.Name != strconv.Itoa(busy) || got.Outcomes[0].Value != 7 {
				t.Errorf("evaluated %s with %v", got.Ref.Name, got.Outcomes)
			}
		})
	}
}

func TestTheEleventhPokeOfASecond(t *testing.T) {
	o, now := object{}, time.Unix(1000, 0)
	for range 10 {
		if !o.admit(now) {
			t.Fatal("one of the first ten is refused")
		}
	}
	if o.admit(now.Add(time.Second - 1)) {
		t.Error("the eleventh within a second is obeyed")
	}
	if !o.admit(now.Add(time.Second)) {
		t.Error("one a second later is refused")
	}
}

// When it is told to stop, Run ends the streams, and waits for what is being read.
func TestRunEndsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := newWorld()
		world.lag["redis"] = 2 * time.Second
		b := &bench{world: world, Watcher: New(world, world, exact()), t: t}
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Duration
		go func() {
			if err := b.Run(ctx); err != nil {
				t.Error(err)
			}
			b.set(func() { ended = time.Since(b.born) })
		}()
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(1)
		cancel()
		b.at(1.5)
		b.set(func() {
			if c.err != nil || c.ended != time.Second || ended != 0 {
				t.Errorf("the stream ended after %v with %v, Run after %v; want 1s, nil, and not yet", c.ended, c.err, ended)
			}
		})
		b.at(3)
		b.set(func() {
			if ended != 2500*time.Millisecond {
				t.Errorf("Run ended after %v; the read that began at 0.5 s takes 2 s", ended)
			}
		})
	})
}

// 32 evaluations run at once, the others wait.
func TestWorkersAreBounded(t *testing.T) {
	run(t, exact(), func(b *bench) {
		for i := range 40 {
			name := strconv.Itoa(i)
			b.set(func() { b.stuck[name] = true })
			b.watch(name, policyOf("redis/jobs"))
		}
		b.at(1)
		b.set(func() {
			if len(b.evaluated) != 32 {
				t.Errorf("%d evaluations are under way, want 32", len(b.evaluated))
			}
		})
	})
}

// A stream that is closed while it is evaluated leaves nothing behind.
func TestClosedWhileEvaluated(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.stuck["worker"] = true })
		c := b.watch("worker", policyOf("redis/jobs"))
		b.at(1)
		c.cancel()
		b.at(2.1) // the evaluation was given up at 2
		b.Watcher.mu.Lock()
		defer b.Watcher.mu.Unlock()
		if len(b.due) != 0 {
			t.Error("a closed stream is due again")
		}
	})
}

// What a server has answered while the policy was inactive counts until it answers anew.
func TestAnswersOutliveADecision(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", policyOf("a/jobs", "b/jobs"))
		b.at(0.7)
		b.Poke("shop", "worker") // decides, on two empty queues
		b.at(1)
		b.set(func() { b.hung["a"], b.queues["b/jobs"] = true, 1 })
		b.at(1.6)
		b.want("announced", &c.heard, 1.5)
	})
}

// What a server answered before the policy was active does not, however short that was.
func TestAnswersDoNotOutliveActivity(t *testing.T) {
	o := exact()
	o.ReadTimeout = 2700 * time.Millisecond
	run(t, o, func(b *bench) {
		b.watch("worker", policyOf("a/jobs", "b/jobs"))
		b.at(1)
		b.set(func() { b.queues["a/jobs"], b.replicas = 1, 4 })
		b.at(2)
		b.set(func() { b.queues["a/jobs"], b.hung["a"] = 0, true })
		b.at(6.6)
		b.want("evaluated", &b.evaluated, 0, 1.5, 6.5) // and inactive
		b.set(func() { b.queues["b/jobs"] = 1 })
		b.at(11)
		b.want("evaluated", &b.evaluated, 0, 1.5, 6.5, 10.2) // when a is given up
		if outcomes := b.request(3).Outcomes; outcomes[0].Err == nil || outcomes[1].Value != 1 {
			t.Errorf("evaluated with %v, want an error and 1", outcomes)
		}
	})
}

// While a client takes long to be told, one more announcement waits for it, and no more.
func TestAClientThatIsSlowToHear(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.set(func() { b.queues["redis/jobs"] = 1 })
		var heard []time.Duration
		ctx, cancel := context.WithCancel(b.t.Context())
		go func() {
			_ = b.Watch(ctx, refOf("worker"), policyOf("redis/jobs"), func() error {
				b.set(func() { heard = append(heard, time.Since(b.born)) })
				time.Sleep(10 * time.Second)
				return nil
			})
		}()
		b.at(8) // announced at 0, 1, 3 and 7
		b.set(func() { b.replicas = 1 })
		b.at(50)
		b.want("told", &heard, 0, 10)
		cancel()
	})
}

func TestOneProbePerServer(t *testing.T) {
	s := newStream(refOf("worker"), policyOf("a/jobs", "b/jobs", "a/more"))
	if len(s.probes) != 2 || !slices.Equal(s.probes[0].triggers, []int{0, 2}) || !slices.Equal(s.probes[1].triggers, []int{1}) {
		t.Errorf("%d probes", len(s.probes))
	}
}

func TestDefaults(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{-1: time.Minute, 0: time.Minute, 1: 1, time.Second: time.Second} {
		if got := (Options{InvalidCheck: given}).withDefaults().InvalidCheck; got != want {
			t.Errorf("%v becomes %v, want %v", given, got, want)
		}
	}
	if got := (Options{}).withDefaults().Life; got != 30*time.Minute {
		t.Errorf("a stream lives %v", got)
	}
}

// A scheduler that is busy finds out afterwards that it was woken.
func TestAWakeIsNotLost(t *testing.T) {
	w := New(nil, nil, exact())
	w.wakeUp()
	w.wakeUp()
	if len(w.wake) == 0 {
		t.Error("nobody was listening, and nobody will know")
	}
}

// A stream's place in the interval is one of 20, by chance.
func TestPhases(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 0, 0.049: 0, 0.26: 250 * time.Millisecond, 0.28: 250 * time.Millisecond, 0.5: 500 * time.Millisecond, 0.999: 950 * time.Millisecond} {
		w := New(nil, nil, Options{Interval: time.Second + 19, Random: func() float64 { return random }})
		if s, _ := w.open(refOf("worker"), policyOf("redis/jobs")); s.phase != want {
			t.Errorf("random %v: at %v, want %v", random, s.phase, want)
		}
	}
}

// A costly server is not asked more often than any other, however short its interval.
func TestACostlySourceIsNotReadMoreOften(t *testing.T) {
	run(t, exact(), func(b *bench) {
		p := policyOf("prometheus/requests")
		p.Triggers[0].Costly, p.Interval = true, 100*time.Millisecond
		b.watch("worker", p)
		b.at(2)
		b.want("read", &b.reads, 0.5, 1.5)
	})
}

// While it is evaluated, a stream is not read.
func TestTicksWaitForAnEvaluation(t *testing.T) {
	run(t, exact(), func(b *bench) {
		b.watch("worker", policyOf("redis/jobs"))
		b.at(1)
		b.set(func() { b.queues["redis/jobs"], b.stuck["worker"] = 1, true })
		b.at(3.4) // the evaluation of 1.5 is given up at 3.5
		b.want("read", &b.reads, 0.5, 1.5)
	})
}
