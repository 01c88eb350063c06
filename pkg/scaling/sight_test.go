package scaling

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Somebody has seen 8 replicas at revision 50, 10 s ago.
func TestTheLaterSightCounts(t *testing.T) {
	for name, test := range map[string]struct {
		revision uint64
		since    time.Duration
		mode     Mode
		openLoop bool
		blind    bool
		want     int32
		noted    Sight
	}{
		"an older look":                       {49, 10 * time.Second, Stabilised, false, false, 8, Sight{50, 0}},
		"an older look, in pass-through":      {49, 10 * time.Second, PassThrough, false, false, 8, Sight{50, 0}},
		"an older look, at the limit":         {49, sightLimit, Stabilised, false, false, 8, Sight{50, 0}},
		"an older look, and nobody else's":    {49, sightLimit + 1, Stabilised, false, false, 3, Sight{49, sightLimit + 1}},
		"the same":                            {50, 10 * time.Second, Stabilised, false, false, 3, Sight{50, 10 * time.Second}},
		"a later one":                         {51, 10 * time.Second, Stabilised, false, false, 3, Sight{51, 10 * time.Second}},
		"one of which nobody knows when":      {0, 10 * time.Second, Stabilised, false, false, 3, Sight{0, 10 * time.Second}},
		"a sight of unknown age":              {49, 10 * time.Second, Stabilised, false, true, 3, Sight{49, 10 * time.Second}},
		"a shadow counts by itself":           {49, 10 * time.Second, Shadow, false, false, 8, Sight{}},
		"and so does what sees nothing (yet)": {49, 10 * time.Second, Stabilised, true, false, 8, Sight{}},
	} {
		t.Run(name, func(t *testing.T) {
			in := watched(t, 1, signal{"", func(int) int32 { return 20 }})
			policy := *in.Policy
			if test.mode == PassThrough {
				policy.Behavior, policy.Cooldown = nil, 0
			}
			policy.Shadow = test.mode == Shadow
			in.Policy = &policy
			in.Record.Replicas, in.Record.Served, in.Record.Sight = 8, 8, Sight{50, in.Record.Clock}
			in.Observation.Spec, in.Observation.Status, in.Observation.Revision, in.Observation.OpenLoop = 3, 3, test.revision, test.openLoop
			in.Elapsed, in.Blind, in.Outcomes = test.since, test.blind, []Outcome{{Value: 20}}
			result := Step(in)
			if d := result.Decision; d.Mode != test.mode || d.Current != test.want || d.Status != test.want {
				t.Errorf("%s from %d and %d; want %s from %d", d.Mode, d.Current, d.Status, test.mode, test.want)
			}
			want := test.noted
			if !simulated(in) {
				want.At += in.Record.Clock
			}
			if got := result.Record.Sight; got != want {
				t.Errorf("noted %+v, want %+v", got, want)
			}
		})
	}
}

func simulated(in Input) bool { return in.Observation.OpenLoop || in.Policy.Shadow }

// frozen is the observer of a process that is cut off from the API server.
func frozen(o *fakeObserver) *fakeObserver {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &fakeObserver{obs: o.obs}
}

// A replica that is cut off from the API server decides as the other does, and notes no
// moves that nobody made: 1, 20, and after the window of a minute 10.
func TestAReplicaThatIsCutOffFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := settled(t)
		cut := NewEvaluator(Options{Source: r.source, Store: r.store, Observer: frozen(r.observer)})
		both := func(from, want int32) {
			t.Helper()
			for name, e := range map[string]*Evaluator{"the one": r.Evaluator, "the one that is cut off": cut} {
				if d := e.Evaluate(t.Context(), request("a")); d.Current != from || d.Replicas != want {
					t.Errorf("%s: from %d to %d; want from %d to %d: %s", name, d.Current, d.Replicas, from, want, d.Why())
				}
			}
		}
		r.source.set("a", 100, false)
		time.Sleep(5 * time.Second)
		both(1, 20)
		r.observer.replicas(20)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
		both(20, 20)
		r.source.set("a", 50, false)
		for range 11 {
			time.Sleep(5 * time.Second)
			both(20, 20)
		}
		time.Sleep(10 * time.Second)
		both(20, 10)
		r.observer.replicas(10)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 10)
		for range 10 {
			both(10, 10)
			time.Sleep(5 * time.Second)
		}
		events := r.store.data[r.key(t)].Record.Events
		var changes []int32
		for _, e := range events {
			changes = append(changes, e.Change)
		}
		if len(changes) != 2 || changes[0] != 19 || changes[1] != -10 {
			t.Errorf("moves of %v were noted; want 19 and -10", changes)
		}
		// Nobody else looks for longer than another's sight counts.
		time.Sleep(sightLimit + time.Second)
		if d := cut.Evaluate(t.Context(), request("a")); d.Current != 1 {
			t.Errorf("alone: from %d, want its own 1", d.Current)
		}
	})
}

// besides has a replica beside that of a rig which saw what it sees now and nothing since.
func (r *rig) besides() *Evaluator {
	return NewEvaluator(Options{Source: r.source, Store: r.store, Observer: frozen(r.observer)})
}

// slowly is a policy that adds 4 pods a minute at most, and takes away 1 in 30 s.
func slowly(shadow bool) Request {
	req := request("a")
	req.Policy.Behavior.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 4, Period: time.Minute}}
	req.Policy.Behavior.ScaleDown.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 1, Period: 30 * time.Second}}
	req.Policy.Shadow = shadow
	return req
}

// A policy is a shadow, which stands at 1 while 20 run, and then decides in earnest. What
// it simulated is nobody's count, and no move that it made.
func TestAShadowHasSeenNothing(t *testing.T) {
	for name, test := range map[string]struct {
		behind bool
		want   int32
	}{
		"a new replica that is behind: it cannot rule out that 20 were decided": {true, 20},
		"one that has seen everything":                                          {false, 19},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(1)
				r.source.set("a", 5, false)
				for i := range 40 {
					if i == 20 {
						r.observer.replicas(20)
					}
					r.Evaluate(t.Context(), slowly(true))
					time.Sleep(5 * time.Second)
				}
				next := r.Evaluator
				if test.behind {
					next = r.besides()
					r.observer.obs.Revision++
					r.Evaluate(t.Context(), slowly(true))
				}
				wantReplicas(t, next.Evaluate(t.Context(), slowly(false)), test.want)
			})
		})
	}
}

// Redis has kept a record, the cluster comes from a backup, and the process is new: 20 run
// and are wanted, 2 did when the record was made.
func TestASightOfUnknownAgeIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		r.observer.obs.Revision = 5_000_000
		r.source.set("a", 10, false)
		for range 20 {
			r.Evaluate(t.Context(), slowly(false))
			time.Sleep(5 * time.Second)
		}
		time.Sleep(50 * time.Minute)
		r.observer.obs.Revision, r.observer.obs.Spec, r.observer.obs.Status = 4_000_000, 20, 20
		r.source.set("a", 100, false)
		wantReplicas(t, r.replica().Evaluate(t.Context(), slowly(false)), 20)
	})
}

// Both are asked every 15 s, a reading is taken every 5 minutes.
func TestASightLastsForAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, req := newRig(1), slowly(false)
		req.Policy.Interval = 5 * time.Minute
		r.source.set("a", 100, false)
		cut := r.besides()
		for range 40 {
			r.observer.replicas(r.Evaluate(t.Context(), req).Replicas)
			cut.Evaluate(t.Context(), req)
			time.Sleep(15 * time.Second)
		}
		for range 24 {
			time.Sleep(7 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), req), 20)
			time.Sleep(8 * time.Second)
			wantReplicas(t, cut.Evaluate(t.Context(), req), 20)
		}
	})
}

// The object was made again with a larger maximum, and scaled to 20.
func TestWhatElseChangedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := settled(t)
		r.observer.obs.UID, r.observer.obs.Bounds.Max = "old", 10
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 1)
		cut := r.besides()
		r.observer.obs.UID, r.observer.obs.Bounds.Max = "new", 30
		r.source.set("a", 100, false)
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
		r.observer.replicas(20)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
		wantReplicas(t, cut.Evaluate(t.Context(), request("a")), 20)
		if uid := r.store.data[r.key(t)].Record.UID; uid != "new" {
			t.Errorf("the record is that of %q, want new", uid)
		}
		r.source.set("a", 0, false)
		var d Decision
		for range 20 {
			time.Sleep(15 * time.Second)
			if d = r.Evaluate(t.Context(), request("a")); d.Replicas > 0 {
				r.observer.replicas(d.Replicas)
			}
			cut.Evaluate(t.Context(), request("a"))
		}
		if d.Active {
			t.Errorf("active after 5 minutes without work, window and cooldown of one: %s", d.Why())
		}
	})
}

// A reading that is a count is of the replicas that the other has seen, and serves both.
func TestACountIsReadForTheLaterSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ask := newRig(10), request("a")
		behind := r.besides()
		for _, server := range []string{"at 10", "at 12"} {
			r.source.set(server, 12, false)
		}
		ask.Policy.Interval = time.Minute
		ask.Policy.Triggers[0] = Trigger{Type: "cpu", Target: 1000, Counts: true, Activation: 1e18, Query: countQuery{scopedQuery{fakeQuery{"any", "cpu"}}, "80 %"}}
		wantReplicas(t, r.Evaluate(t.Context(), ask), 12)
		r.observer.replicas(12)
		wantReplicas(t, r.Evaluate(t.Context(), ask), 12)
		for range 5 {
			time.Sleep(time.Second)
			for _, e := range []*Evaluator{behind, r.Evaluator} {
				d := e.Evaluate(t.Context(), ask)
				wantReplicas(t, d, 12)
				if d.Held != nil {
					t.Error(d.Why())
				}
			}
		}
		if at10, at12 := r.source.count("at 10"), r.source.count("at 12"); at10 != 1 || at12 != 1 {
			t.Errorf("read %d times at 10 and %d times at 12; want once each", at10, at12)
		}
	})
}

// All replicas are cut off while a workload sleeps: KEDA wakes it, the HPA goes to 20, and
// nobody who decides has seen it. What it was woken to is held for the window of a minute.
func TestAWakeUpThatNobodySees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(0)
		r.source.set("a", 0, false)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 0)
		r.source.set("a", 100, false)
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
		r.source.set("a", 50, false)
		for range 11 {
			time.Sleep(5 * time.Second)
			wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
			wantReplicas(t, r.replica().Evaluate(t.Context(), request("a")), 20)
		}
		time.Sleep(5 * time.Second)
		wantReplicas(t, r.Evaluate(t.Context(), request("a")), 10)
	})
}
