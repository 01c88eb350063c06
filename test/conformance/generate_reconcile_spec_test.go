package conformance

import (
	"slices"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func (w *world) spec() algorithm.Spec {
	s := algorithm.Spec{Bounds: w.someBounds(), Behavior: w.behavior()}
	for range pick(w.Rand, 1, 1, 1, 2, 3, 4) {
		s.Metrics = w.withMetric(s.Metrics)
	}
	return s
}

func (w *world) someBounds() algorithm.Bounds {
	b := algorithm.Bounds{Min: pick(w.Rand, int32(0), 0, 1, 1, 2, 1+w.Int32N(max(w.bounds/2, 1)))}
	b.Max = max(b.Min, 1, pick(w.Rand, w.bounds, w.bounds, w.bounds, w.bounds, b.Min, 1+w.Int32N(w.bounds)))
	return b
}

// withMetric adds one, hardly ever of a kind that can never be computed in this trace:
// without a target, or in relation to pods where there are none. Two metrics of the same
// resource would share one reading.
func (w *world) withMetric(metrics []algorithm.Metric) []algorithm.Metric {
	for {
		m := w.metric()
		unheard := w.oneIn(500) // of: the API server accepts none such
		if unheard {
			m.Source = "Unheard"
		}
		target, podless := consulted(m)
		twin := slices.ContainsFunc(metrics, func(o algorithm.Metric) bool {
			return m.Resource != "" && m.Resource == o.Resource && m.Container == o.Container
		})
		never := target == 0 || (!podless && !w.podful)
		if (never && !unheard && !w.oneIn(20)) || twin {
			continue
		}
		w.signals = append(w.signals[:min(len(metrics), len(w.signals))], w.signal())
		return append(slices.Clone(metrics), m)
	}
}

// edited is the spec with one thing changed, or perhaps none.
func (w *world) edited(s algorithm.Spec) algorithm.Spec {
	switch w.IntN(8) {
	case 0, 1:
		s.Bounds = w.someBounds()
	case 2:
		i := w.IntN(len(s.Metrics))
		s.Metrics = slices.Clone(s.Metrics)
		t := &s.Metrics[i].Target
		t.Value, t.AverageValue, t.Utilization = t.Value*2, max(t.AverageValue/2, min(t.AverageValue, 1)), t.Utilization*2
	case 3:
		s.Metrics = w.withMetric(s.Metrics[:w.IntN(len(s.Metrics))])
	case 4:
		s.Behavior = w.behavior()
	default:
		if s.Behavior == nil {
			s.Behavior = w.behavior()
			break
		}
		b := *s.Behavior
		w.editRules(pick(w.Rand, &b.ScaleUp, &b.ScaleDown), w.rules())
		s.Behavior = &b
	}
	return s
}

// editRules takes one thing over from other rules.
func (w *world) editRules(rules *algorithm.Rules, other algorithm.Rules) {
	switch w.IntN(4) {
	case 0:
		rules.Window = other.Window
	case 1:
		rules.Select = other.Select
	case 2:
		rules.Policies = other.Policies
	case 3:
		rules.Tolerance = other.Tolerance
	}
}

// behavior is none, the default with a few changes, or one in which all is chosen.
func (w *world) behavior() *algorithm.Behavior {
	if w.oneIn(3) {
		return nil
	}
	b := algorithm.DefaultBehavior()
	b.ScaleUp.Tolerance, b.ScaleDown.Tolerance = w.config.Tolerance, w.config.Tolerance
	b.ScaleDown.Window = w.config.DownscaleStabilization
	for range w.IntN(4) {
		w.editRules(&b.ScaleUp, w.rules())
		w.editRules(&b.ScaleDown, w.rules())
	}
	if w.oneIn(4) {
		b = algorithm.Behavior{ScaleUp: w.rules(), ScaleDown: w.rules()}
	}
	return &b
}

// rules chooses everything of one direction. Values stay far from where upstream's sums
// of an int32 wrap.
func (w *world) rules() algorithm.Rules {
	r := algorithm.Rules{
		Window: w.window(),
		Select: pick(w.Rand, algorithm.SelectMax, algorithm.SelectMax, algorithm.SelectMin, algorithm.SelectMin, algorithm.SelectMax,
			algorithm.SelectMax, algorithm.SelectMin, algorithm.SelectDisabled),
		Tolerance: w.tolerance(),
	}
	for range pick(w.Rand, 1, 1, 2, 3) {
		p := algorithm.RatePolicy{Type: pick(w.Rand, algorithm.PodsPolicy, algorithm.PercentPolicy), Period: w.period()}
		switch p.Type {
		case algorithm.PodsPolicy:
			p.Value = pick(w.Rand, 1, 2, 4, 10, 1+w.Int32N(30), 100_000)
		case algorithm.PercentPolicy:
			p.Value = pick(w.Rand, 1, 10, 30, 50, 100, 100, 1+w.Int32N(200), 900)
		}
		r.Policies = append(r.Policies, p)
	}
	return r
}

// tolerance is as wide as people set it, and now and then of any width.
func (w *world) tolerance() float64 {
	return pick(w.Rand, 0, 0, 0.05, 0.1, 0.1, 0.1, float64(w.IntN(300))*0.001, w.generator.tolerance())
}

// window is what an API server accepts, most often a number of whole syncs.
func (w *world) window() time.Duration {
	return pick(w.Rand, 0, 0, 0, 15*time.Second, 30*time.Second, time.Minute, 5*time.Minute, w.seconds(301), w.seconds(3601), time.Hour)
}

func (w *world) period() time.Duration {
	return pick(w.Rand, 15*time.Second, 15*time.Second, 30*time.Second, time.Minute, 5*time.Minute, 30*time.Minute, time.Second+w.seconds(1800), time.Second+w.seconds(120))
}
