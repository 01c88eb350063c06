package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Pods measures pods.
type Pods interface {
	// Measure returns the pods of a workload and what they use: one reading for each of
	// the metrics, which are of algorithm.ResourceSource or ContainerResourceSource. The
	// pods are those of the namespace that the label selector finds, or, where it is
	// empty, those of the scale target. The workload's Scale is left to the caller. What
	// has not been seen is an error, never no pods.
	Measure(ctx context.Context, of scaling.Scope, selector string, metrics []algorithm.Metric) (algorithm.Workload, []algorithm.Reading, error)
}

// resourceInterval is how often pods are measured by default: as often as the HPA asks,
// and as metrics-server itself measures.
const resourceInterval = 15 * time.Second

const (
	utilization  = "Utilization"
	averageValue = "AverageValue"
)

var (
	resourceValueKey = metadata.Key{
		Name: "value", Required: true,
		Format:  "a percentage of the requests such as 80 or, with metricType AverageValue, a quantity such as 100m or 512Mi",
		Meaning: "How much one pod is to use.",
	}
	metricTypeKey = metadata.Key{
		Name: "metricType", Choices: []string{utilization, averageValue}, Default: utilization,
		Meaning: "What value is. In KEDA it stands beside the metadata, where a trigger of type external has one of its own, and KEDA refuses a trigger without it.",
	}
	containerNameKey = metadata.Key{
		Name: "containerName", Format: "the name of a container that every pod has",
		Meaning: "Measures this container alone. By default it is the whole pod.",
	}
	podSelectorKey = metadata.Key{
		Name: "podSelector", Format: "a label selector such as app=shop,tier in (web,api)",
		Meaning: "Measures all pods of the namespace that it finds as one. By default they are those of the scale target.",
	}
	podsPerReplicaKey = metadata.Key{
		Name: "podsPerReplica", Kind: metadata.Whole, Range: metadata.Range{Min: 1, Max: 1000}, Default: "1",
		Meaning: "How many of the pods that podSelector finds one replica of the scale target stands for: " +
			"3 where three Deployments are measured as one and each is a third of it.",
	}
)

// resourceKinds are KEDA's cpu and memory. pods is nil where no cluster is seen.
func resourceKinds(pods Pods) []kind {
	var kinds []kind
	for _, name := range []string{algorithm.CPU, "memory"} {
		kinds = append(kinds, kind{
			name:     name,
			keys:     []metadata.Key{resourceValueKey, metricTypeKey, containerNameKey, podSelectorKey, podsPerReplicaKey},
			interval: resourceInterval,
			parse: func(m *metadata.Map, _ []byte) (scaling.Trigger, string) {
				if pods == nil {
					m.Conflict("%s: this process sees no cluster, and so no pods: run it with one, or use another trigger", name)
				}
				const one = 1000
				return scaling.Trigger{
					Target: one, Counts: true, Costly: true,
					// As in KEDA, what pods use neither wakes a workload nor keeps it
					// awake: no count is above this.
					Activation: math.MaxInt32,
					Query:      parseResourceQuery(m, name),
				}, name
			},
		})
	}
	return kinds
}

// resourceQuery is what the pods of a workload use of one resource, in replicas. Until it
// is bound by In, it cannot be read.
type resourceQuery struct {
	metric   algorithm.Metric
	selector string
	// podsPerReplica turns replicas into pods and back.
	podsPerReplica int32
	// name is what is measured, asks adds to it what it is set in relation to.
	name, asks string
	scope      scaling.Scope
}

var (
	_ scaling.Scoped   = resourceQuery{}
	_ scaling.Detailed = resourceQuery{}
)

// Server is another one for every set of pods: how long they take to measure is up to
// how many they are. All that is read of them is read together.
func (q resourceQuery) Server() string {
	if q.selector != "" {
		return "pods in " + q.scope.Namespace + ": " + q.selector
	}
	return "pods in " + q.scope.Namespace + " of " + q.scope.Target
}

// String names what is measured, as in "cpu of the scale target's pods" or "memory of
// container app in pods app=shop". The target is no part of it, as a threshold is none of
// other names.
func (q resourceQuery) String() string { return q.name }

// Asks adds to String what the count is computed with.
func (q resourceQuery) Asks() string { return q.asks }

// In is the query of one workload.
func (q resourceQuery) In(s scaling.Scope) scaling.Query {
	q.scope = s
	return q
}

func parseResourceQuery(m *metadata.Map, name string) resourceQuery {
	q := resourceQuery{
		metric:   algorithm.Metric{Source: algorithm.ResourceSource, Resource: name, Container: m.Text(containerNameKey)},
		selector: m.Text(podSelectorKey), podsPerReplica: m.Whole(podsPerReplicaKey),
	}
	switch m.Text(metricTypeKey) {
	case averageValue:
		q.metric.Target = algorithm.Target{Type: algorithm.AverageValueTarget, AverageValue: parseQuantity(m)}
	case utilization:
		q.metric.Target = algorithm.Target{Type: algorithm.UtilizationTarget, Utilization: parsePercentage(m)}
	}
	whose := "the scale target's pods"
	if q.selector != "" {
		parsed, err := labels.Parse(q.selector)
		if err != nil {
			m.Problem(podSelectorKey, err.Error())
		} else {
			q.selector = parsed.String() // however it is written, it is one question
		}
		whose = "pods " + q.selector
	} else if m.Has(podsPerReplicaKey) {
		m.Conflict("podsPerReplica: only together with podSelector; a pod of the scale target is one of its replicas")
	}
	q.name = name + " of " + whose
	if q.metric.Container != "" {
		q.metric.Source = algorithm.ContainerResourceSource
		q.name = name + " of container " + q.metric.Container + " in " + whose
	}
	q.asks = fmt.Sprintf("%s, target %d %%", q.name, q.metric.Target.Utilization)
	if target := q.metric.Target.AverageValue; target > 0 {
		q.asks = q.name + ", target " + q.amount(target)
	}
	if q.podsPerReplica > 1 {
		q.asks += fmt.Sprintf(", %d pods per replica", q.podsPerReplica)
	}
	return q
}

// parsePercentage reads a Utilization.
func parsePercentage(m *metadata.Map) int32 {
	n, err := strconv.ParseInt(m.Text(resourceValueKey), 10, 32)
	if (err != nil || n < 1) && m.Has(resourceValueKey) {
		m.Problem(resourceValueKey, "a Utilization is a whole number of percent of at least 1; a quantity needs metricType AverageValue")
	}
	return int32(n)
}

// parseQuantity reads an AverageValue.
func parseQuantity(m *metadata.Map) algorithm.Milli {
	text := m.Text(resourceValueKey)
	if text == "" {
		return 0
	}
	quantity, err := quantityOf(text)
	milli := algorithm.Milli(quantity.MilliValue())
	if err != nil || milli <= 0 || milli > algorithm.MaxMilli {
		m.Problem(resourceValueKey, fmt.Sprintf("an AverageValue is a quantity from 1m to %v", algorithm.MaxMilli.Float()))
		return 0
	}
	return milli
}

// resources reads what pods use.
type resources struct {
	pods    Pods
	timeout time.Duration
}

func (resources) close() {}

// read measures pods once for all queries, which are about the same pods.
func (r resources) read(ctx context.Context, queries []resourceQuery) ([]scaling.Outcome, error) {
	q := queries[0]
	switch {
	case r.pods == nil:
		return nil, errors.New("this process sees no cluster, and so no pods")
	case q.scope.Target == "":
		return nil, errors.New("there is no scale target whose replicas it could be set in relation to (a ScaledJob has none)")
	case q.scope.Spec == 0:
		return nothingRuns(queries), nil
	}
	metrics := make([]algorithm.Metric, len(queries))
	for i, q := range queries {
		metrics[i] = q.metric
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	workload, readings, err := r.pods.Measure(ctx, q.scope, q.selector, metrics)
	if err != nil {
		return nil, steady(err)
	}
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		outcomes[i] = q.outcome(workload, readings[i])
	}
	return outcomes, nil
}

// nothingRuns is the answer about a workload at zero. It is a true 0 and no missing
// value: another trigger decides when the workload wakes, and no fallback does.
func nothingRuns(queries []resourceQuery) []scaling.Outcome {
	outcomes := make([]scaling.Outcome, len(queries))
	for i := range outcomes {
		outcomes[i].Note = "the scale target is at zero: there is nothing to measure, and another trigger has to wake it"
	}
	return outcomes
}

// outcome is the count that the HPA would come to. The formula counts in pods, of which
// the scale target is taken to have podsPerReplica for each replica:
//
//	4 replicas, 4 pods at 90 % of a target of 60 %              -> 6 pods, 6 replicas
//	4 replicas of 3 pods, 12 pods at 75 % of a target of 60 %   -> 15 pods, 5 replicas
//	4 replicas of 3 pods, 12 pods at 62 %, inside the tolerance -> 12 pods, 4 replicas
//
// The count follows from the pods that are there and not from Spec, so that pods that are
// slow to come do not make it grow: with 2 of 4 there, at 90 %, it is 3 and not 6.
func (q resourceQuery) outcome(w algorithm.Workload, r algorithm.Reading) scaling.Outcome {
	if len(w.Pods) == 0 {
		return scaling.Outcome{Err: fmt.Errorf("%s: %w: there are no such pods, but %s is to have %d replicas: check that they can start and carry the labels of the selector",
			q, scaling.ErrNoData, q.scope.Target, q.scope.Spec)}
	}
	w.Scale = algorithm.Scale{Spec: q.inPods(q.scope.Spec), Status: q.inPods(q.scope.Status)}
	c, err := algorithm.Recommend(q.metric, r, w, q.scope.Tolerance, algorithm.DefaultWarmup())
	if errors.Is(err, algorithm.ErrNoData) {
		return scaling.Outcome{Err: fmt.Errorf("%s: %w: %w", q, scaling.ErrNoData, err)}
	}
	if err != nil {
		return scaling.Outcome{Err: fmt.Errorf("%s: %w", q, err)}
	}
	replicas := (int64(c.Replicas) + int64(q.podsPerReplica) - 1) / int64(q.podsPerReplica)
	return scaling.Outcome{Value: float64(replicas), Note: q.note(c, len(w.Pods))}
}

// inPods is a number of replicas in pods, at most what an int32 holds.
func (q resourceQuery) inPods(replicas int32) int32 {
	return int32(min(int64(replicas)*int64(q.podsPerReplica), math.MaxInt32)) //nolint:gosec // it fits
}

// note is what the pods use, which a count does not say.
func (q resourceQuery) note(c algorithm.Calculation, pods int) string {
	if target := q.metric.Target; target.AverageValue > 0 {
		return fmt.Sprintf("%d pods use %s each on average, target %s", pods, q.amount(c.Average), q.amount(target.AverageValue))
	}
	return fmt.Sprintf("%d pods use %d %% of their requests, target %d %%", pods, c.Utilization, q.metric.Target.Utilization)
}

// amount is a quantity in the unit that users write: 250m, 512Mi.
func (q resourceQuery) amount(of algorithm.Milli) string {
	if q.metric.Resource == algorithm.CPU {
		return resource.NewMilliQuantity(int64(of), resource.DecimalSI).String()
	}
	return resource.NewQuantity(int64(of/1000), resource.BinarySI).String()
}
