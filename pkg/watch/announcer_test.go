package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

var (
	asleep   = scaling.Decision{}
	waking   = scaling.Decision{Active: true}
	running  = scaling.Decision{Active: true, Running: 4}
	idle     = scaling.Decision{Running: 4}
	failed   = scaling.Decision{Err: errors.New("no"), Active: true}
	open     = scaling.Decision{Active: true, OpenLoop: true, Running: 4}
	openIdle = scaling.Decision{OpenLoop: true}
)

// Each row is a life of one stream: what is decided at which second, and whether
// that is announced.
func TestAnnouncer(t *testing.T) {
	type heard struct {
		second   int
		decision scaling.Decision
		announce bool
	}
	for name, life := range map[string][]heard{
		"asleep says nothing":      {{0, asleep, false}, {60, asleep, false}},
		"active at open":           {{0, waking, true}},
		"edge":                     {{0, asleep, false}, {7, waking, true}},
		"repeats after 1, 2, 4 s":  {{0, waking, true}, {1, waking, true}, {2, waking, false}, {3, waking, true}, {6, waking, false}, {7, waking, true}},
		"never while it runs":      {{0, running, false}, {5, running, false}, {60, running, false}},
		"stops when it runs":       {{0, waking, true}, {1, running, false}, {2, running, false}},
		"starts over once it ran":  {{0, waking, true}, {1, waking, true}, {2, running, false}, {3, waking, true}, {4, waking, true}},
		"starts over after sleep":  {{0, waking, true}, {1, waking, true}, {2, asleep, false}, {2, waking, true}, {3, waking, true}},
		"not active while it runs": {{0, idle, false}},
		"an error is not active":   {{0, failed, false}, {1, waking, true}},
		"count unknown: each edge once": {
			{0, open, true}, {1, open, false}, {60, open, false}, {61, openIdle, false}, {62, open, true}, {63, open, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var a announcer
			for _, h := range life {
				if got := a.hear(h.decision, time.Unix(int64(h.second), 0)); got != h.announce {
					t.Errorf("second %d: announced %t, want %t", h.second, got, h.announce)
				}
			}
		})
	}
}
