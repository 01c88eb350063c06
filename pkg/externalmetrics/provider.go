package externalmetrics

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Evaluator decides: a scaling.Evaluator.
type Evaluator interface {
	// Evaluate always returns a decision; its Err says whether it may be served.
	Evaluate(ctx context.Context, req scaling.Request) scaling.Decision
}

// Policies knows the StabilizedMetrics of the cluster.
type Policies interface {
	// Metric returns the one of a name. Its error wraps scaling.ErrNoSuchMetric if
	// there is none.
	Metric(ctx context.Context, namespace, name string) (scaling.Metric, error)
}

// Call is a request that was answered.
type Call struct {
	// Status is that of HTTP, such as 200.
	Status int
	Took   time.Duration
}

// values answers HPAs from decisions. It translates and never decides.
type values struct {
	policies  Policies
	evaluator Evaluator
	observe   func(Call)
}

var _ provider.ExternalMetricsProvider = values{}

// GetExternalMetric returns the one value of a metric, or an error that is a status:
// never an empty list, which an HPA would not hold at, and never a zero for want of
// data.
func (v values) GetExternalMetric(ctx context.Context, namespace string, selector labels.Selector, info provider.ExternalMetricInfo) (*external_metrics.ExternalMetricValueList, error) {
	began := time.Now()
	value, err := v.value(ctx, namespace, info.Metric, selector)
	v.observe(Call{Status: statusCode(err), Took: time.Since(began)})
	if err != nil {
		return nil, err
	}
	return &external_metrics.ExternalMetricValueList{Items: []external_metrics.ExternalMetricValue{value}}, nil
}

func (v values) value(ctx context.Context, namespace, name string, selector labels.Selector) (external_metrics.ExternalMetricValue, error) {
	none := external_metrics.ExternalMetricValue{}
	if asked, ok := request.RequestInfoFrom(ctx); ok && asked.Subresource != "" {
		return none, reservedName(namespace, asked.Subresource)
	}
	metric, err := v.policies.Metric(ctx, namespace, name)
	if err != nil {
		return none, toStatus(namespace, name, err)
	}
	if selector != nil && !selector.Matches(labels.Set(metric.Labels)) {
		return none, notSelected(metric, selector)
	}
	d := v.evaluator.Evaluate(ctx, metric.Request())
	if d.Err != nil {
		return none, toStatus(namespace, name, d.Err)
	}
	return external_metrics.ExternalMetricValue{
		MetricName:   name,
		MetricLabels: metric.Labels,
		Timestamp:    metav1.NewTime(d.At),
		Value:        *resource.NewMilliQuantity(int64(d.Value), resource.DecimalSI), // exact: Milli are thousandths
	}, nil
}

// ListAllExternalMetrics is what discovery shows, which everybody may read: one name
// that stands for all. The real ones would tell each namespace's to all others, and
// none at all makes kubectl complain of an empty group.
func (values) ListAllExternalMetrics() []provider.ExternalMetricInfo {
	return []provider.ExternalMetricInfo{{Metric: "externalmetrics"}}
}
