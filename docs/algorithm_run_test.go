package docs_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// syncPeriod is kube-controller-manager's --horizontal-pod-autoscaler-sync-period.
const syncPeriod = 15 * time.Second

// run is a workload under an HPA controller, from 0 s on. All its pods are ready at
// once.
type run struct {
	controller algorithm.Controller
	spec       algorithm.Spec
	replicas   int32
	// reads are what the metrics read, each from its moment on; until is the last sync.
	reads []reads
	until time.Duration
	// hands are what else happens, each just before the sync of its moment.
	hands map[time.Duration]func(*run)

	state algorithm.State
	syncs []synced
}

// reads are the values of all metrics; NaN is one that fails. A Resource's is in
// percent of the requests.
type reads struct {
	from   time.Duration
	values []float64
}

// synced is one sync of a run.
type synced struct {
	at      time.Duration
	values  []float64
	from    int32
	asked   int32 // what the metrics want; -1 if they did not decide
	outcome algorithm.Outcome
	why     string
}

// play runs all syncs.
func (r *run) play() *run {
	for at := time.Duration(0); at <= r.until; at += syncPeriod {
		if hand := r.hands[at]; hand != nil {
			hand(r)
		}
		r.sync(at)
	}
	return r
}

func (r *run) sync(at time.Duration) {
	s := synced{at: at, from: r.replicas, asked: -1}
	for _, read := range r.reads {
		if read.from <= at {
			s.values = read.values
		}
	}
	in := algorithm.Input{Spec: r.spec, Workload: workload(r.replicas, r.replicas, 0)}
	in.Workload.Now = at
	for i, m := range r.spec.Metrics {
		in.Readings = append(in.Readings, reading(m, s.values[i], r.replicas))
	}
	s.outcome = r.controller.Reconcile(in, &r.state)
	s.why = why(s, r.state.Conditions)
	if s.outcome.Decider >= 0 {
		s.asked = s.outcome.Recommended
	}
	r.replicas = s.outcome.Replicas
	r.syncs = append(r.syncs, s)
}

// workload has pods that are ready and request that much of every resource.
func workload(spec, status int32, request float64) algorithm.Workload {
	if request == 0 {
		request = 100
	}
	w := algorithm.Workload{Scale: algorithm.Scale{Spec: spec, Status: status}}
	requests := map[string]algorithm.Milli{algorithm.CPU: milli(request), "memory": milli(request)}
	for i := range spec {
		w.Pods = append(w.Pods, algorithm.Pod{
			Name: podName(i), Phase: algorithm.Running, HasStarted: true, Started: -time.Hour,
			Ready: algorithm.True, ReadySince: -time.Hour,
			Containers: []algorithm.Container{{Name: "worker", Requests: requests}},
		})
	}
	return w
}

func podName(i int32) string { return "worker-" + strconv.Itoa(int(i)) }

// reading is a total for an External metric, and the same of every pod for a Resource.
func reading(m algorithm.Metric, value float64, pods int32) algorithm.Reading {
	switch {
	case math.IsNaN(value):
		return algorithm.Reading{Err: errors.New("no answer")}
	case m.Source == algorithm.ExternalSource:
		return algorithm.Reading{Series: []algorithm.Milli{milli(value)}}
	}
	r := algorithm.Reading{Pods: map[string]algorithm.PodReading{}}
	for i := range pods {
		r.Pods[podName(i)] = algorithm.PodReading{Value: milli(value)}
	}
	return r
}

func milli(value float64) algorithm.Milli { return algorithm.Milli(math.Round(value * 1000)) }

// why names what decided, in the words of the HPA's conditions.
func why(s synced, c algorithm.Conditions) string {
	o := s.outcome
	if o.Decider < 0 {
		switch {
		case o.Err != nil:
			return string(c.ScalingActive.Reason)
		case o.Rescaled && o.Replicas < s.from:
			return "above maxReplicas"
		case o.Rescaled:
			return "below minReplicas"
		}
		return string(c.ScalingActive.Reason)
	}
	var words []string
	if o.Calculations[o.Decider].WithinTolerance {
		words = append(words, "inside the tolerance")
	}
	if o.Stabilized.Reason != algorithm.ReadyForNewScale {
		words = append(words, fmt.Sprintf("%s, until %s", o.Stabilized.Reason, seconds(o.Stabilized.Until)))
	}
	if o.Limited.Reason != algorithm.DesiredWithinRange {
		words = append(words, string(o.Limited.Reason))
		if o.Limited.Until > 0 {
			words[len(words)-1] += ", until " + seconds(o.Limited.Until)
		}
	}
	return strings.Join(words, "; ")
}

// seconds leaves out the nanosecond after which a sample no longer counts.
func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// table is every sync of a run; syncs that did the same share a row.
func (r *run) table() string {
	var out strings.Builder
	out.WriteString("| time | " + strings.Join(r.metricNames(), " | ") + " | asked for | pods | why |\n")
	out.WriteString("|---|" + strings.Repeat("---|", len(r.spec.Metrics)) + "---|---|---|\n")
	for i := 0; i < len(r.syncs); {
		first, row := i, r.syncs[i].row()
		for i < len(r.syncs) && r.syncs[i].row() == row {
			i++
		}
		when := seconds(r.syncs[first].at)
		if i-first > 1 {
			when = fmt.Sprintf("%.0f – %s", r.syncs[first].at.Seconds(), seconds(r.syncs[i-1].at))
		}
		fmt.Fprintf(&out, "| %s %s\n", when, row)
	}
	return out.String()
}

func (r *run) metricNames() []string {
	var names []string
	for _, m := range r.spec.Metrics {
		switch {
		case m.Resource != "":
			names = append(names, m.Resource)
		default:
			names = append(names, "jobs")
		}
	}
	return names
}

func (s synced) row() string {
	var row strings.Builder
	for _, v := range s.values {
		text := "fails"
		if !math.IsNaN(v) {
			text = number(v)
		}
		fmt.Fprintf(&row, "| %s ", text)
	}
	asked := ""
	if s.asked >= 0 {
		asked = strconv.Itoa(int(s.asked))
	}
	fmt.Fprintf(&row, "| %s | %d | %s |", asked, s.outcome.Replicas, s.why)
	return row.String()
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// at is the count after the sync of a moment.
func (r *run) at(second int) int32 { return r.syncs[second/int(syncPeriod.Seconds())].outcome.Replicas }

// reaches is the first second at which so many pods run, or -1.
func (r *run) reaches(replicas int32) int {
	for _, s := range r.syncs {
		if s.outcome.Replicas == replicas {
			return int(s.at.Seconds())
		}
	}
	return -1
}

// last is the count at the end.
func (r *run) last() int32 { return r.syncs[len(r.syncs)-1].outcome.Replicas }
