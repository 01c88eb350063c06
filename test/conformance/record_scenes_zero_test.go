package conformance

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// zeroScenes are about workloads without replicas.
func zeroScenes() []scene {
	return []scene{{
		name:  "zero-legacy",
		about: "Without behavior: asleep after 300 s without jobs, awake with 4 at most. The answer is\nexact while nothing runs, tolerance or not.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, nil, perPod(5))
			s.scale(2)
			for _, n := range []float64{37, 1, 11} {
				s.syncs(30, jobs(0))
				s.syncs(5, jobs(n))
			}
		},
	}, {
		name:  "zero-behavior",
		about: "With the default behavior, and a window of 60 s upward in the second half, which still\nholds the zeros.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(_, down *algorithm.Rules) { down.Window = time.Minute }), perPod(5))
			s.scale(2)
			s.syncs(10, jobs(0))
			s.syncs(6, jobs(37))
			s.syncs(10, jobs(0))
			s.edit(time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleUp.Window = time.Minute })
			s.syncs(10, jobs(37))
			s.syncs(10, jobs(0))
		},
	}, {
		name:  "zero-percent-only",
		about: "Any percentage of 0 is 0: a workload that may only grow by percent never wakes, unless\nthe step down lies inside the period; then a second policy, in pods, wakes it.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(up, down *algorithm.Rules) {
				down.Window = 0
				up.Policies = []algorithm.RatePolicy{{Type: algorithm.PercentPolicy, Value: 100, Period: time.Minute}}
			}), perPod(1))
			s.scale(4)
			s.syncs(1, jobs(0))
			s.syncs(3, jobs(9))
			s.syncs(8, jobs(0))
			s.syncs(20, jobs(9))
			s.edit(time.Second, func(spec *algorithm.Spec) {
				spec.Behavior.ScaleUp.Policies = append(spec.Behavior.ScaleUp.Policies[:1:1],
					algorithm.RatePolicy{Type: algorithm.PodsPolicy, Value: 1, Period: time.Minute})
			})
			s.syncs(20)
		},
	}, {
		name:  "zero-min-raised",
		about: "minReplicas raised while the workload sleeps wakes it to that count at once, whatever the\nmetric says; but not while the metric fails.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), perPod(5))
			s.scale(2)
			s.syncs(4, jobs(0))
			s.read(fails())
			s.edit(2*time.Second, func(spec *algorithm.Spec) { spec.Bounds.Min = 3 })
			s.syncs(3)
			s.syncs(3, jobs(0))
			s.edit(2*time.Second, func(spec *algorithm.Spec) { spec.Bounds.Min = 0 })
			s.syncs(3)
			s.edit(2*time.Second, func(spec *algorithm.Spec) { spec.Behavior = nil })
			s.edit(2*time.Second, func(spec *algorithm.Spec) { spec.Bounds.Min = 7 })
			s.syncs(30)
		},
	}, {
		name:  "zero-by-hand",
		about: "A zero that the HPA did not write pauses it, whatever minReplicas is; a count by hand\nresumes it. A zero by hand after its own is taken for its own.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), perPod(5))
			s.scale(3)
			s.syncs(2, jobs(15))
			s.scale(0)
			s.syncs(10, jobs(50))
			s.edit(time.Second, func(spec *algorithm.Spec) { spec.Bounds.Min = 2 })
			s.syncs(4)
			s.edit(time.Second, func(spec *algorithm.Spec) { spec.Bounds.Min = 0 })
			s.scale(2)
			s.syncs(4)
			s.syncs(4, jobs(0))
			s.scale(3)
			s.syncs(1, jobs(15))
			s.scale(0)
			s.syncs(10, jobs(15))
		},
	}, {
		name:  "zero-status-lost",
		about: "The zero is written, and the status that says so is lost: the HPA takes its own zero for\nsomebody else's and never wakes. A new process does not help.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), perPod(5))
			s.scale(3)
			s.syncs(2, jobs(15))
			s.step.lost = true
			s.syncs(1, jobs(0))
			s.step.lost = false
			s.syncs(20, jobs(15))
			s.restart(40 * time.Second)
			s.syncs(10)
			s.scale(1)
			s.syncs(10)
		},
	}, {
		name:   "zero-gate-off",
		about:  "Without the feature gate HPAScaleToZero an HPA with minReplicas 0 falls asleep and never\nwakes, and the condition is not set.",
		config: func(c *algorithm.Controller) { c.ScaleToZero = false },
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, nil, perPod(5))
			s.scale(2)
			s.syncs(25, jobs(0))
			s.syncs(10, jobs(15))
			s.scale(1)
			s.syncs(10)
		},
	}, {
		name:  "zero-restart",
		about: "A new process finds the condition and goes on sleeping, and waking. Its first wish is\nthe 0 that it found, which a window upward holds.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 0, Max: 20}, behavior(func(up, down *algorithm.Rules) {
				down.Window = 0
				up.Window = 30 * time.Second
			}), perPod(5))
			s.scale(2)
			s.syncs(6, jobs(0))
			s.restart(70 * time.Second)
			s.syncs(4)
			s.restart(70 * time.Second)
			s.syncs(20, jobs(30))
			s.syncs(10, jobs(0))
		},
	}}
}

// troubleScenes are about what keeps the HPA from its work.
func troubleScenes() []scene {
	return []scene{{
		name:  "trouble-scale",
		about: "The scale cannot be read, then not be written. A refused write is no change: no policy\ncounts it, and the wish is remembered.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(up, down *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 4, Period: time.Minute}}
				down.Window = time.Minute
			}), perPod(1))
			s.scale(5)
			s.step.in.NoScale = true
			s.syncs(3, jobs(5))
			s.step.in.NoScale = false
			s.syncs(3)
			s.step.in.Refused = true
			s.syncs(5, jobs(30))
			s.step.in.Refused = false
			s.syncs(10)
			s.step.in.NoScale = true
			s.syncs(3)
			s.step.in.NoScale = false
			s.step.in.Refused = true
			s.syncs(8, jobs(3))
			s.step.in.Refused = false
			s.syncs(10)
		},
	}, {
		name:  "trouble-selector",
		about: "A selector that does not parse, and one that matches another HPA's pods. The bounds are\nkept all the same.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 10}, nil, perPod(1))
			s.step.in.Workload.Pods = longReady(2)
			s.scale(5)
			s.syncs(3, jobs(5))
			s.step.in.Selector = algorithm.InvalidSelector
			s.syncs(4, jobs(9))
			s.step.in.Selector = algorithm.AmbiguousSelector
			s.syncs(4)
			s.scale(12)
			s.syncs(3)
			s.step.in.Selector = ""
			s.syncs(40, jobs(2))
			s.step.in.Selector = algorithm.AmbiguousSelector
			s.restart(time.Minute)
			s.syncs(3)
		},
	}}
}
