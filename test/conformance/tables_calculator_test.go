package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// calculatorCase is a row of calculator_*.yaml: one metric's calculation.
type calculatorCase struct {
	upstreamCase
	Replicas int32            `json:"replicas"`
	Metric   algorithm.Metric `json:"metric"`
	// Uses is what each container of each pod uses, Requests what each container
	// requests, Names the pods that the readings are of if not those that there are.
	Uses     [][]algorithm.Milli `json:"uses"`
	Requests []algorithm.Milli   `json:"requests"`
	Names    []string            `json:"names"`
	// Reads are the values of every metric that is no resource.
	Reads []algorithm.Milli `json:"reads"`
	podColumns
	Tolerance *algorithm.Tolerance `json:"tolerance"`
	Want      struct {
		Replicas    int32           `json:"replicas"`
		Average     algorithm.Milli `json:"average"`
		Utilization int32           `json:"utilization"`
		Error       bool            `json:"error"`
	} `json:"want"`
}

func (c calculatorCase) check(t *testing.T) {
	tolerance := algorithm.Tolerance{Down: algorithm.DefaultTolerance, Up: algorithm.DefaultTolerance}
	if c.Tolerance != nil {
		tolerance = *c.Tolerance
	}
	workload := algorithm.Workload{
		Scale: algorithm.Scale{Spec: c.Replicas, Status: c.Replicas},
		Pods:  c.pods(),
		Now:   tableNow,
	}
	got, err := algorithm.Recommend(c.Metric, c.reading(), workload, tolerance, tableWarmup())
	if (err != nil) != c.Want.Error {
		t.Fatalf("the error is %v", err)
	}
	got.WithinTolerance = false // upstream does not tell
	if want := (algorithm.Calculation{Replicas: c.Want.Replicas, Average: c.Want.Average, Utilization: c.Want.Utilization}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// pods are as many as there are replicas, and those that have failed besides.
func (c calculatorCase) pods() []algorithm.Pod {
	var pods []algorithm.Pod
	for i := range max(int(c.Replicas), len(c.Phase)) {
		pod := c.pod(i)
		if i < len(c.Requests) {
			requestCPU(&pod, c.Requests[i])
		}
		pods = append(pods, pod)
	}
	return pods
}

// reading has upstream's zero time.
func (c calculatorCase) reading() algorithm.Reading {
	switch c.Metric.Source {
	case algorithm.ResourceSource, algorithm.ContainerResourceSource:
		name := func(i int) string {
			if i < len(c.Names) {
				return c.Names[i]
			}
			return podName(i)
		}
		return resourceReading(c.Metric.Container, c.Uses, name, longAgo.time())
	case algorithm.PodsSource:
		return podsReading(c.Reads, longAgo.time())
	default:
		return algorithm.Reading{Series: c.Reads}
	}
}

// podsReading is what the custom metrics API answers of pods.
func podsReading(values []algorithm.Milli, at time.Duration) algorithm.Reading {
	if len(values) == 0 {
		return algorithm.Reading{Err: errNothing}
	}
	pods := map[string]algorithm.PodReading{}
	for i, value := range values {
		pods[podName(i)] = algorithm.PodReading{Value: value, At: at, Window: time.Minute}
	}
	return algorithm.Reading{Pods: pods}
}

// groupCase is a row of groups.yaml: pods and the groups they are sorted into.
type groupCase struct {
	upstreamCase
	Resource string       `json:"resource"`
	Pods     []groupedPod `json:"pods"`
}

type groupedPod struct {
	Name     string             `json:"name"`
	Phase    algorithm.PodPhase `json:"phase"`
	Deleting bool               `json:"deleting"`
	Started  *timeAgo           `json:"started"`
	Ready    *bool              `json:"ready"`
	Since    timeAgo            `json:"since"`
	Measured *timeAgo           `json:"measured"`
	Over     timeAgo            `json:"over"`
	Group    string             `json:"group"`
}

// check finds out a pod's group by what the calculation makes of it beside a witness
// that is ready. 5 replicas, a target of 1000, and both read 1500, or both read 500:
//
//	ready    1500 and 1500 -> 3              500 and 500 -> 1
//	unready  1500 and 0 turns back -> 5      500 -> 1
//	missing  1500 and 0 turns back -> 5      500 and 1000 -> 2
//	ignored  1500 -> 2                       500 -> 1
func (c groupCase) check(t *testing.T) {
	groups := map[[2]int32]string{{3, 1}: "ready", {5, 1}: "unready", {5, 2}: "missing", {2, 1}: "ignored"}
	for _, pod := range c.Pods {
		answers := [2]int32{c.besideWitness(t, pod, 1500), c.besideWitness(t, pod, 500)}
		if got := groups[answers]; got != pod.Group {
			t.Errorf("pod %s: the answers %v mean %q, want %q", pod.Name, answers, got, pod.Group)
		}
	}
}

// besideWitness is how many replicas a pod and a witness that read value ask for.
func (c groupCase) besideWitness(t *testing.T, p groupedPod, value algorithm.Milli) int32 {
	witness := podColumns{}.pod(0)
	readings := map[string]algorithm.PodReading{witness.Name: {Value: value}}
	pod := algorithm.Pod{Name: p.Name, Phase: p.Phase, Deleting: p.Deleting}
	if p.Started != nil {
		pod.HasStarted, pod.Started = true, p.Started.time()
	}
	if p.Ready != nil {
		pod.Ready, pod.ReadySince = algorithm.False, p.Since.time()
	}
	if p.Ready != nil && *p.Ready {
		pod.Ready = algorithm.True
	}
	if p.Measured != nil {
		readings[p.Name] = algorithm.PodReading{Value: value, At: p.Measured.time(), Window: time.Duration(p.Over)}
	}
	metric := algorithm.Metric{Source: algorithm.ResourceSource, Resource: c.Resource, Target: algorithm.Target{AverageValue: 1000}}
	workload := algorithm.Workload{Scale: algorithm.Scale{Spec: 5, Status: 5}, Pods: []algorithm.Pod{witness, pod}, Now: tableNow}
	got, err := algorithm.Recommend(metric, algorithm.Reading{Pods: readings}, workload, algorithm.Tolerance{}, tableWarmup())
	if err != nil {
		t.Fatal(err)
	}
	return got.Replicas
}

// requestCase is a row of requests.yaml: what one pod requests.
type requestCase struct {
	upstreamCase
	Container  string             `json:"container"`
	OfPod      *algorithm.Milli   `json:"ofPod"`
	Containers []requestContainer `json:"containers"`
	Want       struct {
		Request algorithm.Milli `json:"request"`
		Error   string          `json:"error"`
	} `json:"want"`
}

type requestContainer struct {
	Name    string           `json:"name"`
	Request *algorithm.Milli `json:"request"`
	// Init is "once" or "restartable" for an init container.
	Init string `json:"init"`
}

// check lets the pod use ten times what it should request: its utilization is 1000 % for
// no other request below 1000.
func (c requestCase) check(t *testing.T) {
	metric := algorithm.Metric{
		Source:    algorithm.ResourceSource,
		Resource:  algorithm.CPU,
		Container: c.Container,
		Target:    algorithm.Target{Utilization: 100},
	}
	if c.Container != "" {
		metric.Source = algorithm.ContainerResourceSource
	}
	pod := podColumns{}.pod(0)
	reading := algorithm.Reading{Pods: map[string]algorithm.PodReading{pod.Name: {Value: 10 * c.Want.Request}}}
	pod.Containers = nil
	if c.OfPod != nil {
		pod.Requests = map[string]algorithm.Milli{algorithm.CPU: *c.OfPod}
	}
	for _, container := range c.Containers {
		if container.Init == "once" { // it is not among those that a Pod has
			continue
		}
		requests := map[string]algorithm.Milli{}
		if container.Request != nil {
			requests[algorithm.CPU] = *container.Request
		}
		pod.Containers = append(pod.Containers, algorithm.Container{Name: container.Name, Requests: requests})
	}
	workload := algorithm.Workload{Scale: algorithm.Scale{Spec: 1, Status: 1}, Pods: []algorithm.Pod{pod}, Now: tableNow}
	got, err := algorithm.Recommend(metric, reading, workload, algorithm.Tolerance{}, tableWarmup())
	switch {
	case c.Want.Error != "":
		if err == nil || !strings.Contains(err.Error(), c.Want.Error) {
			t.Errorf("the error is %v, want one that names %s", err, c.Want.Error)
		}
	case err != nil:
		t.Error(err)
	case got.Utilization != 1000:
		t.Errorf("using %d is %d %% of the request, want 1000 %%", 10*c.Want.Request, got.Utilization)
	}
}
