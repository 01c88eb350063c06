package oracle

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Style is how the behavior of an HPA is written down.
type Style string

const (
	// Explicit names every field.
	Explicit Style = "explicit"
	// Sparse leaves out what Kubernetes fills in by itself, as users do.
	Sparse Style = "sparse"
)

// The HPA, its namespace and its scale target, a Deployment of the same name.
const (
	hpaNamespace = "default"
	hpaName      = "web"
)

// MetricName is the name of the External, Object or Pods metric with this index.
func MetricName(index int) string { return fmt.Sprintf("metric-%d", index) }

// HPA is the spec as the API server keeps it, after upstream's defaulting. A tolerance
// that is no whole number of thousandths is an error: the API has none.
func HPA(spec algorithm.Spec, config algorithm.Controller, style Style) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: hpaNamespace, Name: hpaName, UID: hpaName},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: hpaName},
			MinReplicas:    &spec.Bounds.Min,
			MaxReplicas:    spec.Bounds.Max,
		},
	}
	for i, m := range spec.Metrics {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, metricSpec(m, MetricName(i)))
	}
	if b := spec.Behavior; b != nil {
		implied := algorithm.DefaultBehavior()
		implied.ScaleUp.Tolerance, implied.ScaleDown.Tolerance = config.Tolerance, config.Tolerance
		implied.ScaleDown.Window = config.DownscaleStabilization
		up, err := scalingRules(b.ScaleUp, implied.ScaleUp, style)
		if err != nil {
			return nil, fmt.Errorf("scaleUp: %w", err)
		}
		down, err := scalingRules(b.ScaleDown, implied.ScaleDown, style)
		if err != nil {
			return nil, fmt.Errorf("scaleDown: %w", err)
		}
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: up, ScaleDown: down}
	}
	defaults.SetDefaults_HorizontalPodAutoscaler(hpa)
	return hpa, nil
}

// scalingRules are the rules; sparse ones are nil where all of them are implied.
func scalingRules(rules, implied algorithm.Rules, style Style) (*autoscalingv2.HPAScalingRules, error) {
	written := func(differs bool) bool { return differs || style == Explicit }
	out := &autoscalingv2.HPAScalingRules{}
	if written(rules.Window != implied.Window) {
		seconds := int32(rules.Window / time.Second)
		out.StabilizationWindowSeconds = &seconds
	}
	if written(rules.Select != implied.Select) {
		selected := autoscalingv2.ScalingPolicySelect(rules.Select)
		out.SelectPolicy = &selected
	}
	if written(!slices.Equal(rules.Policies, implied.Policies)) {
		out.Policies = policies(rules.Policies)
	}
	if written(rules.Tolerance != implied.Tolerance) {
		tolerance, err := thousandths(rules.Tolerance)
		if err != nil {
			return nil, err
		}
		out.Tolerance = tolerance
	}
	if reflect.DeepEqual(*out, autoscalingv2.HPAScalingRules{}) {
		return nil, nil
	}
	return out, nil
}

func policies(list []algorithm.RatePolicy) []autoscalingv2.HPAScalingPolicy {
	out := make([]autoscalingv2.HPAScalingPolicy, len(list))
	for i, p := range list {
		out[i] = autoscalingv2.HPAScalingPolicy{
			Type:          autoscalingv2.HPAScalingPolicyType(p.Type),
			Value:         p.Value,
			PeriodSeconds: int32(p.Period / time.Second),
		}
	}
	return out
}

// thousandths is a tolerance as the API server has it. Upstream multiplies it by 0.001
// again, which is not always the same number as divided by 1000.
func thousandths(tolerance float64) (*resource.Quantity, error) {
	q := resource.NewMilliQuantity(int64(math.Round(tolerance*1000)), resource.DecimalSI)
	if q.AsApproximateFloat64() != tolerance {
		return nil, fmt.Errorf("tolerance %v is not a whole number times 0.001", tolerance)
	}
	return q, nil
}

func metricSpec(m algorithm.Metric, name string) autoscalingv2.MetricSpec {
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Source)}
	target, id := metricTarget(m.Target), autoscalingv2.MetricIdentifier{Name: name}
	switch m.Source {
	case algorithm.ResourceSource:
		spec.Resource = &autoscalingv2.ResourceMetricSource{Name: v1.ResourceName(m.Resource), Target: target}
	case algorithm.ContainerResourceSource:
		spec.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: v1.ResourceName(m.Resource), Container: m.Container, Target: target,
		}
	case algorithm.PodsSource:
		spec.Pods = &autoscalingv2.PodsMetricSource{Metric: id, Target: target}
	case algorithm.ObjectSource:
		object := autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "web"}
		spec.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: object, Metric: id, Target: target}
	case algorithm.ExternalSource:
		spec.External = &autoscalingv2.ExternalMetricSource{Metric: id, Target: target}
	}
	return spec
}

func metricTarget(t algorithm.Target) autoscalingv2.MetricTarget {
	out := autoscalingv2.MetricTarget{Type: autoscalingv2.MetricTargetType(t.Type)}
	if t.Value != 0 {
		out.Value = resource.NewMilliQuantity(int64(t.Value), resource.DecimalSI)
	}
	if t.AverageValue != 0 {
		out.AverageValue = resource.NewMilliQuantity(int64(t.AverageValue), resource.DecimalSI)
	}
	if t.Utilization != 0 {
		out.AverageUtilization = &t.Utilization
	}
	return out
}
