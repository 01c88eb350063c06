package oracle

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Calculator is upstream's ReplicaCalculator over some pods. Pods are dear to make: many
// questions about the same ones should share a Calculator.
type Calculator struct {
	pods  podList
	epoch time.Time
}

// NewCalculator has to run inside of a testing/synctest bubble, as its methods have:
// upstream reads the clock, which has to stand still. What it shows is taken to be now.
func NewCalculator(pods []algorithm.Pod, now time.Duration) Calculator {
	c := Calculator{make(podList, len(pods)), time.Now().Add(-now)}
	for i, p := range pods {
		c.pods[i] = Pod(p, c.epoch)
	}
	return c
}

// Calculate answers what one metric wants. Of the answer only Replicas, Average and
// Utilization are set. Average is garbage where upstream divides by the 0 of
// status.replicas: an AverageValue target of an Object or External metric.
func (c Calculator) Calculate(m algorithm.Metric, r algorithm.Reading, scale algorithm.Scale, t algorithm.Tolerance, warmup algorithm.Warmup) (algorithm.Calculation, error) {
	metrics := NewMetrics(c.epoch)
	metrics.Set(m, metricName, r)
	q := question{
		ReplicaCalculator: podautoscaler.NewReplicaCalculator(metrics, c.pods, warmup.CPUInitialization, warmup.InitialReadiness),
		tolerances:        Tolerances(t),
		scale:             scale,
	}
	return q.answer(m)
}

const (
	metricName = "metric"
	namespace  = ""
)

// question is one call of upstream's calculator, apart from the metric.
type question struct {
	*podautoscaler.ReplicaCalculator
	tolerances podautoscaler.Tolerances
	scale      algorithm.Scale
}

// answer chooses the calculator's method and its arguments as computeStatusFor*Metric of
// horizontal.go do.
func (q question) answer(m algorithm.Metric) (algorithm.Calculation, error) {
	switch m.Source {
	case algorithm.ResourceSource, algorithm.ContainerResourceSource:
		return q.resource(m)
	case algorithm.PodsSource:
		return calculation(q.GetMetricReplicas(q.scale.Spec, int64(m.Target.AverageValue), metricName, q.tolerances, namespace, everything, everything))
	case algorithm.ObjectSource:
		return q.object(m.Target)
	case algorithm.ExternalSource:
		return q.external(m.Target)
	}
	return algorithm.Calculation{}, fmt.Errorf("metric source %q is none of Kubernetes'", m.Source)
}

func (q question) resource(m algorithm.Metric) (algorithm.Calculation, error) {
	ctx, resource, container := context.Background(), v1.ResourceName(m.Resource), ""
	if m.Source == algorithm.ContainerResourceSource {
		container = m.Container
	}
	switch {
	case m.Target.AverageValue != 0:
		return calculation(q.GetRawResourceReplicas(ctx, q.scale.Spec, int64(m.Target.AverageValue), resource, q.tolerances, namespace, everything, container))
	case m.Target.Utilization != 0:
		replicas, utilization, average, _, err := q.GetResourceReplicas(ctx, q.scale.Spec, m.Target.Utilization, resource, q.tolerances, namespace, everything, container)
		if err != nil {
			return algorithm.Calculation{}, err
		}
		return algorithm.Calculation{Replicas: replicas, Average: algorithm.Milli(average), Utilization: utilization}, nil
	}
	return algorithm.Calculation{}, errNoTarget
}

func (q question) object(target algorithm.Target) (algorithm.Calculation, error) {
	object := &autoscalingv2.CrossVersionObjectReference{}
	switch {
	case target.Type == algorithm.ValueTarget && target.Value != 0:
		return calculation(q.GetObjectMetricReplicas(q.scale.Spec, int64(target.Value), metricName, q.tolerances, namespace, object, everything, everything))
	case target.Type == algorithm.AverageValueTarget && target.AverageValue != 0:
		return calculation(q.GetObjectPerPodMetricReplicas(q.scale.Status, int64(target.AverageValue), metricName, q.tolerances, namespace, object, everything))
	}
	return algorithm.Calculation{}, errNoTarget
}

func (q question) external(target algorithm.Target) (algorithm.Calculation, error) {
	switch {
	case target.AverageValue != 0:
		return calculation(q.GetExternalPerPodMetricReplicas(q.scale.Status, int64(target.AverageValue), metricName, q.tolerances, namespace, nil))
	case target.Value != 0:
		return calculation(q.GetExternalMetricReplicas(q.scale.Spec, int64(target.Value), metricName, q.tolerances, namespace, nil, everything))
	}
	return algorithm.Calculation{}, errNoTarget
}

var (
	errNoTarget = errors.New("neither of the targets that count for the source is set")
	everything  = labels.Everything()
)

// calculation takes what all of the calculator's methods but one return. An error
// leaves nothing else: a metric that failed has no status.
func calculation(replicas int32, average int64, _ time.Time, err error) (algorithm.Calculation, error) {
	if err != nil {
		return algorithm.Calculation{}, err
	}
	return algorithm.Calculation{Replicas: replicas, Average: algorithm.Milli(average)}, nil
}

// Tolerances makes upstream's type, whose fields are not exported and which has no
// constructor: two floats, down before up.
func Tolerances(t algorithm.Tolerance) podautoscaler.Tolerances {
	fields := struct{ down, up float64 }{t.Down, t.Up}
	const _ = -(unsafe.Sizeof(fields) ^ unsafe.Sizeof(podautoscaler.Tolerances{})) // does not compile if the sizes differ
	return *(*podautoscaler.Tolerances)(unsafe.Pointer(&fields))
}

// podList is upstream's PodLister: these pods, whatever the selector.
type podList []*v1.Pod

var _ corelisters.PodLister = podList(nil)

func (l podList) List(labels.Selector) ([]*v1.Pod, error)    { return l, nil }
func (l podList) Pods(string) corelisters.PodNamespaceLister { return l }

// Get is asked for by the interface and by nobody else.
func (l podList) Get(name string) (*v1.Pod, error) {
	return nil, apierrors.NewNotFound(v1.Resource("pods"), name)
}
