package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// tableCase is a row of testdata/tables: one case of upstream's tests.
type tableCase interface {
	of() upstreamCase
	check(t *testing.T)
}

// upstreamCase says which case of upstream's a row is. Case is the name of a table's
// entry, "#2" for the second of a test that has no table, "" for the only one.
type upstreamCase struct {
	Test string `json:"test"`
	Case string `json:"case"`
	// Changed says what is not as upstream has it, and why.
	Changed string `json:"changed"`
}

func (c upstreamCase) of() upstreamCase { return c }

// name is the case's, within a table of the given tests.
func (c upstreamCase) name() string {
	if c.Case == "" {
		return c.Test
	}
	return c.Test + "/" + c.Case
}

// readTable reads a file of testdata/tables. A field that a row does not have is an error.
func readTable[R any](t *testing.T, file string) []R {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "tables", file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []R
	if err := yaml.UnmarshalStrict(content, &rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return rows
}

// The clock of the tables: a reconcile is at tableNow, "long" ago is its origin.
const (
	tableNow = 1000 * time.Hour
	longAgo  = timeAgo(tableNow)
)

// tableWarmup is what upstream's tests set: a pod is warm after 3 minutes, not at once.
func tableWarmup() algorithm.Warmup {
	return algorithm.Warmup{CPUInitialization: 2 * time.Minute, InitialReadiness: 10 * time.Second}
}

// tableController is the controller of upstream's tests. Their scaleUpLimitFactor of 8,
// which none of their numbers but one depends on, is not carried over: see limits.yaml.
func tableController() algorithm.Controller {
	c := algorithm.DefaultController()
	c.Warmup = tableWarmup()
	return c
}

// timeAgo is a length of time: "3m", or "long".
type timeAgo time.Duration

func (s *timeAgo) UnmarshalText(text []byte) error {
	if string(text) == "long" {
		*s = longAgo
		return nil
	}
	d, err := time.ParseDuration(string(text))
	*s = timeAgo(d)
	return err
}

// time is the moment that long ago.
func (s timeAgo) time() time.Duration { return tableNow - time.Duration(s) }

// tablePolicy is a rate policy: "Pods 4 per 60s".
type tablePolicy algorithm.RatePolicy

func (p *tablePolicy) UnmarshalText(text []byte) error {
	var period string
	if _, err := fmt.Sscanf(string(text), "%s %d per %s", &p.Type, &p.Value, &period); err != nil {
		return fmt.Errorf("policy %q: %w", text, err)
	}
	var err error
	p.Period, err = time.ParseDuration(period)
	return err
}

// tableRules are one direction of a behavior. What is not there is Kubernetes' default.
type tableRules struct {
	Window    *timeAgo               `json:"window"`
	Select    algorithm.SelectPolicy `json:"select"`
	Policies  []tablePolicy          `json:"policies"`
	Tolerance *float64               `json:"tolerance"`
}

func (r *tableRules) over(filled algorithm.Rules) algorithm.Rules {
	if r == nil {
		return filled
	}
	if r.Window != nil {
		filled.Window = time.Duration(*r.Window)
	}
	if r.Select != "" {
		filled.Select = r.Select
	}
	if r.Tolerance != nil {
		filled.Tolerance = *r.Tolerance
	}
	if r.Policies != nil {
		filled.Policies = ratePolicies(r.Policies)
	}
	return filled
}

func ratePolicies(policies []tablePolicy) []algorithm.RatePolicy {
	var converted []algorithm.RatePolicy
	for _, p := range policies {
		converted = append(converted, algorithm.RatePolicy(p))
	}
	return converted
}

// tableBehavior is spec.behavior; nil is an HPA without.
type tableBehavior struct {
	Up   *tableRules `json:"up"`
	Down *tableRules `json:"down"`
}

func (b *tableBehavior) filled() *algorithm.Behavior {
	if b == nil {
		return nil
	}
	filled := algorithm.DefaultBehavior()
	filled.ScaleUp, filled.ScaleDown = b.Up.over(filled.ScaleUp), b.Down.over(filled.ScaleDown)
	return &filled
}

// tableCondition is a status and a reason: "True ValidMetricFound".
type tableCondition algorithm.Condition

func (c *tableCondition) UnmarshalText(text []byte) error {
	status, reason, found := strings.Cut(string(text), " ")
	if !found {
		return fmt.Errorf("condition %q is not a status and a reason", text)
	}
	*c = tableCondition{algorithm.Status(status), algorithm.Reason(reason)}
	return nil
}

// tableConditions are all of an HPA's.
type tableConditions struct {
	Able    tableCondition `json:"able"`
	Active  tableCondition `json:"active"`
	Limited tableCondition `json:"limited"`
	Zero    tableCondition `json:"zero"`
}

func (c tableConditions) all() algorithm.Conditions {
	return algorithm.Conditions{
		AbleToScale:    algorithm.Condition(c.Able),
		ScalingActive:  algorithm.Condition(c.Active),
		ScalingLimited: algorithm.Condition(c.Limited),
		ScaledToZero:   algorithm.Condition(c.Zero),
	}
}

// podColumns are the states of pods: an entry is one pod, what is not there is usual.
type podColumns struct {
	Ready    []bool               `json:"ready"`
	Started  []timeAgo            `json:"started"`
	Phase    []algorithm.PodPhase `json:"phase"`
	Deleting []bool               `json:"deleting"`
}

func podName(i int) string { return fmt.Sprintf("test-pod-%d", i) }

// pod is the pod with this index, of two containers without requests. Its readiness is
// as old as upstream's zero time.
func (c podColumns) pod(i int) algorithm.Pod {
	pod := algorithm.Pod{
		Name:       podName(i),
		Phase:      algorithm.Running,
		HasStarted: true,
		Ready:      algorithm.True,
		Containers: []algorithm.Container{{Name: "container1"}, {Name: "container2"}},
	}
	if i < len(c.Ready) && !c.Ready[i] {
		pod.Ready = algorithm.False
	}
	if i < len(c.Started) {
		pod.Started = c.Started[i].time()
	}
	if i < len(c.Phase) {
		pod.Phase = c.Phase[i]
	}
	pod.Deleting = i < len(c.Deleting) && c.Deleting[i]
	return pod
}

// requestCPU gives each container of the pod the same request.
func requestCPU(pod *algorithm.Pod, each algorithm.Milli) {
	for i := range pod.Containers {
		pod.Containers[i].Requests = map[string]algorithm.Milli{algorithm.CPU: each}
	}
}

// resourceReading is what the resource metrics API answers if container1, container2 and
// so on of each pod use this. A pod has a reading if all of its containers have one; a
// container that is named, if that one has.
func resourceReading(container string, uses [][]algorithm.Milli, name func(i int) string, at time.Duration) algorithm.Reading {
	if len(uses) == 0 {
		return algorithm.Reading{Err: errNothing}
	}
	const containers = 2
	pods := map[string]algorithm.PodReading{}
	for i, of := range uses {
		var value algorithm.Milli
		found := container == "" && len(of) == containers
		for j, used := range of {
			if container == "" || container == fmt.Sprintf("container%d", j+1) {
				value += used
			}
			found = found || container == fmt.Sprintf("container%d", j+1)
		}
		if found {
			pods[name(i)] = algorithm.PodReading{Value: value, At: at, Window: time.Minute}
		}
	}
	return algorithm.Reading{Pods: pods}
}

var errNothing = fmt.Errorf("the API answers an empty list: %w", algorithm.ErrNoData)
