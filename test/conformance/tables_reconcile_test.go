package conformance

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// reconcileCase is a row of reconcile_*.yaml: an HPA and what one reconcile makes of it.
type reconcileCase struct {
	upstreamCase
	Bounds   algorithm.Bounds   `json:"bounds"`
	Replicas int32              `json:"replicas"`
	Status   *int32             `json:"status"` // if it is not Replicas
	Metrics  []algorithm.Metric `json:"metrics"`
	Behavior *tableBehavior     `json:"behavior"`

	Reads    []algorithm.Milli `json:"reads"`
	Requests []algorithm.Milli `json:"requests"`
	podColumns

	// Fails are the sources that cannot be read.
	Fails    []algorithm.MetricSource `json:"fails"`
	Selector algorithm.Reason         `json:"selector"`
	NoScale  bool                     `json:"noScale"`
	Refused  bool                     `json:"refused"`
	Memory   []recommendation         `json:"memory"`
	Before   tableConditions          `json:"before"`
	GateOff  bool                     `json:"gateOff"`
	Times    int                      `json:"times"` // more than once
	Want     reconcileWant            `json:"want"`
}

type recommendation struct {
	Replicas int32   `json:"replicas"`
	Ago      timeAgo `json:"ago"`
}

type reconcileWant struct {
	Replicas    int32           `json:"replicas"`
	Average     algorithm.Milli `json:"average"`
	Utilization int32           `json:"utilization"`
	Error       bool            `json:"error"`
	// Asks is for each metric "up", "down" or "none", which a metric that fails asks too.
	Asks []string `json:"asks"`
	tableConditions
}

func (c reconcileCase) check(t *testing.T) {
	controller := tableController()
	controller.ScaleToZero = !c.GateOff
	state := &algorithm.State{Memory: remembering(c.Memory), Conditions: c.Before.all()}
	for range max(1, c.Times) {
		c.compare(t, controller.Reconcile(c.input(), state), state.Conditions)
	}
}

// remembering is the memory of a controller that recommended this, in order of time; nil
// is a controller that has just started.
func remembering(recommended []recommendation) algorithm.Memory {
	if recommended == nil {
		return algorithm.Memory{}
	}
	var samples []algorithm.Sample
	for _, r := range recommended {
		samples = append(samples, algorithm.Sample{At: r.Ago.time(), Replicas: r.Replicas})
	}
	slices.SortStableFunc(samples, func(a, b algorithm.Sample) int { return int(a.At - b.At) })
	return algorithm.NewMemory(samples, nil)
}

func (c reconcileCase) compare(t *testing.T, got algorithm.Outcome, conditions algorithm.Conditions) {
	t.Helper()
	want := c.Want
	if got.Replicas != want.Replicas || got.Rescaled != (want.Replicas != c.Replicas) {
		t.Errorf("%d replicas, written %v; want %d of %d before", got.Replicas, got.Rescaled, want.Replicas, c.Replicas)
	}
	if none := (algorithm.Conditions{}); want.all() != none && conditions != want.all() {
		t.Errorf("conditions %+v, want %+v", conditions, want.all())
	}
	if (got.Err != nil) != want.Error {
		t.Errorf("the error is %v", got.Err)
	}
	if want.Utilization != 0 && got.Calculations[0].Utilization != want.Utilization {
		t.Errorf("utilization %d %%, want %d %%", got.Calculations[0].Utilization, want.Utilization)
	}
	if want.Average != 0 && got.Calculations[0].Average != want.Average {
		t.Errorf("average %d, want %d", got.Calculations[0].Average, want.Average)
	}
	if asks := c.asked(got.Calculations); want.Asks != nil && !slices.Equal(asks, want.Asks) {
		t.Errorf("the metrics ask %v, want %v", asks, want.Asks)
	}
}

// asked is the direction of each metric's answer.
func (c reconcileCase) asked(calculations []algorithm.Calculation) []string {
	var asks []string
	for _, calculation := range calculations {
		switch {
		case calculation.Failed || calculation.Replicas == c.Replicas:
			asks = append(asks, "none")
		case calculation.Replicas > c.Replicas:
			asks = append(asks, "up")
		default:
			asks = append(asks, "down")
		}
	}
	return asks
}

func (c reconcileCase) input() algorithm.Input {
	in := algorithm.Input{
		Spec: algorithm.Spec{Bounds: c.Bounds, Metrics: c.Metrics, Behavior: c.Behavior.filled()},
		Workload: algorithm.Workload{
			Scale: algorithm.Scale{Spec: c.Replicas, Status: c.Replicas},
			Now:   tableNow,
		},
		NoScale:  c.NoScale,
		Refused:  c.Refused,
		Selector: c.Selector,
	}
	if c.Status != nil {
		in.Workload.Scale.Status = *c.Status
	}
	in.Workload.Pods = c.pods(in.Workload.Scale.Status)
	for _, m := range c.Metrics {
		in.Readings = append(in.Readings, c.reading(m))
	}
	return in
}

// pods are as many as there are requests or, without any, as the status has. They became
// ready or unready when they started.
func (c reconcileCase) pods(status int32) []algorithm.Pod {
	requests := c.Requests
	if requests == nil {
		requests = slices.Repeat([]algorithm.Milli{1000}, int(status))
	}
	var pods []algorithm.Pod
	for i, request := range requests {
		pod := c.pod(i)
		pod.ReadySince = pod.Started
		requestCPU(&pod, request/2)
		pods = append(pods, pod)
	}
	return pods
}

// reading is what a metric's API answers at this moment. Half of what a pod uses is each
// container's, rounded down: 95 is 47 and 47.
func (c reconcileCase) reading(m algorithm.Metric) algorithm.Reading {
	switch {
	case slices.Contains(c.Fails, m.Source):
		return algorithm.Reading{Err: errors.New("the API does not answer")}
	case m.Source == algorithm.PodsSource:
		return podsReading(c.Reads, tableNow)
	case m.Source == algorithm.ObjectSource:
		return algorithm.Reading{Series: c.Reads[:1]}
	case m.Source == algorithm.ExternalSource:
		return algorithm.Reading{Series: c.Reads}
	}
	var uses [][]algorithm.Milli
	for _, used := range c.Reads {
		uses = append(uses, []algorithm.Milli{used / 2, used / 2})
	}
	return resourceReading(m.Container, uses, podName, tableNow)
}

// wish is a reconcile whose one metric asks for exactly that many replicas: while a
// workload's status has none, nothing is within any tolerance.
func wish(current, desired int32, bounds algorithm.Bounds, b *algorithm.Behavior) algorithm.Input {
	return algorithm.Input{
		Spec: algorithm.Spec{
			Bounds:   bounds,
			Metrics:  []algorithm.Metric{{Source: algorithm.ExternalSource, Target: algorithm.Target{AverageValue: 1000}}},
			Behavior: b,
		},
		Workload: algorithm.Workload{Scale: algorithm.Scale{Spec: current}, Now: tableNow},
		Readings: []algorithm.Reading{{Series: []algorithm.Milli{1000 * algorithm.Milli(desired)}}},
	}
}

// anyCount are bounds that leave room for every count of the tables.
func anyCount() algorithm.Bounds { return algorithm.Bounds{Min: 0, Max: 1_000_000} }

// windowed is the default behavior with these windows.
func windowed(up, down time.Duration) *algorithm.Behavior {
	b := algorithm.DefaultBehavior()
	b.ScaleUp.Window, b.ScaleDown.Window = up, down
	return &b
}
