package source

import (
	"errors"
	"testing"
	"time"
)

// TestBreaker is one life of a breaker, second by second.
func TestBreaker(t *testing.T) {
	down := errors.New("refused")
	steps := []struct {
		at   time.Duration
		do   string
		want string // of admit: yes, probe or no
	}{
		{0, "admit", "yes"}, {0, "fail", ""},
		{0, "admit", "yes"}, {0, "fail", ""},
		{0, "admit", "yes"}, {0, "succeed", ""}, // two failures are forgotten
		{0, "admit", "yes"}, {0, "fail", ""},
		{0, "fail", ""}, {0, "admit", "yes"},
		{0, "fail", ""}, // the third in a row
		{0, "admit", "no"},
		{0, "fail", ""}, // begun earlier, fails late: no longer pause
		{time.Second - 1, "admit", "no"},
		{time.Second, "admit", "probe"},
		{time.Second, "admit", "no"}, // one probe at a time
		{2 * time.Second, "fail probe", ""},
		{3*time.Second - 1, "admit", "no"}, // as long as before
		{3 * time.Second, "admit", "probe"},
		{3 * time.Second, "abandon", ""}, // says nothing: the next one probes
		{3 * time.Second, "admit", "probe"},
		{3 * time.Second, "succeed", ""}, {3 * time.Second, "admit", "yes"},
		{46 * time.Second, "fail", ""}, {46 * time.Second, "fail", ""}, {46 * time.Second, "fail", ""},
		{47*time.Second - 1, "admit", "no"}, {47 * time.Second, "admit", "probe"},
		{47 * time.Second, "fail", ""}, // not the probe
		{47 * time.Second, "admit", "no"},
	}
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var b breaker
	for i, step := range steps {
		now := start.Add(step.at)
		switch step.do {
		case "fail":
			b.fail(now, false, down)
		case "fail probe":
			b.fail(now, true, down)
		case "succeed":
			b.succeed()
		case "abandon":
			b.abandon(true)
		case "admit":
			probe, err := b.admit(now)
			got := map[bool]string{false: "yes", true: "probe"}[probe]
			if err != nil {
				got = "no"
				if !errors.Is(err, down) {
					t.Errorf("step %d: the cause is missing from %v", i, err)
				}
			}
			if got != step.want {
				t.Fatalf("step %d at %v: admitted %s, want %s", i, step.at, got, step.want)
			}
		}
	}
}
