package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// metricScenes are about several metrics, and about those that need no pods.
func metricScenes() []scene {
	return []scene{{
		name:  "metrics-largest",
		about: "Of three metrics the one that wants most counts; the HPA's behavior is the default.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, down *algorithm.Rules) { down.Window = time.Minute }),
				perPod(1), perPod(2.5), perPod(0.25))
			s.scale(5)
			s.syncs(8, jobs(8), jobs(50), jobs(2))
			s.syncs(8, jobs(12), jobs(10), jobs(2))
			s.syncs(8, jobs(3), jobs(10), jobs(6))
			s.syncs(10, jobs(0), jobs(0), jobs(0))
		},
	}, {
		name:  "metrics-one-fails",
		about: "While one of two metrics fails, the other may raise the count or keep it, and never\nlower it.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, nil, perPod(1), perPod(1))
			s.scale(10)
			s.syncs(25, jobs(10), jobs(4))
			s.syncs(5, fails(), jobs(4))
			s.syncs(5, fails(), jobs(10))
			s.syncs(5, fails(), jobs(15))
			s.syncs(5, jobs(3), fails())
			s.syncs(5, fails(), fails())
			s.syncs(30, jobs(3), jobs(4))
		},
	}, {
		name:  "metrics-outage",
		about: "Nothing is remembered while all metrics fail, and the window ages on: after an outage\nlonger than it the first low reading counts at once.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, _ *algorithm.Rules) {}), perPod(1))
			s.scale(10)
			s.syncs(10, jobs(20))
			s.syncs(12, fails())
			s.syncs(3, jobs(5))
			s.syncs(10, jobs(30))
			s.syncs(22, fails())
			s.syncs(10, jobs(5))
		},
	}, {
		name:  "metrics-status-counts",
		about: "Inside of the tolerance an average answers status.replicas, not spec.replicas: a surge\nof pods raises the count, a lack of them lowers it.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), perPod(1))
			s.scale(20)
			s.syncs(2, jobs(20))
			s.scaleStatus(20, 25)
			s.syncs(2, jobs(24))
			s.scaleStatus(20, 18)
			s.syncs(2, jobs(19))
			s.scaleStatus(20, 0)
			s.syncs(2, jobs(21))
			for n := range int32(36) {
				s.scaleStatus(20, n)
				s.syncs(1, jobs(20))
			}
		},
	}, {
		name:  "metrics-edited",
		about: "Targets edited, and a metric added and removed, between two syncs.",
		play: func(s *stage) {
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, nil, perPod(1))
			s.scale(10)
			s.syncs(4, jobs(10))
			s.edit(3*time.Second, func(spec *algorithm.Spec) { spec.Metrics = []algorithm.Metric{perPod(0.5)} })
			s.syncs(4)
			s.read(jobs(10), jobs(35))
			s.edit(3*time.Second, func(spec *algorithm.Spec) { spec.Metrics = []algorithm.Metric{perPod(0.5), perPod(1)} })
			s.syncs(4)
			s.read(jobs(10))
			s.edit(3*time.Second, func(spec *algorithm.Spec) { spec.Metrics = []algorithm.Metric{perPod(2)} })
			s.syncs(30)
		},
	}}
}

// podScenes are about metrics that are set in relation to pods.
func podScenes() []scene {
	return []scene{{
		name:  "pods-metric",
		about: "A Pods metric: a pod without a reading counts as the target on the way down and as 0\non the way up, one that is pending as 0 on the way up, one that failed not at all.",
		play: func(s *stage) {
			metric := algorithm.Metric{Source: algorithm.PodsSource, Target: algorithm.Target{Type: algorithm.AverageValueTarget, AverageValue: 10_000}}
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), metric)
			for _, missing := range []int{0, 1, 3} {
				for _, state := range []algorithm.PodPhase{algorithm.Running, algorithm.Pending, algorithm.Failed} {
					for _, value := range []algorithm.Milli{4000, 9000, 10_000, 15_000, 30_000} {
						pods := longReady(6)
						pods[5].Phase = state
						s.step.in.Workload.Pods = pods
						s.scale(6)
						s.syncs(1, reading(pods[missing:], value))
					}
				}
			}
		},
	}, {
		name:  "pods-cpu-warm-up",
		about: "Utilization of the CPU: the readings of a pod that is younger than five minutes count\nonce it is ready and a whole window was measured since; until then it counts as idle\non the way up and not at all on the way down.",
		play: func(s *stage) {
			metric := algorithm.Metric{Source: algorithm.ResourceSource, Resource: algorithm.CPU, Target: algorithm.Target{Type: algorithm.UtilizationTarget, Utilization: 50}}
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), metric)
			pods := longReady(3)
			young := pods[2]
			young.Started, young.ReadySince, young.Ready = 0, 0, algorithm.False
			pods[2] = young
			for i := range 60 {
				if i == 20 {
					pods = append(pods[:2:2], young)
					pods[2].Ready, pods[2].ReadySince = algorithm.True, s.tick
				}
				s.step.in.Workload.Pods = pods
				s.scale(3)
				value := []algorithm.Milli{400, 100, 250}[i/5%3]
				r := reading(pods, value)
				for name, p := range r.Pods {
					p.At = s.tick - 10*time.Second
					r.Pods[name] = p
				}
				s.syncs(1, r)
			}
		},
	}, {
		name:  "pods-value-target",
		about: "The Value of an External metric is multiplied by the pods that run and are ready, those\nthat are being deleted included; with none of them ready it asks for 0.",
		play: func(s *stage) {
			metric := algorithm.Metric{Source: algorithm.ExternalSource, Target: algorithm.Target{Type: algorithm.ValueTarget, Value: 100_000}}
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, behavior(func(_, down *algorithm.Rules) { down.Window = 0 }), metric)
			for unready := range 5 {
				pods := longReady(4)
				pods[0].Deleting = true
				for i := range unready {
					pods[3-i].Ready = algorithm.False
				}
				s.step.in.Workload.Pods = pods
				for _, value := range []float64{100, 110, 150, 290, 90, 89.999, 20, 0} {
					s.scale(4)
					s.syncs(1, jobs(value))
				}
			}
			s.step.in.Workload.Pods = nil
			s.scale(4)
			s.syncs(2, jobs(100))
			s.syncs(2, jobs(200))
		},
	}, {
		name:  "pods-container-memory",
		about: "The memory of one container against what it requests. A single pod that requests none\nmakes the metric fail.",
		play: func(s *stage) {
			metric := algorithm.Metric{
				Source: algorithm.ContainerResourceSource, Resource: "memory", Container: "app",
				Target: algorithm.Target{Type: algorithm.UtilizationTarget, Utilization: 80},
			}
			s.spec(algorithm.Bounds{Min: 1, Max: 60}, nil, metric)
			pods := longReady(5)
			s.step.in.Workload.Pods = pods
			s.scale(5)
			s.syncs(3, reading(pods, 200_000))
			s.syncs(3, reading(pods, 300_000))
			bare := slices.Clone(pods)
			bare[4].Containers = []algorithm.Container{{Name: "app", Requests: map[string]algorithm.Milli{algorithm.CPU: 500}}}
			s.step.in.Workload.Pods = bare
			s.syncs(3)
			s.step.in.Workload.Pods = pods
			s.syncs(30, reading(pods, 100_000))
		},
	}}
}

// longReady are pods that have been ready for an hour at time 0. They request 500m of the
// CPU and 256 of memory.
func longReady(n int) []algorithm.Pod {
	pods := make([]algorithm.Pod, n)
	for i := range pods {
		pods[i] = algorithm.Pod{
			Name: fmt.Sprintf("web-%d", i), Phase: algorithm.Running,
			HasStarted: true, Started: -time.Hour, Ready: algorithm.True, ReadySince: -time.Hour,
			Containers: []algorithm.Container{{Name: "app", Requests: map[string]algorithm.Milli{algorithm.CPU: 500, "memory": 256_000}}},
		}
	}
	return pods
}

// reading is the same value for each of the pods, measured at time 0.
func reading(pods []algorithm.Pod, value algorithm.Milli) algorithm.Reading {
	r := algorithm.Reading{Pods: map[string]algorithm.PodReading{}}
	for _, p := range pods {
		r.Pods[p.Name] = algorithm.PodReading{Value: value, Window: 30 * time.Second}
	}
	return r
}
