package demo

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun plays the shortest demo: it wakes, works, and goes back to sleep.
func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Length: MinLength, Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 → 1", "→ 0, at most", "after the first job", "slept"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestTooShort(t *testing.T) {
	if err := Run(t.Context(), Options{Length: MinLength - 1}); err == nil || !strings.Contains(err.Error(), MinLength.String()) {
		t.Errorf("got %v, want an error that names %v", err, MinLength)
	}
}
