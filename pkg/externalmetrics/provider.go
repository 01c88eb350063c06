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

// ownName stands in discovery for all StabilizedMetrics. Other servers that keep theirs
// to themselves show the same.
const ownName = "externalmetrics"

// Call is a request that was answered.
type Call struct {
	// Status is that of HTTP, such as 200.
	Status int
	// By names the other server that the answer is of; empty for our own.
	By   string
	Took time.Duration
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
	list, err := v.list(ctx, namespace, info.Metric, selector)
	v.observe(Call{Status: statusCode(err), Took: time.Since(began)})
	return list, err
}

func (v values) list(ctx context.Context, namespace, name string, selector labels.Selector) (*external_metrics.ExternalMetricValueList, error) {
	if err := reserved(ctx, namespace); err != nil {
		return nil, err
	}
	metric, err := v.policies.Metric(ctx, namespace, name)
	if err != nil {
		return nil, toStatus(namespace, name, err)
	}
	return v.decided(ctx, metric, selector)
}

// decided is the decision about a StabilizedMetric.
func (v values) decided(ctx context.Context, metric scaling.Metric, selector labels.Selector) (*external_metrics.ExternalMetricValueList, error) {
	if selector != nil && !selector.Matches(labels.Set(metric.Labels)) {
		return nil, notSelected(metric, selector)
	}
	d := v.evaluator.Evaluate(ctx, metric.Request())
	if d.Err != nil {
		return nil, toStatus(metric.Ref.Namespace, metric.Ref.Name, d.Err)
	}
	return &external_metrics.ExternalMetricValueList{Items: []external_metrics.ExternalMetricValue{{
		MetricName:   metric.Ref.Name,
		MetricLabels: metric.Labels,
		Timestamp:    metav1.NewTime(d.At),
		Value:        *resource.NewMilliQuantity(int64(d.Value), resource.DecimalSI), // exact: Milli are thousandths
	}}}, nil
}

// reserved is the error about a name that no metric can have; nil for any other.
func reserved(ctx context.Context, namespace string) error {
	if asked, ok := request.RequestInfoFrom(ctx); ok && asked.Subresource != "" {
		return reservedName(namespace, asked.Subresource)
	}
	return nil
}

// ListAllExternalMetrics is what discovery shows, which everybody may read: one name
// that stands for all. The real ones would tell each namespace's to all others, and
// none at all makes kubectl complain of an empty group.
func (values) ListAllExternalMetrics() []provider.ExternalMetricInfo {
	return []provider.ExternalMetricInfo{{Metric: ownName}}
}
