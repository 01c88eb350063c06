package delegate

import (
	"errors"
	"testing"
	"time"
)

// TestBreaker is one life of a breaker, second by second.
func TestBreaker(t *testing.T) {
	down := errors.New("refused")
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var b breaker
	for i, step := range []struct {
		at   time.Duration
		do   string
		want string // of admit
	}{
		{0, "fail", ""}, {0, "fail", ""}, {0, "fail", ""}, {0, "fail", ""},
		{0, "admit", "yes"}, {0, "succeed", ""}, // four are forgotten
		{0, "fail", ""}, {0, "fail", ""}, {0, "fail", ""}, {0, "fail", ""},
		{0, "admit", "yes"}, {0, "fail", ""}, // the fifth in a row
		{0, "admit", "no"},
		{time.Second, "fail", ""}, // begun earlier, fails late: no longer pause
		{5*time.Second - 1, "admit", "no"},
		{5 * time.Second, "refuses", "yes"},                                 // which changes nothing
		{5 * time.Second, "admit", "yes"}, {5 * time.Second, "admit", "no"}, // one at a time
		{6 * time.Second, "fail", ""},
		{10*time.Second - 1, "admit", "no"}, {10 * time.Second, "admit", "yes"}, // as long as before
		{15 * time.Second, "admit", "yes"}, // the one before has not come back: the next tries
		{15 * time.Second, "succeed", ""}, {15 * time.Second, "admit", "yes"}, {15 * time.Second, "admit", "yes"},
	} {
		now := start.Add(step.at)
		var err error
		switch step.do {
		case "fail":
			b.fail(now, down)
		case "succeed":
			b.succeed()
		case "refuses":
			err = b.refuses(now)
		case "admit":
			err = b.admit(now)
		}
		got := map[bool]string{true: "yes", false: "no"}[err == nil]
		if step.want != "" && got != step.want || err != nil && !errors.Is(err, down) {
			t.Errorf("step %d, %v: %s: %s %v, want %s", i, step.at, step.do, got, err, step.want)
		}
	}
}
