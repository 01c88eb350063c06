package scaling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// fakeStore is a map with a clock that a test may bend.
type fakeStore struct {
	mu   sync.Mutex
	data map[Key]Loaded
	skew time.Duration
	err  error
	// readOnly: loads work and swaps do not.
	readOnly bool
	tokens   int
	loads    int
	ttl      time.Duration // of the last swap
	before   func()        // runs once before the next swap
}

func newFakeStore() *fakeStore { return &fakeStore{data: map[Key]Loaded{}} }

func (s *fakeStore) Load(_ context.Context, key Key) (*Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	l := s.data[key]
	l.Now = time.Now().Add(s.skew)
	return &l, s.err
}

func (s *fakeStore) Swap(_ context.Context, key Key, version Version, next Record, ttl time.Duration) (bool, error) {
	if s.before != nil {
		before := s.before
		s.before = nil
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.readOnly {
		return false, errors.Join(s.err, errors.New("read only"))
	}
	if s.data[key].Version != version {
		return false, nil
	}
	s.tokens++
	s.ttl = ttl
	s.data[key] = Loaded{Record: &next, Version: Version(fmt.Sprint(s.tokens))}
	return true, nil
}

func (s *fakeStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// fakeSource answers what it is told to, or hangs until the read is given up.
type fakeSource struct {
	mu    sync.Mutex
	value map[string]float64
	hung  map[string]bool
	reads map[string]int
}

func newFakeSource() *fakeSource {
	return &fakeSource{value: map[string]float64{}, hung: map[string]bool{}, reads: map[string]int{}}
}

func (s *fakeSource) Read(ctx context.Context, queries []Query) []Outcome {
	server := queries[0].Server()
	s.mu.Lock()
	s.reads[server]++
	hung, value := s.hung[server], s.value[server]
	s.mu.Unlock()
	outcomes := make([]Outcome, len(queries))
	for i := range outcomes {
		outcomes[i] = Outcome{Value: value}
		if hung {
			outcomes[i] = Outcome{Err: errors.New("timed out")}
		}
	}
	if hung {
		<-ctx.Done()
	}
	return outcomes
}

func (s *fakeSource) set(server string, value float64, hung bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value[server], s.hung[server] = value, hung
}

func (s *fakeSource) count(server string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[server]
}

// fakeObserver shows one workload.
type fakeObserver struct {
	mu  sync.Mutex
	obs Observation
	err error
}

func (o *fakeObserver) Observe(context.Context, Ref, string) (Observation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.obs, o.err
}

func (o *fakeObserver) replicas(n int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.obs.Spec != n {
		o.obs.Revision++
	}
	o.obs.Spec, o.obs.Status = n, n
}

type rig struct {
	store    *fakeStore
	source   *fakeSource
	observer *fakeObserver
	*Evaluator
}

func newRig(p int32) *rig {
	r := &rig{store: newFakeStore(), source: newFakeSource(), observer: &fakeObserver{obs: Observation{
		Target: "apps/Deployment/worker", Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true, Spec: p, Status: p, Revision: 1,
	}}}
	r.Evaluator = r.replica()
	return r
}

// replica is another process on the same store.
func (r *rig) replica() *Evaluator {
	return NewEvaluator(Options{Source: r.source, Store: r.store, Observer: r.observer})
}

func request(server string) Request {
	b := algorithm.DefaultBehavior()
	b.ScaleDown.Window = time.Minute
	b.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 100000, Period: time.Second}}
	return Request{Ref: Ref{KindScaledObject, "shop", server}, Policy: &Policy{
		Metric: "m", Target: 1000, Behavior: &b, Cooldown: time.Minute, Interval: 5 * time.Second,
		Triggers: []Trigger{{Type: "fake", Target: 5000, Query: fakeQuery{server, "jobs at " + server}}},
	}}
}

func wantReplicas(t *testing.T, d Decision, want int32) {
	t.Helper()
	if d.Err != nil || d.Replicas != want {
		t.Errorf("got %d (%v), want %d: %s", d.Replicas, d.Err, want, d.Why())
	}
}

func TestOneReadPerIntervalHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		r.source.set("a", 37, false)
		for range 4 {
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() { wantReplicas(t, r.Evaluate(t.Context(), request("a")), 8) })
			}
			wg.Wait()
			time.Sleep(5 * time.Second)
		}
		if n := r.source.count("a"); n != 4 {
			t.Errorf("%d reads in 4 intervals, want 4", n)
		}
	})
}

func TestReadingsAreSharedByReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		r.source.set("a", 37, false)
		other := r.replica()
		r.Evaluate(t.Context(), request("a"))
		time.Sleep(4 * time.Second)
		wantReplicas(t, other.Evaluate(t.Context(), request("a")), 8)
		if n := r.source.count("a"); n != 1 {
			t.Errorf("%d reads, want 1: the second replica has the first one's reading", n)
		}
	})
}

func TestAHungSourceCostsOneCallerItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(6)
		r.source.set("a", 30, false)
		r.source.set("b", 30, false)
		r.Evaluate(t.Context(), request("a"))
		r.source.set("a", 0, true)
		took := func(server string) time.Duration {
			start := time.Now()
			d := r.Evaluate(t.Context(), request(server))
			wantReplicas(t, d, 6)
			if !d.Active {
				t.Errorf("%s: inactive", server)
			}
			return time.Since(start)
		}
		time.Sleep(5 * time.Second)
		if d := took("a"); d != 500*time.Millisecond {
			t.Errorf("the first caller waited %v, want 500ms", d)
		}
		for range 100 {
			if d := took("a"); d != 0 {
				t.Errorf("a later caller waited %v, want 0", d)
			}
			if d := took("b"); d != 0 {
				t.Errorf("a caller of a healthy server waited %v, want 0", d)
			}
			time.Sleep(time.Second)
		}
		r.source.set("a", 100, false)
		time.Sleep(5 * time.Second)
		r.Evaluate(t.Context(), request("a")) // starts the read that ends the slowness
		synctest.Wait()
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
	})
}

func TestTheLoserStepsOnTheWinnersReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		other := r.replica()
		r.source.set("a", 37, false)
		r.store.before = func() { // between the loser's read and its swap
			r.source.set("a", 45, false)
			wantReplicas(t, other.Evaluate(t.Context(), request("a")), 9)
		}
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 9)
	})
}

func TestNoClockMovesAWindow(t *testing.T) {
	for _, jump := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(6)
				r.source.set("a", 30, false)
				r.Evaluate(t.Context(), request("a"))
				r.source.set("a", 0, false)
				time.Sleep(5 * time.Second)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
				r.store.set(func() { r.store.skew = jump })
				for range 10 { // 50 s more: still inside the window of 60 s
					wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
					time.Sleep(5 * time.Second)
				}
				time.Sleep(10 * time.Second)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 1)
			})
		})
	}
}

func TestAProcessThatNeverSawTheKeyTrustsNoLongAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(6)
		r.source.set("a", 30, false)
		r.Evaluate(t.Context(), request("a"))
		r.source.set("a", 0, false)
		time.Sleep(10 * time.Minute) // down, or a jump: nobody knows
		restarted := r.replica()
		wantReplicas(t, restarted.Evaluate(t.Context(), request("a")), 6)
		time.Sleep(59 * time.Second)
		wantReplicas(t, restarted.Evaluate(t.Context(), request("a")), 6)
	})
}

func TestStoreOutageOnlyRaises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(6)
		r.source.set("a", 30, false)
		r.Evaluate(t.Context(), request("a"))
		r.store.set(func() { r.store.err = errors.New("connection refused") })
		r.source.set("a", 0, false)
		for range 60 {
			time.Sleep(5 * time.Second)
			d := r.Evaluate(t.Context(), request("a"))
			wantReplicas(t, d, 6)
			if !d.Degraded || !d.Active {
				t.Fatalf("want degraded and active: %+v", d)
			}
		}
		r.source.set("a", 50, false)
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 10)
		r.observer.replicas(10)

		r.store.set(func() { r.store.err = nil })
		r.source.set("a", 0, false)
		time.Sleep(5 * time.Second)
		d := r.Evaluate(t.Context(), request("a"))
		wantReplicas(t, d, 10) // what it took alone, 5 s ago, holds
		if d.Degraded {
			t.Error("still degraded")
		}
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.replica().Evaluate(t.Context(), request("a")), 10) // and the others know
	})
}

func TestALostStoreWakesNothingAndDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		r.source.set("a", 0, false)
		flush := func() { r.store.set(func() { r.store.data = map[Key]Loaded{} }) }
		for _, e := range []*Evaluator{r.Evaluator, r.replica()} {
			e.Evaluate(t.Context(), request("a"))
			flush()
			if d := e.Evaluate(t.Context(), request("a")); d.Active || d.Replicas != 0 || d.Err != nil {
				t.Errorf("asleep: got %+v", d)
			}
		}
		r.observer.replicas(6)
		r.source.set("a", 30, false)
		time.Sleep(5 * time.Second)
		r.Evaluate(t.Context(), request("a"))
		r.source.set("a", 0, false)
		for _, e := range []*Evaluator{r.Evaluator, r.replica()} {
			flush()
			d := e.Evaluate(t.Context(), request("a"))
			wantReplicas(t, d, 6)
			if !d.Active {
				t.Error("busy: inactive after the store was lost")
			}
		}
	})
}

func TestWhatCannotBeServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := request("a")
		p := *bad.Policy
		p.Invalid = fmt.Errorf("%w: listLength: \"x\"", ErrBadPolicy)
		bad.Policy = &p

		r := newRig(0)
		if d := r.Evaluate(t.Context(), bad); !errors.Is(d.Err, ErrBadPolicy) {
			t.Errorf("bad policy at 0: %v", d.Err)
		}
		r.observer.replicas(4)
		d := r.Evaluate(t.Context(), bad)
		wantReplicas(t, d, 4)
		if !errors.Is(d.Held, ErrBadPolicy) || !d.Active {
			t.Errorf("bad policy at 4: %+v", d)
		}
		if r.store.loads > 0 {
			t.Error("a bad policy asked the store")
		}
		r.observer.obs.ValueType = true
		if d := r.Evaluate(t.Context(), request("a")); !errors.Is(d.Held, ErrBadPolicy) || !strings.Contains(d.Held.Error(), "AverageValue") {
			t.Errorf("metricType Value: %v", d.Held)
		}
		r.observer.err = fmt.Errorf("ScaledObject shop/a: %w", ErrUnobserved)
		if d := r.Evaluate(t.Context(), request("a")); !errors.Is(d.Err, ErrUnobserved) {
			t.Errorf("unobserved: %v", d.Err)
		}
	})
}

func TestAScaledJobIsServedWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		r.observer.obs = Observation{Job: true, Bounds: algorithm.Bounds{Min: 1, Max: 100}}
		r.source.set("a", 37, false)
		req := request("a")
		p := *req.Policy
		p.Behavior, p.Target = nil, 5000
		req.Policy = &p
		if d := r.Evaluate(t.Context(), req); d.Err != nil || d.Value != 37000 || !d.Active {
			t.Errorf("got %+v", d)
		}
		r.source.set("a", 0, true)
		time.Sleep(time.Minute)
		r.Evaluate(t.Context(), req)
		time.Sleep(5 * time.Second)
		if d := r.Evaluate(t.Context(), req); !errors.Is(d.Err, ErrNotRead) {
			t.Errorf("a failing source: %v", d.Err)
		}
		if len(r.store.data) > 0 {
			t.Error("a ScaledJob has a record")
		}
		if d := r.Evaluate(t.Context(), request("a")); !errors.Is(d.Err, ErrBadPolicy) {
			t.Errorf("behavior on a ScaledJob: %v", d.Err)
		}
	})
}

func TestForgetLeavesNothingBehind(t *testing.T) {
	for name, before := range map[string]func(*rig){
		"the record is there": func(*rig) {},
		"the record is gone":  func(r *rig) { r.store.set(func() { r.store.data = map[Key]Loaded{} }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(90)
				r.source.set("a", 450, false)
				r.Evaluate(t.Context(), request("a"))
				r.source.set("a", 30, false)
				time.Sleep(5 * time.Second)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 90)
				before(r)
				n, err := r.Forget(t.Context(), "shop", "a")
				if n != 1 || err != nil {
					t.Fatalf("forgot %d, %v", n, err)
				}
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
			})
		})
	}
}

func TestGivenOutcomesAreUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		r.source.set("a", 0, false)
		r.Evaluate(t.Context(), request("a"))
		req := request("a")
		req.Outcomes = []Outcome{{Value: 1}}
		if d := r.Evaluate(t.Context(), req); !d.Active || d.Replicas != 1 {
			t.Errorf("got %+v", d)
		}
		if d := r.Evaluate(t.Context(), request("a")); !d.Active {
			t.Error("the activity was not stored")
		}
		if n := r.source.count("a"); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}

func TestADecisionWithoutSightReplacesTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(6)
		r.source.set("a", 30, false)
		r.Evaluate(t.Context(), request("a"))
		r.observer.obs, r.observer.err = Observation{}, fmt.Errorf("ScaledObject shop/a: %w", ErrUnobserved)
		r.Evaluate(t.Context(), request("a"))
		list := r.Decisions()
		if len(list) != 1 || list[0].Err == nil || list[0].Key.Target != "apps/Deployment/worker" || list[0].Mode != Stabilised {
			t.Errorf("got %+v, want the one policy, its last known target and its error", list)
		}
	})
}

// The store is emptied, and the replica that is asked first has not seen what the other
// has: neither its window nor the other's knowledge is lost.
func TestAReplicaThatKnowsLessWritesFirst(t *testing.T) {
	for name, empty := range map[string]bool{"emptied": true, "failed over to an older record": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(6)
				other := r.replica()
				r.source.set("a", 30, false)
				r.Evaluate(t.Context(), request("a"))
				other.Evaluate(t.Context(), request("a"))
				old := maps.Clone(r.store.data)
				time.Sleep(20 * time.Second)
				r.source.set("a", 100, false)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
				r.observer.replicas(20)

				time.Sleep(5 * time.Second)
				r.source.set("a", 0, false)
				r.store.set(func() {
					r.store.data = old
					if empty {
						r.store.data = map[Key]Loaded{}
					}
				})
				if empty { // a replica whose memory ends before the 20
					wantReplicas(t, other.Evaluate(t.Context(), request("a")), 20)
				}
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
				for range 10 {
					time.Sleep(5 * time.Second)
					wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
					wantReplicas(t, other.Evaluate(t.Context(), request("a")), 20)
				}
				time.Sleep(15 * time.Second)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 1)
			})
		})
	}
}

func TestForgettingIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(90)
		other := r.replica()
		r.source.set("a", 450, false)
		r.Evaluate(t.Context(), request("a"))
		other.Evaluate(t.Context(), request("a"))
		r.source.set("a", 30, false)
		time.Sleep(5 * time.Second)
		if _, err := r.Forget(t.Context(), "shop", "a"); err != nil {
			t.Fatal(err)
		}
		wantReplicas(t, other.Evaluate(t.Context(), request("a")), 6) // and no union of what it knew
	})
}

// A store that answers and takes nothing is no store: this replica goes on alone, reads
// as often as ever, raises, and lowers nothing.
func TestAReadOnlyStoreFreezesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(6)
		r.source.set("a", 30, false)
		r.Evaluate(t.Context(), request("a"))
		r.store.set(func() { r.store.readOnly = true })
		r.source.set("a", 0, false)
		for range 60 {
			time.Sleep(2 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
		}
		if d := r.Evaluate(t.Context(), request("a")); !d.Degraded {
			t.Errorf("not degraded: %+v", d)
		}
		r.source.set("a", 100, false)
		time.Sleep(6 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
		if n := r.source.count("a"); n < 20 || n > 30 {
			t.Errorf("%d reads in 126 s at an interval of 5 s", n)
		}
	})
}

// What a process has not seen itself, it does not count: a cooldown that had 30 s to go
// when everything was down still has them ten minutes later.
func TestUnseenTimeIsNoQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		r.source.set("a", 5, false)
		r.Evaluate(t.Context(), request("a"))
		r.source.set("a", 0, false)
		time.Sleep(30 * time.Second)
		r.Evaluate(t.Context(), request("a"))
		time.Sleep(10 * time.Minute)
		restarted := r.replica()
		if d := restarted.Evaluate(t.Context(), request("a")); !d.Active {
			t.Errorf("inactive at once: %s", d.Why())
		}
		time.Sleep(31 * time.Second)
		if d := restarted.Evaluate(t.Context(), request("a")); d.Active {
			t.Errorf("active beyond the cooldown: %s", d.Why())
		}
	})
}
