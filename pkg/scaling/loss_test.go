package scaling

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// A loss is allowed for by whoever stores, though another request has noticed it: the count
// that runs, which is another process's, stays for a window.
func TestALossIsNoticedByAll(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, r *rig){
		"one asks": func(*testing.T, *rig) {},
		"another asks at that moment": func(t *testing.T, r *rig) {
			t.Helper()
			r.store.before = func() { r.Answer(t.Context(), request("a")) }
		},
		"who noticed is gone": func(t *testing.T, r *rig) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r.Answer(ctx, request("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(6)
				other := r.replica()
				for _, step := range []struct {
					by   *Evaluator
					jobs float64
				}{{r.Evaluator, 30}, {other, 100}} {
					time.Sleep(time.Minute)
					r.source.set("a", step.jobs, false)
					r.observer.replicas(step.by.Evaluate(t.Context(), request("a")).Replicas)
				}
				r.source.set("a", 30, false)
				r.store.set(func() { r.store.data = map[Key]Loaded{} })
				meanwhile(t, r)
				for range 3 {
					wantReplicas(t, r.Evaluate(t.Context(), request("a")), 20)
					time.Sleep(15 * time.Second)
				}
				time.Sleep(30 * time.Second)
				wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
			})
		})
	}
}

// What the store has lost while this process was alone is lost too, once: others may have
// known more. Losing what this process has never stored is none.
func TestALossWhileAlone(t *testing.T) {
	for name, c := range map[string]struct {
		stored time.Duration // 0 if this process has never stored or seen a record
		shows  *Record
		lost   bool
	}{
		"emptied":                    {2 * time.Second, nil, true},
		"an older record":            {2 * time.Second, new(evaluatedAt(time.Second)), true},
		"the record that was stored": {2 * time.Second, new(evaluatedAt(2 * time.Second)), false},
		"another's newer one":        {2 * time.Second, new(evaluatedAt(9 * time.Second)), false},
		"nothing was ever stored":    {0, nil, false},
		"another's first":            {0, new(evaluatedAt(time.Second)), false},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(m *memory, key Key) {
				if c.stored > 0 {
					m.stored(key, new(evaluatedAt(c.stored)), &state{at: time.Now()})
				}
				time.Sleep(time.Second)
				m.keep(key, new(evaluatedAt(c.stored+time.Second)), &state{at: time.Now(), degraded: true})
				for _, want := range []bool{c.lost, false} {
					time.Sleep(time.Second)
					st := stateLoaded(m, key, &Loaded{Record: c.shows, Now: time.Now()}, time.Now())
					if st.lost != want || !st.unsaved {
						t.Errorf("lost %v, unsaved %v; want %v and true", st.lost, st.unsaved, want)
					}
					st.degraded = true // the swap fails
					m.keep(key, &st.record, &st)
				}
			})
		})
	}
}

// What another process has stored after a loss can be lost too, its very first record
// included.
func TestASecondLoss(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		m.stored(key, new(evaluatedAt(time.Minute)), &state{at: time.Now()})
		for i, shows := range []*Record{nil, new(evaluatedAt(0)), nil} {
			time.Sleep(time.Second)
			st := stateLoaded(m, key, &Loaded{Record: shows, Now: time.Now()}, time.Now())
			if want := shows == nil; st.lost != want {
				t.Errorf("look %d: lost %v, want %v", i+1, st.lost, want)
			}
			st.degraded = true
			m.keep(key, &st.record, &st)
		}
	})
}

// A state is filled anew: nothing is left of what it was.
func TestStatesAreFilledAnew(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		now := time.Now()
		if st, want := stateLocal(m, key), (state{now: now, at: now}); !reflect.DeepEqual(st, want) {
			t.Errorf("of an unknown key: %+v; want %+v", st, want)
		}
		if st, want := stateLoaded(m, key, &Loaded{Now: now}, now), (state{now: now, at: now, unsure: true}); !reflect.DeepEqual(st, want) {
			t.Errorf("of one that the store does not have: %+v; want %+v", st, want)
		}
	})
}

// What has been seen in the store since it was asked is not lost: the answer is late.
func TestAnAnswerOlderThanTheLastLook(t *testing.T) {
	inMemory(t, func(m *memory, key Key) {
		r := evaluatedAt(time.Second)
		m.stored(key, &r, &state{at: time.Now()})
		time.Sleep(time.Second)
		asked := time.Now()
		time.Sleep(time.Second)
		stateLoaded(m, key, found(r, 0), time.Now())
		if st := stateLoaded(m, key, &Loaded{Now: time.Now()}, asked); st.lost {
			t.Error("it is taken for lost, but was there a moment ago")
		}
	})
}

// A key that is gone from the store is what this process remembers of it: a loss, unless
// the answer is older than the memory or the memory never was in the store.
func TestAKeyThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		degraded, late bool
		lost, unsaved  bool
	}{
		"emptied":                       {false, false, true, true},
		"answered before it was stored": {false, true, false, false},
		"never stored":                  {true, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(m *memory, key Key) {
				asked := time.Now()
				time.Sleep(time.Second)
				m.keep(key, new(evaluatedAt(time.Second)), &state{at: time.Now(), degraded: c.degraded})
				time.Sleep(3 * time.Second)
				if !c.late {
					asked = time.Now()
				}
				st := stateLoaded(m, key, &Loaded{Now: time.Now()}, asked)
				if st.record.EvaluatedAt != time.Second || st.elapsed != 3*time.Second || st.lost != c.lost || st.unsaved != c.unsaved {
					t.Errorf("%+v after 3 s, lost %v, unsaved %v; want %v, %v", st.record, st.lost, st.unsaved, c.lost, c.unsaved)
				}
			})
		})
	}
}
