//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// testCronAsKEDA asks KEDA's adapter for what KEDA's own cron trigger and ours report at
// one time, for every key of the type. By the rule of both, a window whose end comes every
// minute and whose start is on a leap day is open, and the other way round it is shut.
func testCronAsKEDA(t *testing.T) {
	testTwins(t, "cron", cronCases(time.Now()))
}

const (
	everyMinute = "* * * * *"
	leapDay     = "0 0 29 2 *"
)

// cronCases has every key of the trigger type.
func cronCases(now time.Time) []twinCase {
	window := func(start, end string, more ...string) map[string]string {
		m := map[string]string{"timezone": "Europe/London", "start": start, "end": end, "desiredReplicas": "3"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
			if more[i+1] == "" {
				delete(m, more[i])
			}
		}
		return m
	}
	// From an hour ago to two hours from now, by a clock that is half an hour off others.
	zone := time.FixedZone("Asia/Kolkata", 5*3600+1800)
	at := func(hours int) string {
		return fmt.Sprintf("0 %d * * *", now.In(zone).Add(time.Duration(hours)*time.Hour).Hour())
	}
	return []twinCase{
		{name: "open", metadata: window(leapDay, everyMinute), value: "3"},
		{name: "shut", metadata: window(everyMinute, leapDay), value: "0"},
		{name: "fields", metadata: window("15,45 */2 29-29/1 feb ?", "*/7 0-23 * * sun-sat", "timezone", "America/New_York"), value: "3"},
		{name: "zone", metadata: window(at(-1), at(2), "timezone", "Asia/Kolkata"), value: "3"},
		{name: "zone-shut", metadata: window(at(2), at(4), "timezone", "Asia/Kolkata"), value: "0"},
		{name: "replicas", metadata: window(leapDay, everyMinute, "desiredReplicas", "2"), value: "2"},
		{name: "replicas-above-the-maximum", metadata: window(leapDay, everyMinute, "desiredReplicas", "250"), value: "250", differs: "3", reason: "a count is cut to maxReplicaCount by whoever sees it first"},
		{name: "replicas-below-0", metadata: window(leapDay, everyMinute, "desiredReplicas", "-3"), value: "0", awake: true, differs: failure, reason: "nobody has less than no replicas"},
		{name: "no-replicas", metadata: window(leapDay, everyMinute, "desiredReplicas", "0"), value: failure},
		{name: "part-of-a-replica", metadata: window(leapDay, everyMinute, "desiredReplicas", "2.5"), value: failure},
		{name: "replicas-missing", metadata: window(leapDay, everyMinute, "desiredReplicas", ""), value: failure},
		{name: "same", metadata: window(everyMinute, everyMinute), value: failure},
		{name: "same-but-a-blank", metadata: window("0 8 * * *", "0  8 * * *"), value: "3", differs: failure, reason: "a window that is always open is a mistake"},
		{name: "last-day", metadata: window("0 8 L * *", everyMinute), value: failure},
		{name: "descriptor", metadata: window("@yearly", everyMinute), value: failure},
		{name: "never", metadata: window("0 0 30 2 *", everyMinute), value: "3", differs: failure, reason: "a start that never comes opens nothing"},
		{name: "zone-in-the-field", metadata: window("TZ=Asia/Tokyo "+leapDay, everyMinute), value: "3", differs: failure, reason: "timezone says the zone"},
		{name: "zone-of-the-process", metadata: window(leapDay, everyMinute, "timezone", "Local"), value: "3", differs: failure, reason: "which process answers is chance"},
		{name: "zone-small", metadata: window(leapDay, everyMinute, "timezone", "asia/kolkata"), value: failure},
		{name: "zone-offset", metadata: window(leapDay, everyMinute, "timezone", "UTC+2"), value: failure},
		{name: "zone-missing", metadata: window(leapDay, everyMinute, "timezone", ""), value: failure, differs: "3", reason: "UTC by default"},
	}
}
