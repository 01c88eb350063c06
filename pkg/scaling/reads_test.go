package scaling

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowServersAreForgotten: a policy that is gone leaves its slow server behind, and
// of servers that are one query each there would be ever more.
func TestSlowServersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(nil, time.Second, time.Second)
		slow := func(server string) *flight { return &flight{servers: []string{server}, done: make(chan struct{})} }
		r.markSlow(slow("gone"))
		time.Sleep(slowMemory - time.Second)
		r.markSlow(slow("other"))
		if !r.isSlow(slow("gone")) {
			t.Error("a slow server is forgotten too early")
		}
		time.Sleep(time.Second)
		r.markSlow(slow("other"))
		if r.isSlow(slow("gone")) || len(r.slow) != 1 {
			t.Errorf("slow servers %v; want the other only", r.slow)
		}
	})
}
