package scaling

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// An answer is that of the decision, whatever it is.
func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		running int32
		jobs    float64
		unseen  error
	}{
		"awake":      {4, 30, nil},
		"asleep":     {0, 0, nil},
		"unobserved": {4, 30, ErrUnobserved},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(c.running)
				r.source.set("a", c.jobs, false)
				r.observer.err = c.unseen
				d, got := r.Evaluate(t.Context(), request("a")), r.Answer(t.Context(), request("a"))
				if got.Value != d.Value || got.Active != d.Active || got.Active != (c.running > 0 && c.unseen == nil) || !errors.Is(got.Err, c.unseen) {
					t.Errorf("%+v; decided %v, active %v, %v", got, d.Value, d.Active, d.Err)
				}
			})
		})
	}
}

// Others' records stay as they are.
func TestForgetIsOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(4)
		versions := map[string]Version{}
		kept := func(name string) bool {
			key := request(name).key()
			before := versions[name]
			versions[name] = r.store.data[key].Version
			return versions[name] == before
		}
		neighbour := request("a")
		neighbour.Ref.Namespace = "other"
		for _, req := range []Request{request("a"), request("b"), neighbour} {
			r.Evaluate(t.Context(), req)
		}
		before := r.store.data[neighbour.key()].Version
		kept("a")
		kept("b")
		if n, err := r.Forget(t.Context(), "shop", "a"); n != 1 || err != nil {
			t.Errorf("forgot %d, %v; want 1", n, err)
		}
		if kept("a") || !kept("b") || r.store.data[neighbour.key()].Version != before {
			t.Error("not a alone was forgotten")
		}
	})
}

// key is where the record of a request is.
func (q Request) key() Key { return Key{Ref: q.Ref, Target: "apps/Deployment/worker"} }

// A record lives as long as anything in it matters, and as a policy is remembered; an empty
// one as long as another process may remember what it replaces.
func TestTimesToLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, idle := range []time.Duration{10 * time.Minute, 3 * time.Hour} {
			r := newRig(4)
			r.memory.idle = idle
			r.Evaluate(t.Context(), request("a"))
			if want := request("a").Policy.memory() + idle; r.store.ttl != want {
				t.Errorf("with %v a record lives for %v, want %v", idle, r.store.ttl, want)
			}
			if _, err := r.Forget(t.Context(), "shop", "a"); err != nil {
				t.Fatal(err)
			}
			if want := max(time.Hour, idle+time.Minute); r.store.ttl != want {
				t.Errorf("with %v an empty one lives for %v, want %v", idle, r.store.ttl, want)
			}
		}
	})
}

// The object of a request is known where the cluster does not show it.
func TestUIDOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for observed, want := range map[string]string{"": "asked", "seen": "seen"} {
			r := newRig(4)
			r.observer.obs.UID = observed
			req := request("a")
			req.UID = "asked"
			r.Evaluate(t.Context(), req)
			if got := r.store.data[req.key()].Record.UID; got != want {
				t.Errorf("the record is %q's, want %q's", got, want)
			}
		}
	})
}

// A swap that failed may have been made, and what others stored meanwhile is not seen.
func TestAFailedSwapIsDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(4)
		r.Evaluate(t.Context(), request("a"))
		if key := request("a").key(); !r.memory.known[key].sure {
			t.Error("a record that was stored is doubted")
		}
		r.store.readOnly = true
		r.source.set("a", 50, false)
		time.Sleep(10 * time.Second)
		d := r.Evaluate(t.Context(), request("a"))
		if key := request("a").key(); r.memory.known[key].sure || !d.Degraded {
			t.Errorf("sure %v, degraded %v; want a doubt, and that it is told", r.memory.known[key].sure, d.Degraded)
		}
	})
}
