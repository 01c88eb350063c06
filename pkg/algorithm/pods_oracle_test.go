package algorithm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// podsCase is a random calculation.
type podsCase struct {
	metric    Metric
	reading   Reading
	workload  Workload
	tolerance Tolerance
	warmup    Warmup
}

func randomPodsCase(r *rand.Rand) podsCase {
	c := podsCase{
		metric:    randomPodsMetric(r),
		tolerance: Tolerance{Down: pick(r, 0, 0.05, 0.1, 0.3, 1), Up: pick(r, 0, 0.05, 0.1, 0.3, 1)},
		warmup:    pick(r, DefaultWarmup(), Warmup{}, Warmup{seconds(10), seconds(20)}),
	}
	c.workload = Workload{Scale: Scale{Spec: r.Int32N(9)}, Now: seconds(1000)}
	c.reading.Pods = map[string]PodReading{}
	// Most worlds are calm: usage near the target, and requests there.
	usage := pick(r, 3, 12, 12, 30)
	calm := r.IntN(4) > 0
	huge := r.IntN(20) == 0
	value := func() Milli {
		switch {
		case huge && r.IntN(3) == 0:
			return Milli(r.Uint64() >> r.IntN(40))
		case !calm && r.IntN(8) == 0:
			return Milli(-r.IntN(usage))
		}
		return Milli(r.IntN(usage))
	}
	for i := range pick(r, 0, 1, 2, 3, 4, 5, 6, 7, 8) {
		pod := randomPod(r, c, calm)
		pod.Name = fmt.Sprintf("web-%d", i)
		if c.workload.Pods = append(c.workload.Pods, pod); r.IntN(5) > 0 {
			c.reading.Pods[pod.Name] = PodReading{value(), seconds(1000 - r.IntN(4)*10), seconds(r.IntN(4) * 10)}
		}
	}
	for i := range max(0, r.IntN(8)-5) {
		c.reading.Pods[fmt.Sprintf("stranger-%d", i)] = PodReading{Value: value()}
	}
	return c
}

func randomPodsMetric(r *rand.Rand) Metric {
	m := Metric{Source: ResourceSource, Resource: pick(r, CPU, CPU, "memory")}
	switch r.IntN(4) {
	case 0:
		m = Metric{Source: PodsSource, Resource: pick(r, "", CPU)}
	case 1:
		m.Source, m.Container = ContainerResourceSource, "app"
	}
	if m.Source == PodsSource || r.IntN(2) == 0 {
		m.Target.AverageValue = 1 + Milli(r.IntN(15))
	} else {
		m.Target.Utilization = pick(r, 1+r.Int32N(100), 50, 100, 150)
	}
	return m
}

// randomPod has times on the edges of every rule, a second before and after them.
func randomPod(r *rand.Rand, c podsCase, calm bool) Pod {
	edge := func() time.Duration { return seconds(r.IntN(3) - 1) }
	pod := Pod{
		Phase:      pick(r, Running, Running, Running, Running, Running, Pending, Succeeded, Failed, Unknown),
		Deleting:   r.IntN(8) == 0,
		HasStarted: r.IntN(8) > 0,
		Ready:      pick(r, True, True, True, False, False, Uncertain, ""),
		Started:    pick(r, 0, c.workload.Now-c.warmup.CPUInitialization+edge(), c.workload.Now-seconds(r.IntN(30))),
	}
	pod.ReadySince = pick(r, pod.Started+c.warmup.InitialReadiness+edge(), c.workload.Now-seconds(r.IntN(6)*10), 0)
	most := pick(r, 15, 15, 1500)
	for _, name := range []string{"app", "proxy"}[:1+r.IntN(2)] {
		container := Container{name, map[string]Milli{CPU: 1 + Milli(r.IntN(most)), "memory": 1 + Milli(r.IntN(most))}}
		if !calm {
			container.Requests[pick(r, CPU, "memory")] = Milli(r.IntN(3))
			if r.IntN(12) == 0 {
				delete(container.Requests, pick(r, CPU, "memory"))
			}
		}
		pod.Containers = append(pod.Containers, container)
	}
	if !calm && r.IntN(12) == 0 {
		pod.Containers = pod.Containers[1:]
	}
	if r.IntN(6) == 0 {
		pod.Requests = map[string]Milli{CPU: Milli(r.IntN(20)), "memory": Milli(r.IntN(20))}
		if !calm {
			delete(pod.Requests, pick(r, CPU, "memory"))
		}
	}
	return pod
}

// errOracle is any error of the oracle: what matters is that there is one.
var errOracle = errors.New("the oracle refuses")

// podsOracle is the calculation as its description reads, slow and obvious: sets of
// names, and a map that readings are taken out of and put into.
type podsOracle struct {
	podsCase
	usage, requests                  map[string]int64
	ready, unready, missing, ignored map[string]bool
}

func newPodsOracle(c podsCase) *podsOracle {
	o := &podsOracle{c, map[string]int64{}, map[string]int64{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for name, reading := range c.reading.Pods {
		o.usage[name] = int64(reading.Value)
	}
	return o
}

// groupByRules puts every pod into one set.
func (o *podsOracle) groupByRules() {
	m, r, w, warmup := o.metric, o.reading, o.workload, o.warmup
	for _, pod := range w.Pods {
		if pod.Deleting || pod.Phase == Failed {
			o.ignored[pod.Name] = true
			continue
		}
		if pod.Phase == Pending {
			o.unready[pod.Name] = true
			continue
		}
		reading, found := r.Pods[pod.Name]
		if !found {
			o.missing[pod.Name] = true
			continue
		}
		isCPU := m.Resource == "cpu" && (m.Source == ResourceSource || m.Source == ContainerResourceSource)
		if isCPU {
			switch {
			case pod.Ready == "" || !pod.HasStarted:
				o.unready[pod.Name] = true
			case w.Now < pod.Started+warmup.CPUInitialization:
				if pod.Ready == False || reading.At-reading.Window < pod.ReadySince {
					o.unready[pod.Name] = true
				}
			case pod.Ready == False && pod.ReadySince-pod.Started < warmup.InitialReadiness:
				o.unready[pod.Name] = true
			}
			if o.unready[pod.Name] {
				continue
			}
		}
		o.ready[pod.Name] = true
	}
}

// requestsOfAll fills in what every pod requests.
func (o *podsOracle) requestsOfAll() error {
	m := o.metric
	for _, pod := range o.workload.Pods {
		total := int64(0)
		if pod.Requests != nil && m.Container == "" {
			request, ok := pod.Requests[m.Resource]
			if !ok {
				return errOracle
			}
			o.requests[pod.Name] = int64(request)
			continue
		}
		found := false
		for _, c := range pod.Containers {
			if m.Container != "" && c.Name != m.Container {
				continue
			}
			request, ok := c.Requests[m.Resource]
			if !ok {
				return errOracle
			}
			found = true
			total += int64(request)
		}
		if m.Container != "" && !found {
			return errOracle
		}
		o.requests[pod.Name] = total
	}
	return nil
}

// ratio is of what is in the map now.
func (o *podsOracle) ratio() (ratio float64, shown Calculation, err error) {
	total, requested, n := int64(0), int64(0), int64(0)
	for name, value := range o.usage {
		request, known := o.requests[name]
		if o.byUtilization() && !known {
			continue
		}
		total += value
		requested += request
		n++
	}
	if !o.byUtilization() {
		shown.Average = Milli(total / n)
		return float64(shown.Average) / float64(o.metric.Target.AverageValue), shown, nil
	}
	if requested == 0 {
		return 0, Calculation{}, errOracle
	}
	shown.Average = Milli(total / n)
	shown.Utilization = int32(total * 100 / requested)
	return float64(shown.Utilization) / float64(o.metric.Target.Utilization), shown, nil
}

func (o *podsOracle) byUtilization() bool { return o.metric.Target.Utilization != 0 }

func (o *podsOracle) within(ratio float64) bool {
	return 1-o.tolerance.Down <= ratio && ratio <= 1+o.tolerance.Up
}

// calculate also says which way the calculation went.
func (o *podsOracle) calculate() (c Calculation, path string, err error) {
	if len(o.workload.Pods) == 0 {
		return c, "no pods", errOracle
	}
	o.groupByRules()
	for _, out := range []map[string]bool{o.ignored, o.unready} {
		for name := range out {
			delete(o.usage, name)
		}
	}
	if len(o.usage) == 0 {
		return c, "no readings", errOracle
	}
	if o.byUtilization() {
		if err := o.requestsOfAll(); err != nil {
			return c, "no request", err
		}
	}
	first, c, err := o.ratio()
	if err != nil {
		return c, "requests of 0", err
	}
	c.Replicas = o.workload.Scale.Spec
	upWithUnready := len(o.unready) > 0 && first > 1
	if upWithUnready || len(o.missing) > 0 {
		o.refill(first, upWithUnready)
		return o.secondPass(c, first)
	}
	if o.within(first) {
		c.WithinTolerance = true
		return c, "within", nil
	}
	return o.count(c, first*float64(len(o.ready)), "one pass")
}

func (o *podsOracle) refill(first float64, upWithUnready bool) {
	for name := range o.missing {
		switch {
		case first < 1 && o.byUtilization():
			o.usage[name] = o.requests[name] * int64(max(100, o.metric.Target.Utilization)) / 100
		case first < 1:
			o.usage[name] = int64(o.metric.Target.AverageValue)
		case first > 1:
			o.usage[name] = 0
		}
	}
	if upWithUnready {
		for name := range o.unready {
			o.usage[name] = 0
		}
	}
}

func (o *podsOracle) secondPass(c Calculation, first float64) (Calculation, string, error) {
	second, _, err := o.ratio()
	switch {
	case err != nil:
		return Calculation{}, "second requests of 0", err
	case o.within(second):
		c.WithinTolerance = true
		return c, "second within", nil
	case first < 1 && second > 1:
		return c, "ratio turned up", nil
	case first > 1 && second < 1:
		return c, "ratio turned down", nil
	}
	counted, path, err := o.count(c, second*float64(len(o.usage)), "two passes")
	switch {
	case err == nil && second < 1 && counted.Replicas > c.Replicas:
		return c, "count turned up", nil
	case err == nil && second > 1 && counted.Replicas < c.Replicas:
		return c, "count turned down", nil
	}
	return counted, path, err
}

func (o *podsOracle) count(c Calculation, replicas float64, path string) (Calculation, string, error) {
	rounded := math.Ceil(replicas)
	if rounded > math.MaxInt32 || rounded < math.MinInt32 {
		return Calculation{}, path + " beyond int32", errOracle
	}
	c.Replicas = int32(rounded)
	return c, path, nil
}

func TestPodsAreTheOracles(t *testing.T) {
	r := newRandom(t)
	reached := map[string]int{}
	for range propertyCases {
		c := randomPodsCase(r)
		calculate := podsAverageValue
		if c.metric.Target.Utilization != 0 {
			calculate = podsUtilization
		}
		got, err := calculate(c.metric, c.reading, c.workload, c.tolerance, c.warmup)
		want, path, wantErr := newPodsOracle(c).calculate()
		if got != want || (err == nil) != (wantErr == nil) {
			t.Fatalf("got %+v, %v; the oracle %+v, %v (%s)\n%+v", got, err, want, wantErr, path, c)
		}
		reached[path]++
	}
	for _, path := range []string{"no pods", "no readings", "no request", "requests of 0", "within", "one pass", "one pass beyond int32",
		"second within", "ratio turned up", "ratio turned down", "two passes", "two passes beyond int32", "count turned up", "count turned down"} {
		if reached[path] < propertyCases/2000 {
			t.Errorf("%q was reached %d times of %d: the cases are too tame", path, reached[path], propertyCases)
		}
	}
	t.Log("reached:", reached)
}

// crowd is a metric of n pods, one in ten of them pending and one without a reading.
func crowd(n int) (Metric, Reading, Workload) {
	m := Metric{Source: ResourceSource, Resource: CPU, Target: Target{AverageValue: 10, Utilization: 50}}
	r := Reading{Pods: map[string]PodReading{"stranger": {Value: 1}}}
	w := Workload{Scale: Scale{Spec: int32(n)}, Now: time.Hour}
	for i := range n {
		pod := using(0)[0].pod
		pod.Name = fmt.Sprintf("web-%d", i)
		switch i % 10 {
		case 0:
			pod.Phase = Pending
		case 1:
		default:
			r.Pods[pod.Name] = PodReading{Value: 20}
		}
		w.Pods = append(w.Pods, pod)
	}
	return m, r, w
}

func TestPodsLeaveTheirInputsAlone(t *testing.T) {
	m, r, w := crowd(20)
	readings, before := maps.Clone(r.Pods), fmt.Sprintf("%+v", w)
	tolerance, warmup := Tolerance{Down: 0.1, Up: 0.1}, DefaultWarmup()
	calculate := func() {
		if _, err := podsAverageValue(m, r, w, tolerance, warmup); err != nil {
			t.Error(err)
		}
		if _, err := podsUtilization(m, r, w, tolerance, warmup); err != nil {
			t.Error(err)
		}
	}
	if allocs := testing.AllocsPerRun(10, calculate); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if !maps.Equal(r.Pods, readings) || fmt.Sprintf("%+v", w) != before {
		t.Errorf("the inputs became %+v, %+v", r.Pods, w)
	}
}

func BenchmarkPods(b *testing.B) {
	m, r, w := crowd(300)
	for _, tt := range []struct {
		name      string
		calculate func(Metric, Reading, Workload, Tolerance, Warmup) (Calculation, error)
	}{{"AverageValue", podsAverageValue}, {"Utilization", podsUtilization}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tt.calculate(m, r, w, Tolerance{}, DefaultWarmup()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
