package process

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// ShowPolicies adds gauges of the last decision of every policy. decisions is
// asked at each scrape, so a policy that is forgotten has no series any more.
func (m *Metrics) ShowPolicies(decisions func() []scaling.Decision) {
	m.registry.MustRegister(newPolicyCollector(decisions))
}

// policyCollector makes gauges of decisions. What a decision does not know has no
// sample: it would read as 0.
type policyCollector struct {
	decisions                                                               func() []scaling.Decision
	reading, recommended, decided, current, active, held, failing, degraded *prometheus.Desc
}

func newPolicyCollector(decisions func() []scaling.Decision) *policyCollector {
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("dashpot_policy_"+name, help, []string{"namespace", "kind", "name", "record"}, nil)
	}
	return &policyCollector{
		decisions:   decisions,
		reading:     gauge("reading", "Last reading of the trigger that asks for most replicas."),
		recommended: gauge("recommended_replicas", "Replicas that the formula gives, before windows and limits."),
		decided:     gauge("decided_replicas", "Replicas that were decided."),
		current:     gauge("current_replicas", "Replicas that the decision started from."),
		active:      gauge("active", "1 if the workload is to be awake."),
		held:        gauge("held", "1 if the count is kept where it is because of a fault."),
		failing:     gauge("failing", "1 if no decision can be served."),
		degraded:    gauge("degraded", "1 if the store does not answer, so that counts only rise."),
	}
}

// Describe implements prometheus.Collector.
func (c *policyCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.reading, c.recommended, c.decided, c.current, c.active, c.held, c.failing, c.degraded} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *policyCollector) Collect(samples chan<- prometheus.Metric) {
	for _, d := range latest(c.decisions()) {
		send := func(desc *prometheus.Desc, value float64) {
			samples <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, d.Key.Namespace, d.Key.Kind, d.Key.Name, d.Key.Record)
		}
		send(c.failing, flag(d.Err != nil))
		send(c.degraded, flag(d.Degraded))
		if d.Decider >= 0 && d.Decider < len(d.Basis.Readings) {
			send(c.reading, d.Basis.Readings[d.Decider].Value)
		}
		if d.Decider >= 0 || d.Fallback {
			send(c.recommended, float64(d.Recommended))
		}
		if d.Err != nil {
			continue
		}
		send(c.decided, float64(d.Replicas))
		send(c.current, float64(d.Current))
		send(c.active, flag(d.Active))
		send(c.held, flag(d.Held != nil))
	}
}

// labels is what tells one policy's series from another's.
type labels struct{ namespace, kind, name, record string }

// latest keeps the newest decision of each set of labels: an object that was
// pointed at another workload has two keys for a while.
func latest(decisions []scaling.Decision) map[labels]scaling.Decision {
	newest := make(map[labels]scaling.Decision, len(decisions))
	for _, d := range decisions {
		id := labels{d.Key.Namespace, d.Key.Kind, d.Key.Name, d.Key.Record}
		if old, ok := newest[id]; !ok || !d.At.Before(old.At) {
			newest[id] = d
		}
	}
	return newest
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
