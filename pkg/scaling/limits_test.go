package scaling

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// However many strangers ask, who is known is answered, and nobody is remembered beyond
// the limit; after an hour of silence there is room again.
func TestPoliciesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		r.source.set("a", 37, false)
		told := 0
		r.memory.most, r.onDecision = 3, func(_, _ *Decision) { told++ }
		ask := func(name string) Decision {
			req := request("a")
			req.Ref.Name = name
			return r.Evaluate(t.Context(), req)
		}
		for i := range 3 {
			wantReplicas(t, ask(fmt.Sprint(i)), 8)
		}
		const why = "the 3 that this process takes on, see --max-policies"
		for i := range 100 { // what runs is held, as for a bad policy
			d := ask(fmt.Sprintf("stranger-%d", i))
			if !errors.Is(d.Held, ErrTooMany) || !strings.Contains(d.Held.Error(), why) || !d.Active || d.Err != nil {
				t.Fatalf("stranger %d: held for %v, active %v, error %v", i, d.Held, d.Active, d.Err)
			}
			wantReplicas(t, d, 8)
		}
		r.observer.replicas(0)
		if d := ask("stranger"); !errors.Is(d.Err, ErrTooMany) {
			t.Errorf("at zero: %v", d.Err)
		}
		r.observer.replicas(8)
		wantReplicas(t, ask("2"), 8)
		if len(r.Decisions()) != 3 || len(r.memory.known) != 3 || told != 4 {
			t.Errorf("%d decisions, %d keys remembered, %d told; want 3, 3 and 4", len(r.Decisions()), len(r.memory.known), told)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		wantReplicas(t, ask("stranger-0"), 8)
	})
}

// A namespace that has all its policies takes no room from another; when it asks no more,
// it has room again.
func TestPoliciesOfANamespaceAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		r.source.set("a", 37, false)
		r.memory.share = 2
		ask := func(namespace, name string) Decision {
			req := request("a")
			req.Ref.Namespace, req.Ref.Name = namespace, name
			return r.Evaluate(t.Context(), req)
		}
		for range 3 { // each known one again, which does not count twice
			for i := range 2 {
				wantReplicas(t, ask("greedy", fmt.Sprint(i)), 8)
			}
		}
		const why = "the 2 that this process takes on of one namespace, see --max-per-namespace"
		for i := range 100 {
			if d := ask("greedy", fmt.Sprintf("more-%d", i)); !errors.Is(d.Held, ErrTooMany) || !strings.Contains(d.Held.Error(), why) {
				t.Fatalf("policy %d beyond the limit: held for %v, error %v", i, d.Held, d.Err)
			}
		}
		if d := ask("modest", "worker"); d.Held != nil || d.Err != nil {
			t.Errorf("of another namespace: held for %v, error %v", d.Held, d.Err)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		if d := ask("greedy", "late"); d.Held != nil || d.Err != nil {
			t.Errorf("after an hour of silence: held for %v, error %v", d.Held, d.Err)
		}
		if n := r.memory.namespaces; len(n) != 1 || n["greedy"] != 1 {
			t.Errorf("the count of policies is %v, want the late one alone", n)
		}
	})
}

// Names that nobody has seen, which anybody may think up, leave room for real ones.
func TestUnseenNamesGetHalfOfTheRoom(t *testing.T) {
	r := newRig(6)
	r.source.set("a", 30, false)
	r.memory.most = 4
	r.observer.err = fmt.Errorf("no ScaledObject: %w", ErrUnobserved)
	for i := range 100 {
		req := request("a")
		req.Ref.Name = fmt.Sprintf("made-up-%d", i)
		if d := r.Evaluate(t.Context(), req); !errors.Is(d.Err, ErrUnobserved) {
			t.Fatal(d.Err)
		}
	}
	r.observer.err = nil
	wantReplicas(t, r.Evaluate(t.Context(), request("a")), 6)
	if n := len(r.Decisions()); n != 3 {
		t.Errorf("%d decisions are remembered, want 2 of made-up names and the real one", n)
	}
}
