package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// calculation is one question to both calculators.
type calculation struct {
	metric    algorithm.Metric
	reading   algorithm.Reading
	workload  algorithm.Workload
	tolerance algorithm.Tolerance
	warmup    algorithm.Warmup
}

// failure is an error that prints as a literal.
type failure string

func (f failure) Error() string { return string(f) }

// GoString implements fmt.GoStringer.
func (f failure) GoString() string { return fmt.Sprintf("failure(%q)", string(f)) }

// generator draws questions. Numbers are small, and derived from each other, so that
// ratios fall on the ends of tolerances and times on the ends of periods far more often
// than chance would have it.
type generator struct{ *rand.Rand }

// calculation asks something of the workload, whose pods are young or old by the warmup.
func (g generator) calculation(w algorithm.Workload, warmup algorithm.Warmup) calculation {
	c := calculation{
		metric:    g.metric(),
		workload:  w,
		tolerance: algorithm.Tolerance{Down: g.tolerance(), Up: g.tolerance()},
		warmup:    warmup,
	}
	c.workload.Scale = g.scale(int32(len(w.Pods)))
	switch {
	case g.oneIn(50):
		c.reading = algorithm.Reading{Err: failure("the API does not answer")}
	case g.oneIn(49): // of the rest: an answer without data
	case c.metric.Source == algorithm.ObjectSource, c.metric.Source == algorithm.ExternalSource:
		c.reading.Series = g.series(c)
	default:
		c.reading.Pods = g.podReadings(c)
	}
	return c
}

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// around is n, or one beside it.
func (g generator) around(n int64) int64 { return n + pick[int64](g.Rand, -1, 0, 0, 1) }

var sources = []algorithm.MetricSource{
	algorithm.ResourceSource, algorithm.ContainerResourceSource, algorithm.PodsSource,
	algorithm.ObjectSource, algorithm.ExternalSource,
}

func (g generator) metric() algorithm.Metric {
	m := algorithm.Metric{Source: pick(g.Rand, sources...)}
	value := func() algorithm.Milli {
		return algorithm.Milli(pick[int64](g.Rand, 1, 100, 250, 1000, 1000, 3000, 7500, 1+g.Int64N(10_000), 1+g.Int64N(1e9)))
	}
	t := &m.Target
	switch m.Source {
	case algorithm.ResourceSource, algorithm.ContainerResourceSource:
		m.Resource = pick(g.Rand, algorithm.CPU, algorithm.CPU, "memory")
		if m.Source == algorithm.ContainerResourceSource {
			m.Container = pick(g.Rand, "app", "app", "app", "proxy", "sidecar")
		}
		t.Type = algorithm.UtilizationTarget
		if g.oneIn(2) {
			t.Type, t.AverageValue = algorithm.AverageValueTarget, value()
		}
		if t.AverageValue == 0 || g.oneIn(20) { // both: the value is the one that counts
			t.Utilization = pick(g.Rand, 1, 10, 50, 60, 80, 100, 150, 200, 1+g.Int32N(300))
		}
	case algorithm.PodsSource:
		t.Type, t.AverageValue = algorithm.AverageValueTarget, value()
	default:
		g.valueTarget(t, value)
	}
	if g.oneIn(100) && m.Source != algorithm.PodsSource { // none: validation forbids it, and upstream has an answer
		m.Target = algorithm.Target{Type: t.Type}
	}
	return m
}

// valueTarget sets one of the two fields and, rarely, both or the type of the other.
func (g generator) valueTarget(t *algorithm.Target, value func() algorithm.Milli) {
	t.Type = pick(g.Rand, algorithm.ValueTarget, algorithm.AverageValueTarget)
	if t.Type == algorithm.ValueTarget || g.oneIn(20) {
		t.Value = value()
	}
	if t.Type == algorithm.AverageValueTarget || g.oneIn(20) {
		t.AverageValue = value()
	}
	if g.oneIn(20) {
		t.Type = pick(g.Rand, algorithm.ValueTarget, algorithm.AverageValueTarget, algorithm.UtilizationTarget)
	}
}

// tolerance draws one direction's: as a flag gives it, and as the API does, which keeps
// thousandths and multiplies by 0.001.
func (g generator) tolerance() float64 {
	return pick(g.Rand, 0, 0.05, 0.1, 0.1, 0.1, 0.3, float64(g.IntN(1000))*0.001, float64(g.IntN(1000))*0.001, 1, 1.5, 3)
}

func (g generator) warmup() algorithm.Warmup {
	return pick(g.Rand,
		algorithm.DefaultWarmup(), algorithm.DefaultWarmup(),
		algorithm.Warmup{},
		algorithm.Warmup{CPUInitialization: 2 * time.Minute, InitialReadiness: 10 * time.Second},
		algorithm.Warmup{CPUInitialization: g.seconds(600), InitialReadiness: g.seconds(600)},
	)
}

func (g generator) seconds(below int) time.Duration {
	return time.Duration(g.IntN(below)) * time.Second
}

// series draws the values of an External or Object metric. Only an External's count is
// kept inside of an int32 by upstream, so only its values may be of any size.
func (g generator) series(c calculation) []algorithm.Milli {
	target, perPod := max(c.metric.Target.Value, 1), false
	if c.metric.Target.AverageValue > 0 && (c.metric.Source == algorithm.ExternalSource || c.metric.Target.Type == algorithm.AverageValueTarget) {
		target, perPod = c.metric.Target.AverageValue, true
	}
	pods := int64(1)
	if perPod {
		pods = int64(max(c.workload.Scale.Status, 1))
	}
	total := g.near(int64(target)*pods, c.tolerance)
	if c.metric.Source == algorithm.ObjectSource {
		return []algorithm.Milli{algorithm.Milli(total)}
	}
	if saturates := perPod || c.workload.Scale.Spec != 0; saturates && g.oneIn(30) {
		total = pick(g.Rand, math.MaxInt64, math.MaxInt64-g.Int64N(3000), 1<<62, int64(target)*math.MaxInt32, g.Int64())
	}
	if g.oneIn(5) {
		return g.split(total)
	}
	return []algorithm.Milli{algorithm.Milli(total)}
}

// split makes several series of a total, some of which are more than it by an overflow.
func (g generator) split(total int64) []algorithm.Milli {
	first := int64(0)
	if total > 0 {
		first = g.Int64N(total)
	}
	parts := []algorithm.Milli{algorithm.Milli(first), algorithm.Milli(total - first)}
	if total > 1<<61 {
		parts = append(parts, algorithm.Milli(total))
	}
	if g.oneIn(10) {
		parts = append(parts, algorithm.Milli(-g.Int64N(max(total, 1)/2+2)))
	}
	return parts
}

// near draws a reading in relation to the one that the target asks for: on and beside the
// ends of the tolerance, a multiple, nothing, and rarely something below nothing.
func (g generator) near(target int64, t algorithm.Tolerance) int64 {
	times := func(ratio float64) int64 { return int64(float64(target) * ratio) }
	switch g.IntN(12) {
	case 0, 1:
		return g.around(times(1 + t.Up))
	case 2, 3:
		return g.around(times(1 - t.Down))
	case 4:
		return g.around(target)
	case 5:
		return 0
	case 6:
		return g.around(target * g.Int64N(6))
	case 7:
		return times(1 + float64(g.IntN(400))*0.001)
	case 8:
		return target*g.Int64N(5000) + g.Int64N(3)
	case 9:
		return -g.Int64N(3*target + 1)
	}
	return times(g.Float64() * 3)
}

// podReadings draws what was measured of the pods: of all, of most or of few, and now and
// then of one that is not among them.
func (g generator) podReadings(c calculation) map[string]algorithm.PodReading {
	readings := map[string]algorithm.PodReading{}
	missing := pick(g.Rand, 0, 0, 0.1, 0.3, 0.8)
	alike := g.oneIn(3)
	var previous int64
	for i, p := range c.workload.Pods {
		value := previous
		if i == 0 || !alike {
			value = g.podValue(c, p)
		}
		previous = value
		if g.Float64() >= missing {
			readings[p.Name] = g.podReading(value, p, c.workload.Now)
		}
	}
	if g.oneIn(10) {
		readings["stranger"] = g.podReading(g.podValue(c, algorithm.Pod{}), algorithm.Pod{}, c.workload.Now)
	}
	return readings
}

// podValue stays within a few thousand times of what is asked of a pod, and within 20
// times of a utilization: upstream keeps neither the counts inside of an int32 nor a
// hundred times the sum of 30 pods' memory inside of an int64.
func (g generator) podValue(c calculation, p algorithm.Pod) int64 {
	target, most := max(int64(c.metric.Target.AverageValue), 1), int64(math.MaxInt64)
	if c.metric.Target.AverageValue == 0 {
		target = max(requested(p, c.metric)*int64(c.metric.Target.Utilization)/100, 1)
		most = 20 * target
	}
	value := min(g.near(target, c.tolerance), most)
	if value < 0 && !g.oneIn(20) {
		return -value
	}
	return value
}

// requested is about what the pod requests of what the metric measures.
func requested(p algorithm.Pod, m algorithm.Metric) int64 {
	var total algorithm.Milli
	for _, c := range p.Containers {
		if m.Container == "" || m.Container == c.Name {
			total += c.Requests[m.Resource]
		}
	}
	if m.Container == "" && p.Requests != nil {
		total = p.Requests[m.Resource]
	}
	return int64(total)
}

// podReading dates a reading: of now, of a while ago, or of the moment at which its
// window began with the pod's readiness.
func (g generator) podReading(value int64, p algorithm.Pod, now time.Duration) algorithm.PodReading {
	r := algorithm.PodReading{Value: algorithm.Milli(value), Window: pick(g.Rand, 0, 15*time.Second, 30*time.Second, time.Minute)}
	r.At = pick(g.Rand, now, now-g.seconds(120), p.ReadySince+r.Window, g.beside(p.ReadySince+r.Window))
	return r
}

// beside is a moment that is hardly t.
func (g generator) beside(t time.Duration) time.Duration {
	return t + pick(g.Rand, -1, 1, -time.Second, time.Second)
}

func (c calculation) String() string {
	return fmt.Sprintf("%#v,\n%#v,\n%#v,\n%#v,\n%#v", c.metric, c.reading, c.workload, c.tolerance, c.warmup)
}
