package scaling

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever is told a decision gets the one before it of the same policy, unless that is
// forgotten.
func TestADecisionAndTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(8)
		var told []string
		r.onDecision = func(before, d *Decision) {
			told = append(told, fmt.Sprintf("%s %d %q → %d", d.Key.Name, before.Replicas, before.Mode, d.Replicas))
		}
		ask := func(name string, length float64) {
			r.source.set(name, length, false)
			time.Sleep(5 * time.Second)
			r.Evaluate(t.Context(), request(name))
		}
		ask("a", 40)
		ask("b", 60)
		ask("a", 75)
		time.Sleep(time.Hour + sweepEvery)
		ask("a", 50)
		want := []string{`a 0 "" → 8`, `b 0 "" → 12`, `a 8 "stabilised" → 15`, `a 0 "" → 10`}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("told\n%q, want\n%q", told, want)
		}
	})
}

// Policies that came and went leave no room behind that only they needed.
func TestMemoryShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20_000
		m := newMemory(many, 0, time.Hour)
		empty := heap()
		for i := range many {
			key := Key{Record: fmt.Sprint(i)}
			stateLocal(m, key)
			m.decided(&Decision{Key: key}, &Decision{})
		}
		full := heap()
		time.Sleep(time.Hour + sweepEvery)
		m.decided(&Decision{Key: Key{Record: "new"}}, &Decision{})
		if left := heap() - empty; left > (full-empty)/50 {
			t.Errorf("%d of %d bytes are left", left, full-empty)
		}
		runtime.KeepAlive(m)
	})
}

// heap is how many bytes are alive.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A namespace may have one policy, and then no other.
func TestOnePolicyPerNamespace(t *testing.T) {
	m := newMemory(10, 1, time.Hour)
	name := func(namespace, record string) policyName { return policyName{Ref{Namespace: namespace}, record} }
	m.decided(&Decision{Key: Key{Ref: Ref{Namespace: "shop"}, Record: "jobs"}}, &Decision{})
	if err := m.admit(name("shop", "jobs")); err != nil {
		t.Errorf("the one that it has: %v", err)
	}
	if err := m.admit(name("shop", "mails")); err == nil {
		t.Error("another of the same namespace is let in")
	}
	if err := m.admit(name("bank", "mails")); err != nil {
		t.Errorf("another namespace's: %v", err)
	}
}
