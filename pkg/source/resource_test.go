package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// staff are pods for a test: their names, and what each uses of the 100m of CPU and 100Mi
// of memory that it requests. A pod without usage has no metrics.
type staff struct {
	names []string
	used  map[string]algorithm.Milli
	err   error
	// asked is what Measure was asked for.
	mu    sync.Mutex
	asked []string
}

var _ Pods = (*staff)(nil)

// at makes n pods that run, are long ready, and use this much of everything.
func at(n int, percent algorithm.Milli) *staff {
	s := &staff{used: map[string]algorithm.Milli{}}
	for i := range n {
		name := fmt.Sprintf("pod-%d", i)
		s.names, s.used[name] = append(s.names, name), percent
	}
	return s
}

// less takes some pods' metrics away.
func (s *staff) less(names ...string) *staff {
	for _, name := range names {
		delete(s.used, name)
	}
	return s
}

const mebi = 1 << 20

func (s *staff) Measure(ctx context.Context, of scaling.Scope, selector string, metrics []algorithm.Metric) (algorithm.Workload, []algorithm.Reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s %q of %d metrics", of.Namespace, of.Target, selector, len(metrics)))
	if s.err != nil {
		if errors.Is(s.err, context.DeadlineExceeded) {
			<-ctx.Done()
		}
		return algorithm.Workload{}, nil, s.err
	}
	w := algorithm.Workload{Now: time.Hour}
	for _, name := range s.names {
		requests := map[string]algorithm.Milli{"cpu": 100, "memory": 100 * mebi * 1000}
		w.Pods = append(w.Pods, algorithm.Pod{
			Name: name, Phase: algorithm.Running, HasStarted: true, Ready: algorithm.True,
			Containers: []algorithm.Container{{Name: "app", Requests: requests}},
		})
	}
	readings := make([]algorithm.Reading, len(metrics))
	for i, m := range metrics {
		readings[i].Pods = map[string]algorithm.PodReading{}
		for name, percent := range s.used {
			unit := algorithm.Milli(1)
			if m.Resource == "memory" {
				unit = mebi * 1000
			}
			readings[i].Pods[name] = algorithm.PodReading{Value: percent * unit, At: w.Now, Window: time.Minute}
		}
	}
	return w, readings, nil
}

// worker is the scale target of these tests.
func worker(replicas int32) scaling.Scope {
	return scaling.Scope{
		Namespace: "shop", Target: "apps/Deployment/worker", Spec: replicas, Status: replicas,
		Tolerance: algorithm.Tolerance{Down: 0.1, Up: 0.1},
	}
}

func TestResource(t *testing.T) {
	tests := []struct {
		name     string
		trigger  string
		metadata values
		replicas int32
		pods     *staff
		want     string
	}{
		// The formula's own cases are pkg/algorithm's and test/conformance's.
		{"up", "cpu", values{"value": "60"}, 4, at(4, 90), "6 (4 pods use 90 % of their requests, target 60 %)"},
		{"down", "cpu", values{"value": "60"}, 4, at(4, 20), "2 (4 pods use 20 % of their requests, target 60 %)"},
		{"within the tolerance", "cpu", values{"value": "60"}, 4, at(4, 62), "4 (4 pods use 62 % of their requests, target 60 %)"},
		{"a pod without metrics", "cpu", values{"value": "60"}, 4, at(4, 90).less("pod-0"), "5 (4 pods use 90 % of their requests, target 60 %)"},
		{"an average", "cpu", values{"value": "45m", "metricType": "AverageValue"}, 4, at(4, 90), "8 (4 pods use 90m each on average, target 45m)"},
		{"memory", "memory", values{"value": "60"}, 4, at(4, 90), "6 (4 pods use 90 % of their requests, target 60 %)"},
		{"memory on average", "memory", values{"value": "60Mi", "metricType": "AverageValue"}, 4, at(4, 90), "6 (4 pods use 90Mi each on average, target 60Mi)"},
		{"a container", "cpu", values{"value": "60", "containerName": "app"}, 4, at(4, 90), "6 (4 pods use 90 % of their requests, target 60 %)"},

		// Three Deployments as one: each is a third, and holds what it has itself.
		{"a third", "cpu", values{"value": "60", "podSelector": "app=shop", "podsPerReplica": "3"}, 4, at(12, 75), "5 (12 pods use 75 % of their requests, target 60 %)"},
		{"a third, holding", "cpu", values{"value": "60", "podSelector": "app=shop", "podsPerReplica": "3"}, 5, at(12, 62), "5 (12 pods use 62 % of their requests, target 60 %)"},
		{"pods that are slow to come", "cpu", values{"value": "60", "podSelector": "app=shop", "podsPerReplica": "3"}, 4, at(6, 90), "3 (6 pods use 90 % of their requests, target 60 %)"},

		{"at zero", "cpu", values{"value": "60"}, 0, at(4, 90), "0 (the scale target is at zero: there is nothing to measure, and another trigger has to wake it)"},
		{"no pods", "cpu", values{"value": "60"}, 4, at(0, 0), "cpu of the scale target's pods: no data: there are no such pods, but apps/Deployment/worker is to have 4 replicas: check that they can start and carry the labels of the selector"},
		{"no metrics", "cpu", values{"value": "60"}, 2, at(2, 0).less("pod-0", "pod-1"), "cpu of the scale target's pods: no data: the metric has no data that counts, pods: 2, pending or starting: 0, without a reading: 2, failed or being deleted: 0"},
		{"no such container", "cpu", values{"value": "60", "containerName": "db"}, 1, at(1, 50), `cpu of container db in the scale target's pods: pod "pod-0" has no container "db": name one that every pod of the scale target has`},
		{"not measured", "cpu", values{"value": "60", "podSelector": "app in (b,a)"}, 1, &staff{err: errors.New("refused")}, "cpu of pods app in (a,b): refused"},
		{"not measured, by a connection", "cpu", values{"value": "60"}, 1, &staff{err: errors.New("list: read tcp 10.0.0.1:54321->10.96.0.1:443: read: reset")}, "cpu of the scale target's pods: list: read tcp: read: reset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := New(Options{Pods: tt.pods})
			t.Cleanup(table.Close)
			q := scaling.In(query(t, table, tt.trigger, tt.metadata), worker(tt.replicas))
			outcome := table.Read(t.Context(), []scaling.Query{q})[0]
			got := fmt.Sprintf("%v (%s)", outcome.Value, outcome.Note)
			if outcome.Err != nil {
				got = outcome.Err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if noData := strings.Contains(tt.want, "no data"); noData != errors.Is(outcome.Err, scaling.ErrNoData) {
				t.Errorf("ErrNoData is %v for %v", !noData, outcome.Err)
			}
		})
	}
}

// Several triggers on the same pods are one measurement, those on others another.
func TestResourcesOfOneWorkloadAreMeasuredTogether(t *testing.T) {
	pods := at(4, 90)
	table := New(Options{Pods: pods})
	t.Cleanup(table.Close)
	var queries []scaling.Query
	for _, q := range []scaling.Query{
		query(t, table, "cpu", values{"value": "60"}),
		query(t, table, "memory", values{"value": "30"}),
		query(t, table, "cpu", values{"value": "90", "podSelector": "app=shop"}),
	} {
		queries = append(queries, scaling.In(q, worker(4)))
	}
	outcomes := scaling.ReadAll(t.Context(), table, queries)
	if outcomes[0].Value != 6 || outcomes[1].Value != 12 || outcomes[2].Value != 4 {
		t.Errorf("got %v, want 6, 12 and 4 replicas", outcomes)
	}
	asked := strings.Join(pods.asked, "; ")
	for _, want := range []string{`shop apps/Deployment/worker "" of 2 metrics`, `shop apps/Deployment/worker "app=shop" of 1 metrics`} {
		if !strings.Contains(asked, want) || len(pods.asked) != 2 {
			t.Errorf("asked for %s; want %s", asked, want)
		}
	}
}

// A query that nobody has bound to a workload, or that has none, is no zero.
func TestResourceWithoutWorkload(t *testing.T) {
	table := New(Options{Pods: at(4, 90)})
	t.Cleanup(table.Close)
	q := query(t, table, "cpu", values{"value": "60"})
	for name, q := range map[string]scaling.Query{"not bound": q, "of a ScaledJob": scaling.In(q, scaling.Scope{Namespace: "shop"})} {
		outcome := table.Read(t.Context(), []scaling.Query{q})[0]
		if outcome.Err == nil || !strings.Contains(outcome.Err.Error(), "there is no scale target") {
			t.Errorf("%s: got %+v", name, outcome)
		}
	}
}

// What hangs ends with the table's timeout.
func TestMeasuringIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Options{Pods: &staff{err: context.DeadlineExceeded}, Timeout: 2 * time.Second})
		defer table.Close()
		started := time.Now()
		outcome := table.Read(t.Context(), []scaling.Query{scaling.In(query(t, table, "cpu", values{"value": "60"}), worker(4))})[0]
		if took := time.Since(started); took != 2*time.Second || !errors.Is(outcome.Err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, outcome.Err)
		}
	})
}

func TestResourceKeys(t *testing.T) {
	const value = "must be a percentage of the requests such as 80 or, with metricType AverageValue, a quantity such as 100m or 512Mi"
	const percentage = ` (a Utilization is a whole number of percent of at least 1; a quantity needs metricType AverageValue)`
	const quantity = ` (an AverageValue is a quantity from 1m to 9e+12)`
	tests := []struct {
		name     string
		metadata values
		want     string // of the query, or the problem
	}{
		{"a percentage", values{"value": "80"}, "cpu of the scale target's pods"},
		{"said so", values{"value": "80", "metricType": "Utilization"}, "cpu of the scale target's pods"},
		{"above all", values{"value": "150"}, "cpu of the scale target's pods"},
		{"a quantity", values{"value": "1.5", "metricType": "AverageValue"}, "cpu of the scale target's pods"},
		{"a container", values{"value": "80", "containerName": "app"}, "cpu of container app in the scale target's pods"},
		{"a selector", values{"value": "80", "podSelector": "tier in (web, api),app=shop"}, "cpu of pods app=shop,tier in (api,web)"},
		{"both", values{"value": "80", "containerName": "app", "podSelector": "app=shop"}, "cpu of container app in pods app=shop"},

		{"nothing", values{}, "value is missing: " + value},
		{"zero", values{"value": "0"}, `value "0": ` + value + percentage},
		{"negative", values{"value": "-1"}, `value "-1": ` + value + percentage},
		{"a fraction", values{"value": "0.8"}, `value "0.8": ` + value + percentage},
		{"percent", values{"value": "80%"}, `value "80%": ` + value + percentage},
		{"a quantity for a percentage", values{"value": "100m"}, `value "100m": ` + value + percentage},
		{"no quantity", values{"value": "much", "metricType": "AverageValue"}, `value "much": ` + value + quantity},
		{"a quantity over which minutes go", values{"value": "1e-99999999", "metricType": "AverageValue"}, `value "1e-99999999": ` + value + quantity},
		{"a quantity of nothing", values{"value": "0", "metricType": "AverageValue"}, `value "0": ` + value + quantity},
		{"less than nothing", values{"value": "-5m", "metricType": "AverageValue"}, `value "-5m": ` + value + quantity},
		{"more than can be", values{"value": "10E", "metricType": "AverageValue"}, `value "10E": ` + value + quantity},
		{"KEDA's Value", values{"value": "80", "metricType": "Value"}, `metricType "Value": must be one of Utilization, AverageValue`},
		{"no selector", values{"value": "80", "podSelector": "=x"}, `podSelector "=x": must be a label selector such as app=shop,tier in (web,api) (found '=', expected: !, identifier, or 'end of string')`},
		{"a third of itself", values{"value": "80", "podsPerReplica": "3"}, "podsPerReplica: only together with podSelector; a pod of the scale target is one of its replicas"},
		{"no pods per replica", values{"value": "80", "podSelector": "a=b", "podsPerReplica": "0"}, `podsPerReplica "0": must be a whole number from 1 to 1000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := New(Options{Pods: at(1, 1)})
			t.Cleanup(table.Close)
			trigger, metric, m := parse(table, "cpu", tt.metadata)
			got := trigger.Query.String()
			if m.Err() != nil {
				got = m.Err().Error()
			}
			if got != tt.want || metric != "cpu" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if _, _, m := parse(newTable(t), "memory", values{"value": "80"}); m.Err() == nil ||
		m.Err().Error() != "memory: this process sees no cluster, and so no pods: run it with one, or use another trigger" {
		t.Errorf("without a cluster: %v", m.Err())
	}
}

// As in KEDA, what pods use is never work: no count wakes a workload or keeps it awake.
func TestPodsAreNoWork(t *testing.T) {
	table := New(Options{Pods: at(1, 1)})
	t.Cleanup(table.Close)
	trigger, _, _ := parse(table, "cpu", values{"value": "80"})
	if activation.IsActive(math.MaxInt32, trigger.Activation) || !trigger.Counts || trigger.Target.Float() != 1 {
		t.Errorf("got %+v", trigger)
	}
}

func FuzzResource(f *testing.F) {
	f.Add("80", "Utilization", "app", "app=shop", "3")
	f.Add("1e3Mi", "AverageValue", "", "!canary,tier notin (a,,)", "")
	f.Add("-0", "", "", "", "1e9")
	table := New(Options{Pods: at(1, 50)})
	f.Cleanup(table.Close)
	f.Fuzz(func(t *testing.T, value, metricType, container, selector, perReplica string) {
		metadata := values{
			"value": value, "metricType": metricType, "containerName": container,
			"podSelector": selector, "podsPerReplica": perReplica,
		}
		trigger, _, m := parse(table, "cpu", metadata)
		outcome := table.Read(t.Context(), []scaling.Query{scaling.In(trigger.Query, worker(2))})[0]
		if m.Err() == nil && container == "" && outcome.Err != nil {
			t.Errorf("a good trigger cannot be read: %v", outcome.Err)
		}
		if outcome.Value < 0 || outcome.Value > math.MaxInt32 {
			t.Errorf("%v is no number of replicas", outcome.Value)
		}
	})
}
