package algorithm

import (
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// move is a change of the replica count.
type move struct {
	second float64
	to     int32
}

// every is one move per period, beginning at second.
func every(period, second float64, counts ...int32) []move {
	moves := make([]move, len(counts))
	for i, n := range counts {
		moves[i] = move{second + float64(i)*period, n}
	}
	return moves
}

// Cases that people reported of the controller, with the numbers that are right.
// The traces of the same names show every sync.
func TestUserCases(t *testing.T) {
	for _, tt := range []struct {
		trace string
		want  []move
	}{
		{"c01-raw", []move{{0, 88}}},
		{"c01-no-up-tolerance", []move{{0, 88}, {15, 89}}},
		{"c01-two-steps", []move{{0, 80}, {15, 89}}},
		{"c01-two-steps-early", []move{{0, 80}, {14.9, 88}}},
		{"c01-81", []move{{0, 81}}},
		{"c03c", []move{{60, 3}}},
		{"c06", []move{{600, 15}, {780, 14}}},
		{"c08", every(60, 645, 3, 4, 5, 6)},
		{"c08-hourly", []move{{0, 7}, {15, 10}, {1185, 3}, {3600, 7}, {3615, 10}, {4785, 3}}},
		{"c09a", every(60, 300, 16, 12, 8, 4, 2)},
		{"c09b", every(60, 0, 6, 10, 14, 18, 20)},
		{"c09c", every(60, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 20)},
		{"c10", every(60, 300, 18, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2)},
		{"c13c", []move{{0, 6}, {15, 10}}},
		{"c13d", every(15, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1)},
		{"c21-zeros", append([]move{{285, 3}}, every(15, 330, 7, 14, 28, 41)...)},
		{"c21-zeros-legacy", append([]move{{300, 3}}, every(15, 330, 6, 12, 24, 41)...)},
		{"c21-zeros-in-time", nil},
		{"c21-fails", nil},
	} {
		t.Run(tt.trace, func(t *testing.T) {
			content, err := os.ReadFile("testdata/" + tt.trace + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, syncs := replay(t, string(content))
			var got []move
			for _, s := range syncs {
				if s.outcome.Rescaled {
					got = append(got, move{s.at.Seconds(), s.outcome.Replicas})
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("moved %v, want %v", got, tt.want)
			}
		})
	}
}

// external is an External metric with an AverageValue target: so much per pod.
func external(target float64) Metric {
	return Metric{Source: ExternalSource, Target: Target{AverageValue: Milli(target * 1000)}}
}

// perPod is a Pods metric.
func perPod(target float64) Metric {
	return Metric{Source: PodsSource, Target: Target{AverageValue: Milli(target * 1000)}}
}

// memory is a Resource metric in percent of what the pods request.
func memory(percent int32) Metric {
	return Metric{Source: ResourceSource, Resource: "memory", Target: Target{Type: UtilizationTarget, Utilization: percent}}
}

// readyPods are pods that request 100 of memory, so that a reading is its percentage.
func readyPods(n int32) []Pod {
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = Pod{
			Name: "worker-" + strconv.Itoa(i), Phase: Running, Ready: True,
			Containers: []Container{{Name: "worker", Requests: map[string]Milli{"memory": 100_000}}},
		}
	}
	return pods
}

// each pod reads the same.
func each(pods int32, value float64) Reading {
	readings := make(map[string]PodReading, pods)
	for _, p := range readyPods(pods) {
		readings[p.Name] = PodReading{Value: Milli(math.Round(value * 1000))}
	}
	return Reading{Pods: readings}
}

// total is what an External metric reads.
func total(value float64) Reading { return Reading{Series: []Milli{Milli(math.Round(value * 1000))}} }

// Cases about one metric: what is asked for at so many pods.
func TestUserCasesOfOneMetric(t *testing.T) {
	tenth := Tolerance{Down: 0.1, Up: 0.1}
	tight := Tolerance{Down: 0.05, Up: 0.02}
	oneOfTwo := each(1, 0.813) // the second pod has no reading yet
	for _, tt := range []struct {
		letter, name string
		metric       Metric
		reading      Reading
		scale        Scale // spec and status
		tolerance    Tolerance
		want         int32
		average      string // "" where the case does not show it
	}{
		// kubernetes#116984, kubernetes#115586, stackoverflow 79207559: every extra task
		// should matter, and some do not. The borders belong to the band.
		{"C03a", "37/36 = 1.028 is inside", external(4), total(37), Scale{9, 9}, tenth, 9, ""},
		{"C03a", "38/36 = 1.056 is inside", external(4), total(38), Scale{9, 9}, tenth, 9, ""},
		{"C03a", "39/36 = 1.083 is inside", external(4), total(39), Scale{9, 9}, tenth, 9, ""},
		{"C03a", "40/36 = 1.111 is not", external(4), total(40), Scale{9, 9}, tenth, 10, ""},
		{"C03a", "44/40 = 1.1: the border belongs to the band", external(4), total(44), Scale{10, 10}, tenth, 10, ""},
		{"C03a", "45/40 = 1.125, and 45/4 = 11.25: 12, never 11", external(4), total(45), Scale{10, 10}, tenth, 12, ""},
		{"C03a", "its own tolerance up: 41/40 = 1.025 is outside 0.02", external(4), total(41), Scale{10, 10}, tight, 11, ""},
		{"C03a", "its own tolerance down: 38/40 = 0.95 is inside 0.05", external(4), total(38), Scale{10, 10}, tight, 10, ""},
		{"C03a", "its own tolerance down: 36/40 = 0.9 is not", external(4), total(36), Scale{10, 10}, tight, 9, ""},
		{"C03b", "71 % of 70: 1.014 is inside", memory(70), each(1, 71), Scale{1, 1}, tenth, 1, "71"},
		{"C03b", "71 % of 65: 1.092 is inside", memory(65), each(1, 71), Scale{1, 1}, tenth, 1, "71"},
		{"C03b", "71 % of 64: 1.109 is not", memory(64), each(1, 71), Scale{1, 1}, tenth, 2, "71"},
		{"C03c", "2 pods at 72 % of 65: 2.2, so 3", memory(65), each(2, 72), Scale{2, 2}, tenth, 3, "72"},
		{"C03c", "2 pods at 71 % of 65: inside", memory(65), each(2, 71), Scale{2, 2}, tenth, 2, "71"},

		// kubernetes#138505, kubernetes#118273: a rollout adds surge pods to status, and the
		// band answers status.
		{"C04a", "25 % surge: 100/125 = 0.8 is outside, so 100", external(1), total(100), Scale{100, 125}, tenth, 100, "0.8"},
		{"C04a", "5 % surge, first rollout: 0.952 is inside, so 105", external(1), total(100), Scale{100, 105}, tenth, 105, ""},
		{"C04a", "5 % surge, second: 0.901 is inside, so 111", external(1), total(100), Scale{105, 111}, tenth, 111, ""},
		{"C04a", "5 % surge, third: 0.855 is outside: back to 100", external(1), total(100), Scale{111, 117}, tenth, 100, ""},
		{"C04a", "no tolerance, no climb: whatever status is", external(1), total(100), Scale{100, 105}, Tolerance{}, 100, ""},
		{"C04b", "status is spec: 0.968 is inside", external(200), total(9094.764), Scale{47, 47}, tenth, 47, "193.506"},
		{"C04b", "status has the old pods too: 45.47, so 46", external(200), total(9094.764), Scale{47, 131}, tenth, 46, "69.426"},

		// Decisions that a real controller was recorded making.
		{"C13a", "1 pod, 0.543 of 0.5 = 1.086: inside", perPod(0.5), each(1, 0.543), Scale{1, 1}, tenth, 1, "0.543"},
		{"C13a", "1 pod, 0.555 of 0.5 = 1.11: not", perPod(0.5), each(1, 0.555), Scale{1, 1}, tenth, 2, "0.555"},
		{"C13b", "10 pods, 0.45 of 0.5 = 0.9: inside", perPod(0.5), each(10, 0.45), Scale{10, 10}, tenth, 10, "0.45"},
		{"C13c", "2 pods of 97.5 against 20 want 10", perPod(20), each(2, 97.5), Scale{2, 2}, tenth, 10, "97.5"},
		{"C13c", "6 pods of 236 against 20", perPod(20), each(6, 236), Scale{6, 6}, tenth, 71, "236"},
		{"C13", "a pod without a reading counts as 0 upward: 0.813 / 2 is below 0.5, so nothing", perPod(0.5), oneOfTwo, Scale{2, 2}, tenth, 2, "0.813"},
		{"C13", "the same as an External total would be 4", external(0.5), total(2 * 0.813), Scale{2, 2}, tenth, 4, "0.813"},

		// keda#7880: a queue of -1 jobs. ToMilli lets none pass; this is what it saves from.
		{"C23", "a negative total counts as an overflow", external(5), total(-1), Scale{3, 3}, tenth, math.MaxInt32, ""},
		{"C23", "nothing at no pods: the average is 0, not the smallest int64", external(5), total(0), Scale{0, 0}, tenth, 0, "0"},

		// keda#6839, kube-metrics-adapter#189, keda#186, keda#1134, prometheus-adapter#27:
		// thousandths that are read as whole numbers.
		{"C35a", "37292 over 3 pods is shown as 12430667m: 1.86, so 2", external(20_000), total(37292), Scale{3, 3}, tenth, 2, "12430.667"},
		{"C35a", "2774334m on 1 pod: far below, but one is needed", external(20_000), total(2774.334), Scale{1, 1}, tenth, 1, "2774.334"},
		{"C35b", "31 over 3 pods is shown as 10334m: 2.07, so 3", external(15), total(31), Scale{3, 3}, tenth, 3, "10.334"},
		{"C35b", "34 over 3 pods: 2.27, so 3", external(15), total(34), Scale{3, 3}, tenth, 3, "11.334"},
		{"C35c", "100 over 3 pods is shown as 33334m", external(50), total(100), Scale{3, 3}, tenth, 2, "33.334"},
		{"C35d", "74100m on each of 10 pods: 74.1, so 75 before max", external(10), total(741), Scale{10, 10}, tenth, 75, "74.1"},
		{"C35e", "200000m is 200", external(200), total(200), Scale{1, 1}, tenth, 1, "200"},
	} {
		t.Run(tt.letter+" "+tt.name, func(t *testing.T) {
			w := Workload{Scale: tt.scale, Pods: readyPods(tt.scale.Spec)}
			got, err := Recommend(tt.metric, tt.reading, w, tt.tolerance, DefaultWarmup())
			if err != nil || got.Replicas != tt.want {
				t.Fatalf("asks for %d, %v; want %d", got.Replicas, err, tt.want)
			}
			if shown := strconv.FormatFloat(got.Average.Float(), 'f', -1, 64); tt.average != "" && shown != tt.average {
				t.Errorf("shows %s, want %s", shown, tt.average)
			}
		})
	}
}

// Cases about the value that is sent, and what the HPA makes of it.
func TestUserCasesOfEncoding(t *testing.T) {
	tenth := Tolerance{Down: 0.1, Up: 0.1}
	for _, tt := range []struct {
		letter, name string
		wanted       int32
		scale        Scale
		tolerance    Tolerance
		value        float64
		reachable    bool
		lands        int32
	}{
		// keda#5263: a plan of two steps (80, then 89) would reach 89 and needs to know when the
		// next sync comes: the traces c01-two-steps and c01-two-steps-early differ by 0.1 s.
		// So there are no detours. The count is asked for, and where the HPA is stuck this
		// is said, with the cure: scaleUp.tolerance 0.
		{"C01", "from 44 it is asked for, whatever policies make of it", 89, Scale{44, 44}, tenth, 89, true, 89},
		{"C01", "from 88 it cannot be reached: held, and reported", 89, Scale{88, 88}, tenth, 88, false, 88},
		{"C01", "the cure", 89, Scale{88, 88}, Tolerance{Down: 0.1}, 89, true, 89},
		// kubernetes#138505: the value follows from the count wanted, so a rollout cannot feed on itself.
		{"C04a", "no tolerance: 100 is sent as 100", 100, Scale{100, 125}, Tolerance{}, 100, true, 100},
		{"C04a", "no tolerance, 5 % surge", 100, Scale{105, 111}, Tolerance{}, 100, true, 100},
		{"C04a", "no value keeps 100 beside a status of 105", 100, Scale{100, 105}, tenth, 100, false, 105},
		{"C04a", "but the next rollout brings it back", 100, Scale{105, 111}, tenth, 99.001, true, 100},
	} {
		t.Run(tt.letter+" "+tt.name, func(t *testing.T) {
			got := Encode(tt.wanted, tt.scale.Spec, tt.scale.Status, 1000, tt.tolerance)
			if got.Value.Float() != tt.value || got.Reachable != tt.reachable {
				t.Errorf("sends %v, reachable %v; want %v, %v", got.Value.Float(), got.Reachable, tt.value, tt.reachable)
			}
			if lands, _ := AverageValue(got.Value, 1000, tt.scale.Status, tt.tolerance); lands != tt.lands {
				t.Errorf("the HPA lands on %d, want %d", lands, tt.lands)
			}
		})
	}
}

// C23, keda#7880, keda#7475: a source that says -1 when it does not know, or divides by zero.
// A 0 in its place would scale down at the worst moment, so it is no reading, and a
// metric without a reading holds: the trace c21-fails.
func TestUserCasesOfNonsense(t *testing.T) {
	for _, value := range []float64{-1, -0.0004, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if milli, err := ToMilli(value); err == nil {
			t.Errorf("%v is read as %d thousandths", value, milli)
		}
	}
}
