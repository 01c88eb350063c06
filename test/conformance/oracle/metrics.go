package oracle

import (
	"context"
	"errors"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Metrics is upstream's MetricsClient over readings that a test sets. It looks at no
// selector and no namespace. It has no lock: a bubble's synctest.Wait lies between a test
// that sets a reading and a controller that asks for it.
type Metrics struct {
	epoch    time.Time
	readings map[metricKey]algorithm.Reading
}

var _ metrics.MetricsClient = (*Metrics)(nil)

// metricKey tells the metrics APIs apart, as upstream's clients do: a metric and a
// resource of the same name are two things.
type metricKey struct {
	source          algorithm.MetricSource
	name, container string
}

// errNoData is what upstream's REST client says of an empty answer.
var errNoData = errors.New("no metrics returned")

// NewMetrics serves readings whose times count from epoch. A metric that has no reading
// is an error, as an empty answer is.
func NewMetrics(epoch time.Time) *Metrics {
	return &Metrics{epoch: epoch, readings: map[metricKey]algorithm.Reading{}}
}

// Set is what the metric reads from now on. name is that of an External, Object or Pods
// metric; the other two go by their resource and container.
func (m *Metrics) Set(metric algorithm.Metric, name string, r algorithm.Reading) {
	m.readings[keyOf(metric, name)] = r
}

func keyOf(metric algorithm.Metric, name string) metricKey {
	switch metric.Source {
	case algorithm.ResourceSource:
		return metricKey{source: algorithm.ResourceSource, name: metric.Resource}
	case algorithm.ContainerResourceSource:
		return metricKey{algorithm.ResourceSource, metric.Resource, metric.Container}
	default:
		return metricKey{source: metric.Source, name: name}
	}
}

// GetResourceMetric implements upstream's MetricsClient. container is empty for the sum
// over all containers.
func (m *Metrics) GetResourceMetric(_ context.Context, resource v1.ResourceName, _ string, _ labels.Selector, container string) (metrics.PodMetricsInfo, time.Time, error) {
	return m.pods(metricKey{algorithm.ResourceSource, string(resource), container})
}

// GetRawMetric implements upstream's MetricsClient: it serves the Pods metrics.
func (m *Metrics) GetRawMetric(name, _ string, _, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return m.pods(metricKey{source: algorithm.PodsSource, name: name})
}

// GetObjectMetric implements upstream's MetricsClient.
func (m *Metrics) GetObjectMetric(name, _ string, _ *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	series, at, err := m.series(metricKey{source: algorithm.ObjectSource, name: name})
	if err != nil {
		return 0, time.Time{}, err
	}
	return series[0], at, nil
}

// GetExternalMetric implements upstream's MetricsClient.
func (m *Metrics) GetExternalMetric(name, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	return m.series(metricKey{source: algorithm.ExternalSource, name: name})
}

// pods answers with a fresh map: upstream's calculator deletes from it and adds to it.
func (m *Metrics) pods(key metricKey) (metrics.PodMetricsInfo, time.Time, error) {
	r := m.readings[key]
	if r.Err != nil {
		return nil, time.Time{}, r.Err
	}
	if len(r.Pods) == 0 {
		return nil, time.Time{}, errNoData
	}
	info := make(metrics.PodMetricsInfo, len(r.Pods))
	for name, p := range r.Pods {
		info[name] = metrics.PodMetric{Timestamp: m.epoch.Add(p.At), Window: p.Window, Value: int64(p.Value)}
	}
	return info, m.epoch, nil
}

func (m *Metrics) series(key metricKey) ([]int64, time.Time, error) {
	r := m.readings[key]
	if r.Err != nil {
		return nil, time.Time{}, r.Err
	}
	if len(r.Series) == 0 {
		return nil, time.Time{}, errNoData
	}
	values := make([]int64, len(r.Series))
	for i, v := range r.Series {
		values[i] = int64(v)
	}
	return values, m.epoch, nil
}
