package conformance

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// TestOverflow is about policies whose values leave an int32: upstream's sums wrap and
// its policy then blocks the direction that it means to open. Ours stop at the largest
// count. Whoever wants no limit writes such a value, so the difference is deliberate and
// has no switch; random traces keep away from it.
func TestOverflow(t *testing.T) {
	unlimited := func(kind algorithm.PolicyType, value int32) []algorithm.RatePolicy {
		return []algorithm.RatePolicy{{Type: kind, Value: value, Period: 5 * time.Minute}}
	}
	for _, tt := range []struct {
		name           string
		play           func(*stage)
		upstream, ours int32
		why            algorithm.Reason // upstream's, for ScalingLimited
	}{
		{
			name: "2 and 2147483647 pods up",
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, _ *algorithm.Rules) {
					up.Policies = unlimited(algorithm.PodsPolicy, math.MaxInt32)
				}), perPod(1))
				s.scale(2)
				s.syncs(3, jobs(10))
			},
			upstream: 2, ours: 10, why: algorithm.ScaleUpLimit,
		},
		{
			// 50 pods more within the period and 54 fewer by hand: it began with -49, and
			// 2147483647 fewer wrap to 2147483600.
			name: "2147483647 pods down from fewer than none",
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
					immediate(up)
					down.Window = 0
					down.Policies = unlimited(algorithm.PodsPolicy, math.MaxInt32)
				}), perPod(1))
				s.scale(5)
				s.syncs(1, jobs(58))
				s.scale(4)
				s.syncs(3, jobs(2))
			},
			upstream: 4, ours: 2, why: algorithm.ScaleDownLimit,
		},
		{
			// 200 * (1 + 2147483647/100) does not fit; what it becomes is the processor's.
			name: "2147483647 percent up",
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 500}, behavior(func(up, _ *algorithm.Rules) {
					up.Policies = unlimited(algorithm.PercentPolicy, math.MaxInt32)
				}), perPod(1))
				s.scale(200)
				s.syncs(3, jobs(400))
			},
			upstream: map[string]int32{"amd64": 200, "arm64": 400}[runtime.GOARCH], ours: 400, why: algorithm.ScaleUpLimit,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := algorithm.DefaultController()
			setScaleToZero(t, config.ScaleToZero)
			theirs, ours := &stage{t: t}, &stage{t: t}
			theirs.playUpstream(config, tt.play)
			ours.playOurs(config, tt.play)
			if theirs.last.Replicas != tt.upstream || ours.last.Replicas != tt.ours {
				t.Errorf("upstream %d, ours %d; want %d and %d", theirs.last.Replicas, ours.last.Replicas, tt.upstream, tt.ours)
			}
			blocked := algorithm.Condition{Status: algorithm.True, Reason: tt.why}
			if tt.upstream != tt.ours && theirs.last.Conditions.ScalingLimited != blocked {
				t.Errorf("upstream's ScalingLimited is %v, want %v", theirs.last.Conditions.ScalingLimited, blocked)
			}
		})
	}
}
