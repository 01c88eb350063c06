package oracle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// ExternalAverage is upstream's calculation for an External metric with an averageValue
// target: of all the shortest, as no pods and no clock are in it. One is not to be asked
// by two goroutines at a time.
type ExternalAverage struct {
	calculator *podautoscaler.ReplicaCalculator
	tolerances podautoscaler.Tolerances
	target     int64
	reads      oneValue
}

// NewExternalAverage is the calculation for an HPA with this target and tolerance.
func NewExternalAverage(target algorithm.Milli, t algorithm.Tolerance) *ExternalAverage {
	e := &ExternalAverage{tolerances: Tolerances(t), target: int64(target), reads: oneValue{series: make([]int64, 1)}}
	e.calculator = podautoscaler.NewReplicaCalculator(e.reads, podList(nil), 0, 0)
	return e
}

// Replicas is the count that the HPA wants when it reads value, with so many replicas in
// the scale's status.
func (e *ExternalAverage) Replicas(value algorithm.Milli, status int32) int32 {
	e.reads.series[0] = int64(value)
	replicas, _, _, err := e.calculator.GetExternalPerPodMetricReplicas(status, e.target, metricName, e.tolerances, namespace, nil)
	if err != nil {
		panic(fmt.Sprintf("oracle: upstream fails where nothing can: %v", err))
	}
	return replicas
}

// oneValue is a MetricsClient as cheap as there can be, so that what is measured is
// upstream's own work. It has no other metrics: asking for them panics.
type oneValue struct {
	metrics.MetricsClient
	series []int64
}

// GetExternalMetric implements upstream's MetricsClient.
func (v oneValue) GetExternalMetric(string, string, labels.Selector) ([]int64, time.Time, error) {
	return v.series, time.Time{}, nil
}
