package conformance

import (
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func scenes() []scene {
	return slices.Concat(legacyScenes(), windowScenes(), policyScenes(), metricScenes(), zeroScenes(), troubleScenes(), podScenes())
}

// legacyScenes are those of an HPA without behavior.
func legacyScenes() []scene {
	return []scene{{
		name:  "legacy-up",
		about: "Without behavior at most twice the count or 4 in one reconcile, until max.\nEvery sync may double again.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, nil, perPod(1))
			s.scale(1)
			s.syncs(10, jobs(100))
			s.syncs(40, jobs(30))
		},
	}, {
		name:  "legacy-spike",
		about: "One reading of 30 at 3 replicas is followed for 300 s, upward too: the largest wish\nof the window counts, and the sample that is exactly 300 s old still does.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, nil, perPod(1))
			s.scale(3)
			s.syncs(4, jobs(3))
			s.syncs(1, jobs(30))
			s.syncs(40, jobs(3))
		},
	}, {
		name:  "legacy-max-raised",
		about: "A wish that max cut short is remembered uncut: max raised within 300 s is used up\nalthough the metric has long fallen.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 2, Max: 20}, nil, perPod(1))
			s.scale(10)
			s.syncs(2, jobs(40))
			s.syncs(10, jobs(15))
			s.edit(7*time.Second, func(spec *algorithm.Spec) { spec.Bounds.Max = 60 })
			s.syncs(30)
		},
	}, {
		name:  "legacy-window-flag",
		about: "The window is the controller's: 45 s hold four samples at a sync of 15 s, and 0 the\none of this very moment.",
		config: func(c *algorithm.Controller) {
			c.DownscaleStabilization = 45 * time.Second
		},
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, nil, perPod(1))
			s.scale(8)
			for range 6 {
				s.syncs(1, jobs(16))
				s.syncs(6, jobs(4))
			}
		},
	}, {
		name:  "legacy-bounds",
		about: "Outside of its bounds a count is brought back without asking a metric, even if all\nfail. Nothing is remembered of it.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 4, Max: 10}, nil, perPod(1))
			s.scale(1)
			s.syncs(2, fails())
			s.syncs(3, jobs(8))
			s.scale(25)
			s.syncs(2)
			s.edit(3*time.Second, func(spec *algorithm.Spec) { spec.Bounds = algorithm.Bounds{Min: 1, Max: 5} })
			s.syncs(10, jobs(2))
			s.edit(time.Second, func(spec *algorithm.Spec) { spec.Bounds = algorithm.Bounds{Min: 7, Max: 9} })
			s.syncs(30, jobs(2))
		},
	}}
}

// windowScenes are about the stabilisation windows of a behavior.
func windowScenes() []scene {
	return []scene{{
		name:  "windows-default",
		about: "The default behavior: up by 4 or to twice the count in 15 s, down after 300 s of lower\nwishes. One reading of 30 at 3 replicas gives 7 and no more.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(_, _ *algorithm.Rules) {}), perPod(1))
			s.scale(3)
			s.syncs(4, jobs(3))
			s.syncs(1, jobs(30))
			s.syncs(30, jobs(3))
			s.syncs(8, jobs(30))
			s.syncs(30, jobs(4))
		},
	}, {
		name:  "windows-both",
		about: "A window of 60 s up and of 120 s down against a signal that changes every 45 s, then\nevery 150 s.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, down *algorithm.Rules) {
				immediate(up)
				immediate(down)
				up.Window, down.Window = time.Minute, 2*time.Minute
			}), perPod(1))
			s.scale(10)
			for range 6 {
				s.syncs(3, jobs(20))
				s.syncs(3, jobs(5))
			}
			for range 4 {
				s.syncs(10, jobs(20))
				s.syncs(10, jobs(5))
			}
		},
	}, {
		name:  "windows-restart",
		about: "A new process knows the count alone, for a whole window: it holds a scale-down for\n300 s, and a scale-up for the 60 s of the window upward.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, _ *algorithm.Rules) { up.Window = time.Minute }), perPod(1))
			s.scale(10)
			s.syncs(30, jobs(5))
			s.restart(50 * time.Second)
			s.syncs(25, jobs(2))
			s.restart(20 * time.Second)
			s.syncs(12, jobs(30))
			s.restart(time.Second)
			s.syncs(12, jobs(40))
		},
	}, {
		name:  "windows-edited",
		about: "Windows lengthened and shortened. What no window reached may have been overwritten,\nso a longer one does not find all that it would have held.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, down *algorithm.Rules) {
				immediate(up)
				immediate(down)
				down.Window = 30 * time.Second
			}), perPod(1))
			s.scale(10)
			for _, n := range []float64{10, 18, 9, 8, 17, 7, 6, 16, 5, 5, 5} {
				s.syncs(1, jobs(n))
			}
			s.edit(4*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleDown.Window = 10 * time.Minute })
			s.syncs(8)
			s.edit(9*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleUp.Window = 5 * time.Minute })
			s.syncs(20, jobs(30))
			s.edit(9*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleUp.Window = 0 })
			s.syncs(5)
			s.edit(2*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleDown.Window = 0 })
			s.syncs(5, jobs(3))
		},
	}, {
		name:  "windows-edited-upward",
		about: "Wishes are kept as long as the longer of the two windows reaches, here the one upward.\nThe one downward finds them once it is lengthened: a count set by hand holds.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 50}, behavior(func(up, down *algorithm.Rules) {
				immediate(up)
				immediate(down)
				up.Window = 2 * time.Minute
			}), perPod(1))
			s.scale(10)
			for range 3 {
				s.syncs(3, jobs(14))
				s.syncs(1, jobs(30))
				s.syncs(6, jobs(4))
				s.scale(12)
				s.edit(8*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleDown.Window = 4 * time.Minute })
				s.syncs(8)
				s.edit(3*time.Second, func(spec *algorithm.Spec) { spec.Behavior.ScaleDown.Window = 0 })
			}
		},
	}, {
		name:  "windows-behavior-and-back",
		about: "A behavior set, removed and set again: both ways share one memory of wishes, and only\nwith a behavior are changes of the scale remembered.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, nil, perPod(1))
			s.scale(4)
			s.syncs(2, jobs(30))
			slow := behavior(func(up, _ *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 3, Period: time.Minute}}
			})
			s.edit(5*time.Second, func(spec *algorithm.Spec) { spec.Behavior = slow })
			s.syncs(9)
			s.edit(5*time.Second, func(spec *algorithm.Spec) { spec.Behavior = nil })
			s.syncs(3)
			s.edit(5*time.Second, func(spec *algorithm.Spec) { spec.Behavior = slow })
			s.syncs(9, jobs(60))
			s.edit(5*time.Second, func(spec *algorithm.Spec) { spec.Behavior = nil })
			s.syncs(30, jobs(10))
		},
	}}
}

// policyScenes are about the rate policies of a behavior.
func policyScenes() []scene {
	pods := func(n int32, period time.Duration) algorithm.RatePolicy {
		return algorithm.RatePolicy{Type: algorithm.PodsPolicy, Value: n, Period: period}
	}
	percent := func(n int32, period time.Duration) algorithm.RatePolicy {
		return algorithm.RatePolicy{Type: algorithm.PercentPolicy, Value: n, Period: period}
	}
	return []scene{{
		name:  "policies-largest",
		about: "Two policies in each direction; the one that allows more counts, each from the count\nat the start of its own period.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{pods(4, time.Minute), percent(50, 2*time.Minute)}
				down.Policies = []algorithm.RatePolicy{pods(3, time.Minute), percent(20, 90*time.Second)}
				down.Window = 0
			}), perPod(1))
			s.scale(2)
			s.syncs(50, jobs(100))
			s.syncs(50, jobs(1))
		},
	}, {
		name:  "policies-smallest",
		about: "The same with selectPolicy Min: the policy that allows less counts.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
				up.Select, down.Select = algorithm.SelectMin, algorithm.SelectMin
				up.Policies = []algorithm.RatePolicy{pods(4, time.Minute), percent(50, 2*time.Minute)}
				down.Policies = []algorithm.RatePolicy{pods(3, time.Minute), percent(20, 90*time.Second)}
				down.Window = 0
			}), perPod(1))
			s.scale(2)
			s.syncs(60, jobs(100))
			s.syncs(60, jobs(1))
		},
	}, {
		name:  "policies-disabled",
		about: "selectPolicy Disabled, downward and then upward: only the other direction moves.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 40}, behavior(func(_, down *algorithm.Rules) {
				down.Window, down.Select = 0, algorithm.SelectDisabled
			}), perPod(1))
			s.scale(5)
			s.syncs(10, jobs(12))
			s.syncs(10, jobs(2))
			s.edit(2*time.Second, func(spec *algorithm.Spec) {
				spec.Behavior.ScaleDown.Select, spec.Behavior.ScaleUp.Select = algorithm.SelectMax, algorithm.SelectDisabled
			})
			s.syncs(10, jobs(7))
			s.syncs(10, jobs(30))
		},
	}, {
		name:  "policies-rounding",
		about: "Percentages in binary: +10 % of 50 allows 56 and of 100 allows 111, -30 % of 90\nallows 62.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 500}, behavior(func(up, down *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{percent(10, 15*time.Second)}
				down.Policies = []algorithm.RatePolicy{percent(30, 15*time.Second)}
				down.Window = 0
			}), perPod(1))
			s.scale(50)
			s.syncs(1, jobs(300))
			s.scale(100)
			s.syncs(20)
			s.scale(90)
			s.syncs(20, jobs(1))
		},
	}, {
		name:  "policies-early-sync",
		about: "The step of one sync is exactly 15 s old at the next and no longer in a period of\n15 s; a reconcile that an edit brings sooner still finds it there.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 90}, behavior(func(up, _ *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{pods(2, 15*time.Second)}
			}), perPod(1))
			s.scale(2)
			s.syncs(3, jobs(40))
			for i := range 12 {
				s.edit(time.Duration(i+1)*time.Second, func(spec *algorithm.Spec) { spec.Bounds.Max-- })
				s.syncs(2)
			}
		},
	}, {
		name:  "policies-forgotten",
		about: "A scale-down is remembered as long as the down policies reach, although the policy\nupward reaches further: its slot is reused, and the count of half an hour ago is wrong.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{pods(10, 30*time.Minute)}
				immediate(down)
			}), perPod(1))
			s.scale(40)
			for _, n := range []float64{50, 45, 40, 35, 60, 30, 25, 70, 20, 90} {
				s.syncs(5, jobs(n))
			}
		},
	}, {
		name:  "policies-edited",
		about: "Periods lengthened and shortened. A step that no policy reached once may be overwritten\never after, so a longer period does not find all the steps that it would have counted.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 200}, behavior(func(up, _ *algorithm.Rules) {
				up.Policies = []algorithm.RatePolicy{pods(1, 15*time.Second)}
			}), perPod(1))
			s.scale(2)
			policy := func(n int32, period time.Duration) {
				s.edit(5*time.Second, func(spec *algorithm.Spec) {
					spec.Behavior.ScaleUp.Policies = []algorithm.RatePolicy{pods(n, period)}
				})
			}
			s.syncs(6, jobs(150))
			s.syncs(5, jobs(8))
			s.syncs(5, jobs(150))
			policy(12, 10*time.Minute)
			s.syncs(12)
			policy(3, time.Minute)
			s.syncs(12)
			policy(40, 10*time.Minute)
			s.syncs(12)
			policy(41, 10*time.Minute)
			s.syncs(3)
			policy(50, 10*time.Minute)
			s.syncs(36)
		},
	}, {
		name:  "policies-tolerance",
		about: "The tolerance belongs to the band: 22 and 18 jobs on 20 pods hold, 22.001 and 17.999\ndo not. Then 0 upward and 0.3 downward.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(up, down *algorithm.Rules) {
				immediate(up)
				immediate(down)
				up.Tolerance, down.Tolerance = 0.1, 0.1
			}), perPod(1))
			s.scale(20)
			tries := func() {
				for _, n := range []float64{22, 18, 22.001, 17.999, 20.001, 19.999, 14, 13.999, 20} {
					s.scale(20)
					s.syncs(2, jobs(n))
				}
			}
			tries()
			s.edit(6*time.Second, func(spec *algorithm.Spec) {
				spec.Behavior.ScaleUp.Tolerance, spec.Behavior.ScaleDown.Tolerance = 0, 0.3
			})
			tries()
		},
	}, {
		name:  "policies-stops-short",
		about: "The rate and the tolerance together: from 10 towards 21 the step ends at 20, and 21 on\n20 is inside the tolerance.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 100}, behavior(func(_, _ *algorithm.Rules) {}), perPod(1))
			s.scale(10)
			s.syncs(20, jobs(21))
			s.edit(time.Second, func(spec *algorithm.Spec) { spec.Behavior = nil })
			s.syncs(10)
			s.scale(10)
			s.syncs(10)
		},
	}}
}
