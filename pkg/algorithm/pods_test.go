package algorithm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// probe is a pod and what was read of it; silent means nothing.
type probe struct {
	pod    Pod
	value  Milli
	silent bool
}

type probes []probe

// using is a pod that is ready since long ago, requests 10 and uses value.
func using(value Milli) probes {
	pod := Pod{Phase: Running, Ready: True, HasStarted: true, Containers: requesting(CPU, 10)}
	return probes{{pod: pod, value: value}}
}

func silent() probes {
	p := using(0)
	p[0].silent = true
	return p
}

func pending() probes { return silent().with(pendingStill) }

func (p probes) with(change func(*Pod)) probes {
	changed := slices.Clone(p)
	for i := range changed {
		change(&changed[i].pod)
	}
	return changed
}

func asking(resource string, request Milli) func(*Pod) {
	return func(pod *Pod) { pod.Containers = requesting(resource, request) }
}

func times(n int, p probes) probes { return slices.Repeat(p, n) }

func all(parts ...probes) probes { return slices.Concat(parts...) }

func failed(pod *Pod)       { pod.Phase = Failed }
func succeeded(pod *Pod)    { pod.Phase = Succeeded }
func unknown(pod *Pod)      { pod.Phase = Unknown }
func pendingStill(pod *Pod) { pod.Phase = Pending }
func deleting(pod *Pod)     { pod.Deleting = true }
func unready(pod *Pod)      { pod.Ready = False }
func unstarted(pod *Pod)    { pod.HasStarted = false }

// scene is one metric to calculate an hour after the pods started.
type scene struct {
	current   int32
	pods      probes
	strangers []Milli // readings of pods that the selector does not find
	// The metric is Pods with an averageValue of 10, or Resource cpu with a utilization.
	source      MetricSource
	resource    string
	container   string
	utilization int32
	exact       bool // a tolerance of 0 instead of 0.1
}

func (s scene) calculate() (Calculation, error) {
	m := Metric{PodsSource, Target{AverageValue: 10}, s.resource, s.container}
	if s.utilization != 0 {
		m = Metric{ResourceSource, Target{Utilization: s.utilization}, cmp.Or(s.resource, CPU), s.container}
	}
	m.Source = cmp.Or(s.source, m.Source)
	w := Workload{Scale: Scale{Spec: s.current}, Now: time.Hour}
	r := Reading{Pods: map[string]PodReading{}}
	for i, p := range s.pods {
		p.pod.Name = fmt.Sprintf("web-%d", i)
		w.Pods = append(w.Pods, p.pod)
		if !p.silent {
			r.Pods[p.pod.Name] = PodReading{Value: p.value, At: w.Now, Window: 30 * time.Second}
		}
	}
	for i, value := range s.strangers {
		r.Pods[fmt.Sprintf("stranger-%d", i)] = PodReading{Value: value}
	}
	tolerance := Tolerance{Down: 0.1, Up: 0.1}
	if s.exact {
		tolerance = Tolerance{}
	}
	if s.utilization != 0 {
		return podsUtilization(m, r, w, tolerance, DefaultWarmup())
	}
	return podsAverageValue(m, r, w, tolerance, DefaultWarmup())
}

func TestPodsAverageValue(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scene   scene
		want    int32
		average Milli
		within  bool
	}{
		{"twice the target", scene{current: 3, pods: times(3, using(20))}, 6, 20, false},
		{"half of it", scene{current: 4, pods: times(4, using(5))}, 2, 5, false},
		{"idle", scene{current: 4, pods: times(4, using(0))}, 0, 0, false},
		{"2.2 x 25 is 55.00000000000001", scene{current: 25, pods: times(25, using(22))}, 56, 22, false},
		{"the upper edge of the tolerance", scene{current: 3, pods: times(3, using(11))}, 3, 11, true},
		{"above it", scene{current: 3, pods: times(3, using(12))}, 4, 12, false},
		{"the lower edge", scene{current: 30, pods: times(30, using(9))}, 30, 9, true},
		{"below it", scene{current: 30, pods: times(30, using(8))}, 24, 8, false},
		{"inside, current stays whatever runs", scene{current: 7, pods: times(2, using(10))}, 7, 10, true},
		{"the average is cut: 10.67 is 10", scene{current: 3, pods: all(using(10), times(2, using(11))), exact: true}, 3, 10, true},
		{"toward zero: -10.67 is -10", scene{current: 3, pods: all(using(-10), times(2, using(-11)))}, -3, -10, false},
		{"ceil(-0.5) is 0", scene{current: 3, pods: using(-5)}, 0, -5, false},

		// One pass has no guard of direction.
		{"5 replicas, 2 pods, ratio 2", scene{current: 5, pods: times(2, using(20))}, 4, 20, false},
		{"1 replica, 4 pods, ratio 0.5", scene{current: 1, pods: times(4, using(5))}, 2, 5, false},

		// Missing: (20 + 20 + 0) / 3 = 13, 1.3 x 3; (4 + 4 + 10) / 3 = 6, 0.6 x 3. What is
		// shown is the first pass.
		{"missing, up: idle", scene{current: 3, pods: all(times(2, using(20)), silent())}, 4, 20, false},
		{"missing, down: at the target", scene{current: 3, pods: all(times(2, using(4)), silent())}, 2, 4, false},
		{"missing, level: left out", scene{current: 3, pods: all(times(2, using(10)), silent()), exact: true}, 3, 10, true},
		{"missing, up: within by the second pass", scene{current: 2, pods: all(using(21), silent())}, 2, 21, true},
		{"missing, down: within by the second pass", scene{current: 9, pods: all(using(5), times(9, silent()))}, 9, 5, true},
		{"missing, inside: a second pass all the same, which turns", scene{current: 2, pods: all(using(11), silent())}, 2, 11, false},
		{"missing, up: the ratio turns, 12 / 2 = 6", scene{current: 5, pods: all(using(12), silent())}, 5, 12, false},
		{"missing, down: below 0, (-40 + 10) / 2 = -15", scene{current: 5, pods: all(using(-40), silent())}, -3, -40, false},
		{"missing, up: the count turns, 4 < 9", scene{current: 9, pods: all(times(2, using(20)), silent())}, 9, 20, false},
		{"missing, down: the count turns, 2 > 1", scene{current: 1, pods: all(times(2, using(4)), silent())}, 1, 4, false},
		{"missing, up: an equal count is a count", scene{current: 4, pods: all(times(2, using(20)), silent())}, 4, 20, false},

		// Unready pods.
		{"pending, up: idle", scene{current: 3, pods: all(times(2, using(20)), pending())}, 4, 20, false},
		{"pending, down: left out", scene{current: 3, pods: all(times(2, using(4)), pending())}, 1, 4, false},
		{"pending: its reading does not count", scene{current: 3, pods: all(times(2, using(4)), using(900).with(pendingStill))}, 1, 4, false},
		{"pending, down: one pass, so no guard", scene{current: 1, pods: all(times(4, using(5)), pending())}, 2, 5, false},
		{"pending, inside: no second pass", scene{current: 2, pods: all(using(10), pending())}, 2, 10, true},
		{"pending, up: the ratio turns", scene{current: 2, pods: all(using(12), pending())}, 2, 12, false},
		{"pending and missing, up: (60 + 0 + 0) / 3", scene{current: 3, pods: all(using(60), pending(), silent())}, 6, 60, false},
		{"pending and missing, down: (8 + 10) / 2 = 9", scene{current: 3, pods: all(using(8), pending(), silent())}, 3, 8, true},

		// Pods on their way out do not exist, even if they were read.
		{"failed", scene{current: 2, pods: all(using(20), using(900).with(failed))}, 2, 20, false},
		{"being deleted", scene{current: 2, pods: all(using(20), using(900).with(deleting))}, 2, 20, false},
		{"being deleted, pending", scene{current: 2, pods: all(using(20), pending().with(deleting))}, 2, 20, false},
		{"being deleted, without a reading", scene{current: 2, pods: all(using(20), silent().with(deleting))}, 2, 20, false},
		{"succeeded pods are missing", scene{current: 3, pods: all(times(2, using(20)), silent().with(succeeded))}, 4, 20, false},
		{"succeeded pods may be read", scene{current: 2, pods: all(using(20), using(40).with(succeeded))}, 6, 30, false},
		{"pods of an unknown phase too", scene{current: 2, pods: all(using(20), using(40).with(unknown))}, 6, 30, false},

		// Readings of pods that the selector does not find: in sums, in the count of a
		// second pass, not among the ready.
		{"stranger: (20 + 40) / 2 = 30, 3 x 1", scene{current: 1, pods: using(20), strangers: []Milli{40}}, 3, 30, false},
		{"stranger and missing: (20 + 0 + 40) / 3 = 20, 2 x 3", scene{current: 1, pods: all(using(20), silent()), strangers: []Milli{40}}, 6, 30, false},
		{"stranger and failed", scene{current: 1, pods: all(using(20), using(900).with(failed)), strangers: []Milli{40}}, 3, 30, false},
		{"only strangers: 3 x 0 ready", scene{current: 5, pods: using(900).with(failed), strangers: []Milli{30}}, 0, 30, false},
		{"only strangers, pending: (30 + 0) / 2 = 15, 1.5 x 2", scene{current: 1, pods: pending(), strangers: []Milli{30}}, 3, 30, false},

		// CPU alone waits for pods to warm up, whatever it is set against.
		{"cpu, up: unready is idle", scene{current: 3, source: ResourceSource, resource: CPU, pods: all(times(2, using(20)), using(900).with(unready))}, 4, 20, false},
		{"cpu, down: unready is left out", scene{current: 3, source: ResourceSource, resource: CPU, pods: all(times(2, using(4)), using(900).with(unready))}, 1, 4, false},
		{"cpu of a container", scene{current: 3, source: ContainerResourceSource, resource: CPU, container: "app", pods: all(times(2, using(4)), using(900).with(unready))}, 1, 4, false},
		{"cpu, not started", scene{current: 3, source: ResourceSource, resource: CPU, pods: all(times(2, using(4)), using(900).with(unstarted))}, 1, 4, false},
		{"cpu, unready and without a reading: missing", scene{current: 3, source: ResourceSource, resource: CPU, pods: all(times(2, using(4)), silent().with(unready))}, 2, 4, false},
		{"memory", scene{current: 3, source: ResourceSource, resource: "memory", pods: all(times(2, using(4)), using(22).with(unready))}, 3, 10, true},
		{"a Pods metric, even with cpu for a resource", scene{current: 3, resource: CPU, pods: all(times(2, using(4)), using(22).with(unready))}, 3, 10, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.scene.calculate()
			want := Calculation{Replicas: tt.want, Average: tt.average, WithinTolerance: tt.within}
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// Of pods that request 10 each.
func TestPodsUtilization(t *testing.T) {
	for _, tt := range []struct {
		name        string
		scene       scene
		want        int32
		average     Milli
		utilization int32
		within      bool
	}{
		{"twice the target", scene{current: 3, utilization: 50, pods: times(3, using(10))}, 6, 10, 100, false},
		{"22 / 10 x 25 is 55.00000000000001", scene{current: 25, utilization: 10, pods: times(25, using(22).with(asking(CPU, 100)))}, 56, 22, 22, false},
		{"cut to a percent: 5.67 of 10 is 56 %, 56 / 50 x 3", scene{current: 3, utilization: 50, pods: all(using(5), times(2, using(6)))}, 4, 5, 56, false},
		{"the sums are divided, not the ratios averaged", scene{current: 2, utilization: 50, pods: all(using(10), using(0).with(asking(CPU, 90)))}, 1, 5, 10, false},
		{"within", scene{current: 3, utilization: 50, pods: times(3, using(5))}, 3, 5, 50, true},

		// (20 + 20 + 0) / 30 = 133 %, 1.33 x 3; (4 + 4 + 10) / 30 = 60 %, 60 / 80 x 3.
		{"missing, up: idle", scene{current: 3, utilization: 100, pods: all(times(2, using(20)), silent())}, 4, 20, 200, false},
		{"missing, down: all of its request", scene{current: 5, utilization: 80, pods: all(times(2, using(4)), silent())}, 3, 4, 40, false},
		{"missing, down: the target if that is more, (4 + 4 + 20) / 30 = 93 %, 93 / 200 x 3", scene{current: 5, utilization: 200, pods: all(times(2, using(4)), silent())}, 2, 4, 40, false},
		{"missing, down: cut, 150 % of 1 is 1, (1 + 1 + 1) / 12 = 25 %", scene{current: 5, utilization: 150, pods: all(using(1), using(1).with(asking(CPU, 1)), silent().with(asking(CPU, 1)))}, 1, 1, 18, false},
		{"missing, down: turned by full requests, (7 + 90) / 100 = 97 %", scene{current: 2, utilization: 80, pods: all(using(7), silent().with(asking(CPU, 90)))}, 2, 7, 70, false},
		{"missing, level: left out", scene{current: 2, utilization: 80, exact: true, pods: all(using(8), silent())}, 2, 8, 80, true},
		{"missing, down: all of it and not a percent more or less, 1,000,000 / 1,000,001 = 99 %",
			scene{current: 200, utilization: 99, exact: true, pods: all(using(0).with(asking(CPU, 1)), times(100, silent().with(asking(CPU, 10_000))))}, 200, 0, 0, true},
		{"missing, up: within", scene{current: 2, utilization: 100, pods: all(using(21), silent())}, 2, 21, 210, true},
		{"pending, up: its request counts, 20 / 100 = 20 %", scene{current: 2, utilization: 10, pods: all(using(20), pending().with(asking(CPU, 90)))}, 4, 20, 200, false},
		{"pending, down: its request does not", scene{current: 2, utilization: 80, pods: all(using(4), pending().with(asking(CPU, 90)))}, 1, 4, 40, false},
		{"failed: its request does not", scene{current: 2, utilization: 80, pods: all(using(4), silent().with(asking(CPU, 90)).with(failed))}, 1, 4, 40, false},
		{"no request is needed of one that requests 0", scene{current: 2, utilization: 80, pods: all(using(16), using(4).with(asking(CPU, 0)))}, 5, 10, 200, false},

		// Readings of pods that the selector does not find: in no sum, but in the count
		// of a second pass.
		{"stranger", scene{current: 1, utilization: 100, pods: using(20), strangers: []Milli{900}}, 2, 20, 200, false},
		{"stranger and missing: 30 / 20 = 150 %, 1.5 x (2 + 1)", scene{current: 2, utilization: 100, pods: all(using(30), silent()), strangers: []Milli{900}}, 5, 30, 300, false},

		{"cpu: unready is idle on the way up", scene{current: 2, utilization: 50, pods: all(using(16), using(900).with(unready))}, 4, 16, 160, false},
		{"memory: nothing warms up", scene{current: 2, resource: "memory", utilization: 50, pods: all(using(1), using(9).with(unready)).with(asking("memory", 10))}, 2, 5, 50, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.scene.calculate()
			want := Calculation{Replicas: tt.want, Average: tt.average, Utilization: tt.utilization, WithinTolerance: tt.within}
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestPodsRefuse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scene scene
		says  string
	}{
		{"no pods", scene{strangers: []Milli{1}}, "the scale target's selector finds no pods"},
		{"nothing was read", scene{pods: times(2, silent())}, "the metric has no data that counts, pods: 2, pending or starting: 0, without a reading: 2, failed or being deleted: 0"},
		{"nothing counts", scene{pods: all(using(1).with(pendingStill), silent(), times(2, using(1).with(failed)))}, "the metric has no data that counts, pods: 4, pending or starting: 1, without a reading: 1, failed or being deleted: 2"},
		{"beyond int32", scene{pods: using(21_474_836_480)}, "the metric asks for 2.147483648e+09 replicas, which is outside of -2147483648 to 2147483647"},
		{"below int32", scene{pods: using(-21_474_836_490)}, "the metric asks for -2.147483649e+09 replicas, which is outside of -2147483648 to 2147483647"},
		{"beyond int32 in the second pass", scene{pods: all(using(21_474_836_500), silent())}, "the metric asks for 2.14748365e+09 replicas"},
		{"only strangers", scene{utilization: 50, pods: pending(), strangers: []Milli{1}}, "the metric has no data of the pods that the scale target's selector finds"},
		{"requests of 0", scene{utilization: 50, pods: times(2, using(1).with(asking(CPU, 0)))},
			"the requests for cpu of the 2 pods that count add up to 0"},
		{"requests that wrap around to 0 in the second pass", scene{utilization: 50, pods: all(times(2, using(1)), times(2, silent())).with(asking(CPU, 1<<62))},
			"the requests for cpu of the 4 pods that count add up to 0"},
		{"no request", scene{utilization: 50, resource: "memory", pods: using(1)}, `container "app" of pod "web-0" has no request for memory`},
		{"a pending pod without a request", scene{utilization: 50, pods: all(using(1), pending().with(asking("memory", 1)))},
			`container "app" of pod "web-1" has no request for cpu`},
		{"a pod being deleted without the container", scene{utilization: 50, container: "app", pods: all(using(1), using(1).with(deleting).with(func(pod *Pod) { pod.Containers = nil }))},
			`pod "web-1" has no container "app"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.scene.calculate()
			if err == nil || !strings.Contains(err.Error(), tt.says) || got != (Calculation{}) {
				t.Errorf("got %+v, %v; want an error that says %q", got, err, tt.says)
			}
		})
	}
	if _, err := (scene{pods: times(2, silent())}).calculate(); !errors.Is(err, ErrNoData) {
		t.Errorf("%v is not ErrNoData", err)
	}
}

// The ends of int32 are counts like any other.
func TestPodsReachTheEndsOfInt32(t *testing.T) {
	for value, want := range map[Milli]int32{21_474_836_470: 1<<31 - 1, -21_474_836_480: -1 << 31} {
		got, err := scene{pods: all(using(value))}.calculate()
		if err != nil || got.Replicas != want {
			t.Errorf("%d: got %d, %v; want %d", value, got.Replicas, err, want)
		}
	}
}

func TestReadyRunning(t *testing.T) {
	pod := using(0)[0].pod
	with := func(change func(*Pod)) Pod { return using(0).with(change)[0].pod }
	uncertain := with(func(pod *Pod) { pod.Ready = Uncertain })
	without := with(func(pod *Pod) { pod.Ready = "" })
	for _, tt := range []struct {
		name string
		pods []Pod
		want int
	}{
		{"ready", []Pod{pod, pod}, 2},
		{"being deleted", []Pod{pod, with(deleting)}, 2},
		{"not started", []Pod{pod, with(unstarted)}, 2},
		{"not ready", []Pod{pod, with(unready), uncertain, without}, 1},
		{"not running", []Pod{pod, with(pendingStill), with(failed), with(succeeded), with(unknown)}, 1},
		{"none is an answer where there are pods", []Pod{with(unready)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := readyRunning(tt.pods); err != nil || got != tt.want {
				t.Errorf("got %d, %v; want %d", got, err, tt.want)
			}
		})
	}
	if _, err := readyRunning(nil); err == nil {
		t.Error("no pods at all are no error")
	}
}

// The pod started at 1000 s; CPU counts from 300 s after that, readiness from 30 s.
func TestDistrusts(t *testing.T) {
	young, old := seconds(1300)-1, seconds(1300)
	for _, tt := range []struct {
		name   string
		ready  Status
		since  time.Duration
		now    time.Duration
		readAt time.Duration // the end of a window of 30 s
		want   bool
	}{
		{"young, unready", False, seconds(1100), young, young, true},
		{"young, readiness lost: the whole window tells of that", Uncertain, seconds(1100), young, young, false},
		{"young, a whole window since ready", True, seconds(1100), young, seconds(1130), false},
		{"young, a nanosecond less", True, seconds(1100), young, seconds(1130) - 1, true},
		{"young, a nanosecond less, readiness lost", Uncertain, seconds(1100), young, seconds(1130) - 1, true},
		{"old, ready a moment ago", True, old, old, old, false},
		{"old, an old reading", True, seconds(1100), old, 0, false},
		{"old, unready, once ready", False, seconds(1030), old, old, false},
		{"old, unready, never ready", False, seconds(1030) - 1, old, old, true},
		{"old, readiness lost, never ready", Uncertain, seconds(1000), old, old, false},
		{"no Ready condition", "", 0, old, old, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := Pod{HasStarted: true, Started: seconds(1000), Ready: tt.ready, ReadySince: tt.since}
			reading := PodReading{At: tt.readAt, Window: 30 * time.Second}
			if got := DefaultWarmup().distrusts(&pod, reading, tt.now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			pod.HasStarted = false
			if !DefaultWarmup().distrusts(&pod, reading, tt.now) {
				t.Error("a pod that has not started is trusted")
			}
		})
	}
}
