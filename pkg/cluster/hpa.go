package cluster

import (
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const kindHPA = "HorizontalPodAutoscaler"

// hpa is what is used of a HorizontalPodAutoscaler, of one that KEDA writes all.
type hpa struct {
	metav1.ObjectMeta
	// target is what it scales, and problem why that could not be read.
	target  target
	problem error
	// maker is what controls it, as ScaledObject worker; empty if nothing does.
	maker     string
	metrics   []hpaMetric
	tolerance algorithm.Tolerance
	opaque    []string
	// current is the scale target's count as far as the HPA tells, known whether it
	// does.
	current int32
	known   bool
}

// hpaMetric is one External metric.
type hpaMetric struct {
	// name is the metric's, of KEDA's without the prefix, trigger the index in that
	// prefix.
	name    string
	trigger int
	// target is the AverageValue target; 0 if the target is a Value.
	target algorithm.Milli
	value  bool
}

// newHPA keeps of the metrics those that have KEDA's prefix.
func newHPA(h *autoscalingv2.HorizontalPodAutoscaler) *hpa {
	kept := commonOf(h)
	for _, m := range externalMetrics(h) {
		if trigger, name, ok := cutTriggerPrefix(m.name); ok {
			m.name, m.trigger = name, trigger
			kept.metrics = append(kept.metrics, m)
		}
	}
	return &kept
}

// commonOf is what both doors use of an HPA, but for its metrics.
func commonOf(h *autoscalingv2.HorizontalPodAutoscaler) hpa {
	kept := claimOf(h)
	kept.opaque = opaqueness(h.Spec.Behavior)
	kept.tolerance = algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}
	if b := h.Spec.Behavior; b != nil {
		kept.tolerance = algorithm.Tolerance{Down: toleranceOf(b.ScaleDown), Up: toleranceOf(b.ScaleUp)}
	}
	kept.current, kept.known = currentOf(h.Status)
	return kept
}

// externalMetrics are the External metrics of an HPA by their full names. Its controller
// divides by averageValue wherever that is set, whatever type the target says it has.
func externalMetrics(h *autoscalingv2.HorizontalPodAutoscaler) []hpaMetric {
	var found []hpaMetric
	for _, m := range h.Spec.Metrics {
		if m.External == nil {
			continue
		}
		average := m.External.Target.AverageValue
		found = append(found, hpaMetric{name: m.External.Metric.Name, target: milliOf(average), value: average == nil})
	}
	return found
}

// cutTriggerPrefix takes KEDA's trigger index off the name of a metric: s0-jobs is
// trigger 0 and jobs.
func cutTriggerPrefix(name string) (trigger int, rest string, ok bool) {
	if !strings.HasPrefix(name, "s") && !strings.HasPrefix(name, "S") {
		return 0, "", false
	}
	digits, rest, ok := strings.Cut(name[1:], "-")
	index, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil {
		return 0, "", false
	}
	return int(index), rest, true
}

// metric finds what the HPA asks for under a metric's name. KEDA compares names
// without regard to case, so that is what counts as the same. Two triggers may have one
// name, for queues of one name on two servers; where their targets differ, nobody can
// say from here which is meant, and the target is not known.
func (h *hpa) metric(name string) (found hpaMetric, ok bool) {
	for _, m := range h.metrics {
		switch {
		case !strings.EqualFold(m.name, name):
		case !ok:
			found, ok = m, true
		case m.target != found.target:
			found.trigger, found.target = -1, 0
		}
	}
	return found, ok
}

// observed is the HPA as it bears on one metric.
func (h *hpa) observed(m hpaMetric) scaling.HPA {
	return scaling.HPA{Name: h.Name, Target: m.target, Tolerance: h.tolerance, Opaque: h.opaque}
}

// currentOf is the scale target's spec.replicas, as the HPA's status tells. The
// currentReplicas of a sync are the count before it wrote, so after a sync that
// could write, desiredReplicas are what is there now. A status that no sync has
// filled in tells nothing, and neither does a zero in one that could not read the
// target: it may be the zero of a new object.
func currentOf(status autoscalingv2.HorizontalPodAutoscalerStatus) (int32, bool) {
	able, seen := conditionOf(status, autoscalingv2.AbleToScale)
	active, _ := conditionOf(status, autoscalingv2.ScalingActive)
	switch {
	case !seen:
		return 0, false
	case able && active:
		return status.DesiredReplicas, true
	case !able && status.CurrentReplicas == 0:
		return 0, false
	}
	return status.CurrentReplicas, true
}

func conditionOf(status autoscalingv2.HorizontalPodAutoscalerStatus, wanted autoscalingv2.HorizontalPodAutoscalerConditionType) (isTrue, seen bool) {
	for _, c := range status.Conditions {
		if c.Type == wanted {
			return c.Status == corev1.ConditionTrue, true
		}
	}
	return false, false
}

func milliOf(q *resource.Quantity) algorithm.Milli {
	if q == nil {
		return 0
	}
	return algorithm.Milli(q.MilliValue())
}

// toleranceOf is the tolerance of one direction in the controller's own float: a
// quantity from the API is n thousandths, and becomes n * 0.001, not n / 1000,
// which differ in the last bit for 9m.
func toleranceOf(rules *autoscalingv2.HPAScalingRules) float64 {
	if rules == nil || rules.Tolerance == nil {
		return algorithm.DefaultTolerance
	}
	return rules.Tolerance.AsApproximateFloat64()
}
