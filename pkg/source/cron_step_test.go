package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// counts decides every 15 s by windows, whose counts are added to them here, and returns
// the workload's count at the start and whenever it has changed, by the zone's clock. It
// follows each decision at once, as an HPA with minReplicas 1 and KEDA without a cooldown
// of its own would.
func counts(tb testing.TB, start int32, cooldown time.Duration, from, to string, windows ...*cronWindow) string {
	tb.Helper()
	const every = 15 * time.Second
	behavior := algorithm.DefaultBehavior()
	policy := &scaling.Policy{Metric: "m", Target: 1000, Behavior: &behavior, Cooldown: cooldown, Interval: cronInterval}
	for _, w := range windows {
		policy.Triggers = append(policy.Triggers, scaling.Trigger{Type: "cron", Target: 1000, Counts: true, Query: w})
	}
	seen := scaling.Observation{
		Target: "apps/Deployment/worker", Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true, Spec: start, Status: start,
	}
	var record scaling.Record
	lines, end := []string{}, instant(tb, to)
	for now := instant(tb, from); !now.After(end); now = now.Add(every) {
		outcomes := make([]scaling.Outcome, len(windows))
		for i, w := range windows {
			outcomes[i] = w.at(now)
		}
		result := scaling.Step(scaling.Input{
			Policy: policy, Record: record, Observation: seen, Now: now, Elapsed: every, Outcomes: outcomes,
		})
		record = result.Record
		count := int32(0)
		if d := result.Decision; d.Err != nil {
			tb.Fatal(d.Err)
		} else if d.Active {
			count = max(1, d.Replicas)
		}
		if count != seen.Spec || len(lines) == 0 {
			lines = append(lines, fmt.Sprintf("%s %d", now.In(windows[0].zone).Format("Mon 15:04:05"), count))
		}
		seen.Spec, seen.Status = count, count
	}
	return strings.Join(lines, ", ")
}

// TestC18Cooldown: after the end of the window the count falls once the scale-down window
// has passed, and the workload sleeps one cooldown after the window's end and not before.
// An object that is new when the window has passed waits as well.
func TestC18Cooldown(t *testing.T) {
	w := window(t, "Asia/Makassar", "0 10 * * 1-5", "30 15 * * 1-5")
	w.desired = 3
	got := counts(t, 3, 5400*time.Second, "2026-01-07T15:00:00+08:00", "2026-01-08T11:00:00+08:00", w)
	// Last active at 15:29:45. That reading leaves the window of 300 s at 15:34:45, and
	// the cooldown is over at 16:59:45.
	if want := "Wed 15:00:00 3, Wed 15:34:45 1, Wed 16:59:45 0, Thu 10:00:00 3"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = counts(t, 3, 5400*time.Second, "2026-01-07T15:31:00+08:00", "2026-01-07T18:00:00+08:00", w)
	if want := "Wed 15:31:00 3, Wed 15:36:00 1, Wed 17:01:00 0"; got != want {
		t.Errorf("a new object\ngot  %s\nwant %s", got, want)
	}
}

// TestC42TwoWindowsOfOneObject: by day four, at night and on weekends one; the larger
// counts.
func TestC42TwoWindowsOfOneObject(t *testing.T) {
	day, other := office(t), night(t)
	day.desired, other.desired = 4, 1
	got := counts(t, 4, 5*time.Minute, "2026-10-30T16:59:30Z", "2026-11-02T09:00:30Z", day, other)
	// 16:59:45 is the last that asked for four. The HPA of C42 reads at 17:00:30.
	if want := "Fri 16:59:30 4, Fri 17:04:45 1, Mon 09:00:00 4"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestC01NoneShort: a count of replicas is reached, where the HPA's tolerance of a tenth
// would be content with 88 of 89.
func TestC01NoneShort(t *testing.T) {
	w := window(t, "UTC", "0 8 * * *", "0 20 * * *")
	w.desired = 89
	got := counts(t, 44, 5*time.Minute, "2026-01-07T08:00:00Z", "2026-01-07T12:00:00Z", w)
	if want := "Wed 08:00:00 88, Wed 08:00:15 89"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestC34FiveMinutes: ten replicas for five minutes, from one.
func TestC34FiveMinutes(t *testing.T) {
	w := window(t, "Asia/Kolkata", "30 20 * * *", "35 20 * * *")
	w.desired = 10
	got := counts(t, 1, 0, "2025-09-01T20:30:00+05:30", "2025-09-01T20:39:30+05:30", w)
	if want := "Mon 20:30:00 5, Mon 20:30:15 10"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
