package demo

import (
	"fmt"
	"math"
	"time"
)

// script is the story in units of a sixtieth of the demo's length: a second by
// default. Work arrives in a burst, trickles, pauses for less than the window, comes
// back, and ends.
type script struct{ unit time.Duration }

const (
	burstAt    = 3
	burstJobs  = 36
	pauseFrom  = 13
	pauseUntil = 18
	workUntil  = 25

	windowUnits       = 8
	cooldownUnits     = 10
	kedaCooldownUnits = 3
	periodUnits       = 2
	podsUp, podsDown  = 4, 2 // per period

	listLength = 5
	// jobsPerUnit is how many jobs one replica finishes in a unit.
	jobsPerUnit = 0.6
)

// arrivals is how many jobs come per unit at a moment after the burst.
func (s script) arrivals(at time.Duration) float64 {
	switch u := s.units(at); {
	case u < burstAt || u >= workUntil || (u >= pauseFrom && u < pauseUntil):
		return 0
	case u < pauseFrom:
		return 4
	}
	return 6
}

func (s script) units(at time.Duration) float64 { return float64(at) / float64(s.unit) }

// seconds is a number of units in whole seconds, which is what policies are written
// in; at least one.
func (s script) seconds(units float64) int {
	return max(1, int(math.Round(units*s.unit.Seconds())))
}

// metadata is the trigger, exactly as a ScaledObject would carry it.
func (s script) metadata(queue string) map[string]string {
	return map[string]string{
		"source": "redis", "address": queue, "listName": "jobs", "listLength": fmt.Sprint(listLength),
		"interval":       "1",
		"cooldownPeriod": fmt.Sprint(s.seconds(cooldownUnits)),
		"behavior": fmt.Sprintf(`scaleUp:
  policies: [{type: Pods, value: %[3]d, periodSeconds: %[1]d}]
scaleDown:
  stabilizationWindowSeconds: %[2]d
  policies: [{type: Pods, value: %[4]d, periodSeconds: %[1]d}]
`, s.seconds(periodUnits), s.seconds(windowUnits), podsUp, podsDown),
	}
}
