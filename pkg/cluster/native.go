package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// byMetric is the index of HPAs by namespace/metric for each External metric.
const byMetric = "metric"

// nativeHPA is what is used of a HorizontalPodAutoscaler that asks for a metric itself.
// One without an External metric is none of ours, and only what it scales is kept of it.
type nativeHPA struct {
	hpa
	bounds algorithm.Bounds
	toZero bool
	// leaving: it is being deleted, and does not scale any more.
	leaving bool
	// scaledToZero and disabled are conditions, cannotWake is in words; see scaling.HPA.
	scaledToZero, disabled bool
	cannotWake             string
}

func newNativeHPA(h *autoscalingv2.HorizontalPodAutoscaler) *nativeHPA {
	metrics := externalMetrics(h)
	if len(metrics) == 0 {
		return &nativeHPA{hpa: claimOf(h)}
	}
	kept := &nativeHPA{hpa: commonOf(h), leaving: h.DeletionTimestamp != nil}
	kept.metrics = metrics

	minimum := valueOr(h.Spec.MinReplicas, 1)
	kept.bounds = algorithm.Bounds{Min: max(1, minimum), Max: h.Spec.MaxReplicas}
	kept.toZero = minimum == 0
	kept.scaledToZero, _ = conditionOf(h.Status, autoscalingv2.ScaledToZero)
	kept.disabled = isDisabled(h.Status)
	if kept.toZero && h.Spec.Behavior != nil {
		kept.cannotWake = sleepless(h.Spec.Behavior.ScaleUp)
	}
	return kept
}

// isDisabled reports whether the controller has found zero replicas that it does not know
// to be its own doing, and therefore does nothing.
func isDisabled(status autoscalingv2.HorizontalPodAutoscalerStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse && c.Reason == "ScalingDisabled"
	})
}

// metricsOf are the keys of an HPA in the index byMetric.
func metricsOf(obj any) ([]string, error) {
	h, ok := obj.(*nativeHPA)
	if !ok || h.leaving {
		return nil, nil
	}
	keys := make([]string, len(h.metrics))
	for i, m := range h.metrics {
		keys[i] = h.Namespace + "/" + m.name
	}
	return keys, nil
}

// noteNativeHPA has the kind that an HPA scales watched, unless it asks for nothing that
// may be ours.
func (o *Observer) noteNativeHPA(obj any) {
	if h, ok := obj.(*nativeHPA); ok && len(h.metrics) > 0 {
		o.wantKind(h.target.GroupKind)
	}
	o.changed.ring()
}

// lookAtNative is Observe of a StabilizedMetric without the waiting.
func (o *Observer) lookAtNative(namespace, metric string) (scaling.Observation, error) {
	known := scaling.Observation{Native: true}
	asks, err := o.asking(namespace, metric)
	switch {
	case err != nil:
		return known, err
	case len(asks) == 0 && !o.hpas.isListed():
		return known, fmt.Errorf("%s in %s with an External metric named %s: %w: %w", kindHPA, namespace, metric, scaling.ErrUnobserved, o.hpas.unlisted())
	case len(asks) == 0:
		return known, fmt.Errorf("%w: no %s in %s has an External metric named %s", scaling.ErrUnobserved, kindHPA, namespace, metric)
	}
	h, m := asks[0].hpa, asks[0].metric
	if differences := disagreement(asks); len(differences) > 0 {
		return known, fmt.Errorf("%w: External metric %s in %s is asked for with different %s; let each %s have a StabilizedMetric of its own",
			scaling.ErrAmbiguousTarget, metric, namespace, strings.Join(differences, ", "), kindHPA)
	}
	if h.problem != nil {
		return known, h.problem
	}
	known.Target = h.target.String()
	counts, err := o.replicasOf(namespace, h.target, &h.hpa)
	if err != nil {
		return known, err
	}
	seen := h.seenWith(m)
	if seen.Owners, err = o.ownersOf(namespace, h.target); err != nil {
		return known, err
	}
	return scaling.Observation{
		Native: true,
		Target: known.Target,
		Spec:   counts.spec, Status: counts.status, Revision: counts.revision,
		Bounds: h.bounds, ToZero: h.toZero, ValueType: m.value,
		HPA: seen,
	}, nil
}

// seenWith is the HPA as it bears on one metric.
func (h *nativeHPA) seenWith(m hpaMetric) scaling.HPA {
	seen := h.observed(m)
	seen.ScaledToZero, seen.Disabled, seen.CannotWake = h.scaledToZero, h.disabled, h.cannotWake
	return seen
}

// ask is one External metric of one HPA.
type ask struct {
	hpa    *nativeHPA
	metric hpaMetric
}

// asking finds everything that asks for a metric, in the order of the HPAs' names.
func (o *Observer) asking(namespace, metric string) ([]ask, error) {
	found, err := o.hpas.informer.GetIndexer().ByIndex(byMetric, namespace+"/"+metric)
	if err != nil {
		return nil, fmt.Errorf("find what asks for metric %s in %s: %w", metric, namespace, err)
	}
	asks := make([]ask, 0, len(found))
	for _, obj := range found {
		h, ok := obj.(*nativeHPA)
		if !ok {
			continue
		}
		for _, m := range h.metrics {
			if m.name == metric {
				asks = append(asks, ask{h, m})
			}
		}
	}
	slices.SortStableFunc(asks, func(a, b ask) int { return cmp.Compare(a.hpa.Name, b.hpa.Name) })
	return asks, nil
}

// disagreement names what those who ask for one metric differ in, and how, of all that
// its value depends on: averageValue (mail: 5, print: 10).
func disagreement(asks []ask) []string {
	if len(asks) < 2 {
		return nil
	}
	aspects := []struct {
		name string
		of   func(ask) string
	}{
		{"scaleTargetRef", func(a ask) string { return a.hpa.target.String() }},
		{"bounds", func(a ask) string { return a.hpa.boundsInWords() }},
		{"averageValue", func(a ask) string { return a.metric.inWords() }},
		{"tolerance", func(a ask) string { return fmt.Sprintf("%v down, %v up", a.hpa.tolerance.Down, a.hpa.tolerance.Up) }},
	}
	var differences []string
	for _, aspect := range aspects {
		differs := false
		words := make([]string, len(asks))
		for i, a := range asks {
			differs = differs || aspect.of(a) != aspect.of(asks[0])
			words[i] = a.hpa.Name + ": " + aspect.of(a)
		}
		if differs {
			differences = append(differences, fmt.Sprintf("%s (%s)", aspect.name, strings.Join(words, "; ")))
		}
	}
	return differences
}

// boundsInWords are minReplicas and maxReplicas.
func (h *nativeHPA) boundsInWords() string {
	least := h.bounds.Min
	if h.toZero {
		least = 0
	}
	return fmt.Sprintf("%d to %d", least, h.bounds.Max)
}

// inWords is the target as a user may write it.
func (m hpaMetric) inWords() string {
	if m.value {
		return "none, but a value"
	}
	return fmt.Sprint(m.target.Float())
}
