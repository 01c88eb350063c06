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
		r.maxPolicies, r.onDecision = 3, func(Decision) { told++ }
		ask := func(name string) Decision {
			req := request("a")
			req.Ref.Name = name
			return r.Evaluate(t.Context(), req)
		}
		for i := range 3 {
			wantReplicas(t, ask(fmt.Sprint(i)), 8)
		}
		for i := range 100 {
			d := ask(fmt.Sprintf("stranger-%d", i))
			if !errors.Is(d.Err, ErrTooMany) || !strings.Contains(d.Err.Error(), "the 3 that this process takes on, see --max-policies") {
				t.Fatalf("stranger %d: %v", i, d.Err)
			}
		}
		wantReplicas(t, ask("2"), 8)
		if len(r.Decisions()) != 3 || len(r.memory.known) != 3 || told != 4 {
			t.Errorf("%d decisions, %d keys remembered, %d told; want 3, 3 and 4", len(r.Decisions()), len(r.memory.known), told)
		}
		time.Sleep(idleLimit + 2*time.Minute)
		wantReplicas(t, ask("stranger-0"), 8)
	})
}
