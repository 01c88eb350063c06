package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// TestDifferences has a story for each deliberate difference, in which Dashpot ends
// elsewhere than the real controller does.
func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		name       string
		switchedOn algorithm.Differences
		play       func(*stage)
		// The last replicas.
		upstream, ours int32
		because        string
	}{
		{
			name:       "LongMemory, windows",
			switchedOn: algorithm.Differences{LongMemory: true},
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, down *algorithm.Rules) {
					immediate(up)
					immediate(down)
				}), perPod(1))
				s.scale(10)
				s.syncs(1, jobs(30))
				s.syncs(8, jobs(4))
				s.scale(12)
				s.edit(5*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleDown.Window = 10 * time.Minute })
			},
			upstream: 10, ours: 12,
			because: "no window reached the wish of 30, so upstream has overwritten it by the time the window of 10 minutes begins, and knows the 10 that it started with at most",
		},
		{
			name:       "LongMemory, policies",
			switchedOn: algorithm.Differences{LongMemory: true},
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
					up.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 10, Period: 30 * time.Minute}}
					immediate(down)
				}), perPod(1))
				s.scale(60)
				s.syncs(2, jobs(40))
				s.syncs(2, jobs(30))
				s.syncs(2, jobs(20))
				s.syncs(2, jobs(100))
			},
			// 60 at the start of the 30 minutes, and 10 more. Upstream has kept the last step
			// down alone: 20, 10 that were taken away and 10 more.
			upstream: 40, ours: 70,
			because: "a policy of one second downward forgets the steps that one of 30 minutes upward still counts",
		},
		{
			name:       "SeedDown",
			switchedOn: algorithm.Differences{LongMemory: true, SeedDown: true},
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, _ *algorithm.Rules) {
					immediate(up)
					up.Window = time.Minute
				}), perPod(1))
				s.scale(10)
				s.syncs(2, jobs(10))
				s.read(jobs(30))
				s.restart(30 * time.Second)
			},
			upstream: 10, ours: 30,
			because: "the 10 that a new process finds holds upstream for the window of a minute",
		},
		{
			name:       "FromOne",
			switchedOn: algorithm.Differences{FromOne: true},
			play: func(s *stage) {
				s.spec(algorithm.Bounds{Min: 0, Max: 50}, behavior(func(up, down *algorithm.Rules) {
					up.Policies = []algorithm.RatePolicy{{Type: algorithm.PercentPolicy, Value: 100, Period: 15 * time.Second}}
					down.Window = 0
				}), perPod(1))
				s.scale(3)
				s.syncs(3, jobs(0))
				s.syncs(1, jobs(30))
			},
			upstream: 0, ours: 2,
			because: "100 % of nothing is nothing, of 1 it is 1 more",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := algorithm.DefaultController()
			setScaleToZero(t, config.ScaleToZero)
			theirs, exact, ours := &stage{t: t}, &stage{t: t}, &stage{t: t}
			theirs.playUpstream(config, tt.play)
			exact.playOurs(config, tt.play)
			config.Differences = tt.switchedOn
			ours.playOurs(config, tt.play)
			if theirs.last.Replicas != tt.upstream || ours.last.Replicas != tt.ours {
				t.Errorf("upstream %d, ours %d; want %d and %d, because %s",
					theirs.last.Replicas, ours.last.Replicas, tt.upstream, tt.ours, tt.because)
			}
			if exact.last != theirs.last {
				t.Errorf("without the difference: upstream %+v, ours %+v", theirs.last, exact.last)
			}
		})
	}
}

// TestDifferencesDoNotMatter plays random traces in which a difference that is switched
// on may not show.
func TestDifferencesDoNotMatter(t *testing.T) {
	for _, tt := range []struct {
		name       string
		switchedOn algorithm.Differences
		// tame gives the rule for the specs of one trace.
		tame func() func(algorithm.Spec) algorithm.Spec
	}{
		{"LongMemory, while nobody edits windows and policies", algorithm.Differences{LongMemory: true}, oneBehavior},
		{"SeedDown, without a window upward", algorithm.Differences{LongMemory: true, SeedDown: true}, withoutUpWindow},
		{"FromOne, without a sleep", algorithm.Differences{FromOne: true}, sleepless},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setScaleToZero(t, true)
			found := compareReconciles(t, *reconciles/20, func(t *testing.T, number int) *trace {
				return playIn(t, newWorld(newRandom(fmt.Sprint("without ", tt.name), number), true, tt.tame()), tt.switchedOn)
			})
			if found.rescales < found.reconciles/100 {
				t.Errorf("only %d writes in %d reconciles: these traces show nothing", found.rescales, found.reconciles)
			}
		})
	}
}

// oneBehavior keeps the first behavior for good. Upstream forgets a step when the
// policies of its own direction do not reach it: the longest periods are to be equal.
func oneBehavior() func(algorithm.Spec) algorithm.Spec {
	first, begun := (*algorithm.Behavior)(nil), false
	return func(s algorithm.Spec) algorithm.Spec {
		if !begun {
			first, begun = s.Behavior, true
			if first != nil {
				evenPeriods(first)
			}
		}
		s.Behavior = first
		return s
	}
}

func evenPeriods(b *algorithm.Behavior) {
	longest := b.LongestPeriod()
	for _, r := range []*algorithm.Rules{&b.ScaleUp, &b.ScaleDown} {
		r.Policies = append(r.Policies[:len(r.Policies)-1:len(r.Policies)-1],
			algorithm.RatePolicy{Type: algorithm.PodsPolicy, Value: 3, Period: longest})
	}
}

func withoutUpWindow() func(algorithm.Spec) algorithm.Spec {
	keep := oneBehavior()
	return func(s algorithm.Spec) algorithm.Spec {
		s = keep(s)
		if s.Behavior != nil {
			s.Behavior.ScaleUp.Window = 0
		}
		return s
	}
}

// sleepless has no minReplicas of 0: whatever has no replicas is paused.
func sleepless() func(algorithm.Spec) algorithm.Spec {
	return func(s algorithm.Spec) algorithm.Spec {
		s.Bounds.Min = max(s.Bounds.Min, 1)
		return s
	}
}
