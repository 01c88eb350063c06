package scaling

import (
	"testing"
	"testing/synctest"
	"time"
)

// Somebody has seen 8 replicas at revision 50, 10 s ago.
func TestTheLaterSightCounts(t *testing.T) {
	for name, test := range map[string]struct {
		revision uint64
		since    time.Duration
		mode     Mode
		openLoop bool
		want     int32
		noted    Sight
	}{
		"an older look":                       {49, 10 * time.Second, Stabilised, false, 8, Sight{50, 0}},
		"an older look, in pass-through":      {49, 10 * time.Second, PassThrough, false, 8, Sight{50, 0}},
		"an older look, at the limit":         {49, sightLimit, Stabilised, false, 8, Sight{50, 0}},
		"an older look, and nobody else's":    {49, sightLimit + 1, Stabilised, false, 3, Sight{49, sightLimit + 1}},
		"the same":                            {50, 10 * time.Second, Stabilised, false, 3, Sight{50, 10 * time.Second}},
		"a later one":                         {51, 10 * time.Second, Stabilised, false, 3, Sight{51, 10 * time.Second}},
		"one of which nobody knows when":      {0, 10 * time.Second, Stabilised, false, 3, Sight{0, 10 * time.Second}},
		"a shadow counts by itself":           {49, 10 * time.Second, Shadow, false, 8, Sight{49, 10 * time.Second}},
		"and so does what sees nothing (yet)": {49, 10 * time.Second, Stabilised, true, 8, Sight{49, 10 * time.Second}},
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
			in.Elapsed, in.Outcomes = test.since, []Outcome{{Value: 20}}
			result := Step(in)
			if d := result.Decision; d.Mode != test.mode || d.Current != test.want || d.Status != test.want {
				t.Errorf("%s from %d and %d; want %s from %d", d.Mode, d.Current, d.Status, test.mode, test.want)
			}
			want := Sight{test.noted.Revision, in.Record.Clock + test.noted.At}
			if got := result.Record.Sight; got != want {
				t.Errorf("noted %+v, want %+v", got, want)
			}
		})
	}
}

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
