package conformance

import (
	"math"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// The shapes that a metric takes over time.
type shape string

const (
	walking  shape = "walk"
	spiking  shape = "spike"
	flapping shape = "flap"
	constant shape = "constant"
	zero     shape = "zero"
)

// signal is what a metric asks for, in replicas.
type signal struct {
	shape shape
	// level is where it is, other where it goes to and comes back from, for so many
	// steps yet.
	level, other float64
	away         int
	// failing is for how many steps yet there is no reading.
	failing int
}

func (w *world) signal() signal {
	scale := float64(w.bounds) * pick(w.Rand, 0.3, 0.6, 1)
	return signal{
		shape: pick(w.Rand, walking, walking, walking, walking, spiking, flapping, flapping, constant, zero, zero),
		level: w.Float64() * scale,
		other: w.Float64() * scale * pick(w.Rand, 0.0, 1, 1, 3),
	}
}

// advance is what the signal asks for now.
func (w *world) advance(s *signal) float64 {
	if w.oneIn(100) {
		*s = w.signal()
	}
	switch s.shape {
	case walking:
		s.level = max(0, s.level+w.NormFloat64()*float64(w.bounds)/15)
		if s.level > 1.2*float64(w.bounds) {
			s.level /= 4
		}
	case spiking, flapping:
		if s.away > 0 {
			s.away--
			return s.other
		}
		if s.shape == flapping && w.oneIn(3) || w.oneIn(30) {
			s.away = w.IntN(4)
			return s.other
		}
	case zero:
		return 0
	case constant:
	}
	if w.oneIn(3) { // whole replicas, as queues have whole jobs
		return math.Round(s.level)
	}
	return s.level
}

// readings are those of all metrics.
func (w *world) readings() []algorithm.Reading {
	readings := make([]algorithm.Reading, len(w.in.Spec.Metrics))
	all := w.sometimes(4 * w.failures)
	for i, m := range w.in.Spec.Metrics {
		s := &w.signals[i]
		if s.failing--; s.failing < 0 && (all || w.sometimes(w.failures)) {
			s.failing = w.IntN(8)
		}
		asked := w.advance(s)
		if s.failing >= 0 {
			if w.oneIn(2) {
				readings[i].Err = failure("no answer")
			}
			continue // or an answer without data
		}
		readings[i] = w.reading(m, asked)
	}
	return readings
}

// reading makes a metric ask for so many replicas. Now and then it is one of those that
// single calculations are tried with.
func (w *world) reading(m algorithm.Metric, asked float64) algorithm.Reading {
	c := calculation{metric: m, workload: w.in.Workload, tolerance: w.currentTolerance(), warmup: w.config.Warmup}
	current := float64(max(w.in.Workload.Scale.Spec, 1))
	wild := w.oneIn(40)
	if w.oneIn(12) { // where the tolerance ends
		asked = current * max(0, pick(w.Rand, 1+c.tolerance.Up, 1-c.tolerance.Down, 1))
	}
	switch {
	case m.Source != algorithm.ObjectSource && m.Source != algorithm.ExternalSource:
		if wild {
			return algorithm.Reading{Pods: w.podReadings(c)}
		}
		return algorithm.Reading{Pods: w.podsAsking(c, asked/current)}
	case wild:
		return algorithm.Reading{Series: w.series(c)}
	}
	target, podless := consulted(m)
	if !podless && w.in.Workload.Scale.Spec > 0 { // in relation to the pods
		asked /= current
	}
	total := of(target, asked)
	if m.Source == algorithm.ExternalSource && w.oneIn(10) {
		part := algorithm.Milli(w.Int64N(int64(total) + 1))
		return algorithm.Reading{Series: []algorithm.Milli{part, total - part}}
	}
	return algorithm.Reading{Series: []algorithm.Milli{total}}
}

// consulted is the target that counts, 0 if there is none, and whether the metric needs no
// pods: that of an Object or External metric with an average.
func consulted(m algorithm.Metric) (target algorithm.Milli, podless bool) {
	t := m.Target
	switch m.Source {
	case algorithm.ObjectSource:
		switch t.Type {
		case algorithm.AverageValueTarget:
			return t.AverageValue, true
		case algorithm.ValueTarget:
			return t.Value, false
		default:
			return 0, false
		}
	case algorithm.ExternalSource:
		if t.AverageValue > 0 {
			return t.AverageValue, true
		}
		return t.Value, false
	default:
		return max(t.AverageValue, algorithm.Milli(t.Utilization)), false
	}
}

// podsAsking reads so many times the target of every pod, or roughly so. Some pods have
// no reading.
func (w *world) podsAsking(c calculation, ratio float64) map[string]algorithm.PodReading {
	readings := make(map[string]algorithm.PodReading, len(c.workload.Pods))
	rough, missing := pick(w.Rand, 0, 0, 0.2), pick(w.Rand, 0, 0, 0, 0.1, 0.4)
	for _, p := range c.workload.Pods {
		if w.Float64() < missing {
			continue
		}
		target := c.metric.Target.AverageValue
		if target == 0 {
			target = algorithm.Milli(requested(p, c.metric) * int64(c.metric.Target.Utilization) / 100)
		}
		value := of(target, ratio*(1+rough*(w.Float64()-0.5)))
		readings[p.Name] = w.podReading(int64(value), p, c.workload.Now)
	}
	return readings
}

func of(target algorithm.Milli, times float64) algorithm.Milli {
	return algorithm.Milli(math.Round(float64(target) * times))
}

func (w *world) currentTolerance() algorithm.Tolerance {
	if b := w.in.Spec.Behavior; b != nil {
		return b.Tolerance()
	}
	return algorithm.Tolerance{Down: w.config.Tolerance, Up: w.config.Tolerance}
}
