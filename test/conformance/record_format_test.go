package conformance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// notebook writes down a trace so that a person can read it, and so that the test of
// pkg/algorithm can: what is set holds until it is set anew. The scale is what was
// written last unless it is set.
type notebook struct {
	config algorithm.Controller
	out    strings.Builder
	before *traceStep
	last   oracle.Done
	// first and end are the reconciles of the line that is not written yet.
	first, end time.Duration
	pending    string
}

func (n *notebook) note(s traceStep, done oracle.Done) {
	settings := n.settings(s)
	now, text := s.in.Workload.Now, outcome(done)
	if settings != "" || text != n.pending || now != n.end+oracle.SyncPeriod {
		n.flush()
		n.out.WriteString(settings)
		n.first, n.pending = now, text
	}
	n.end, n.before, n.last = now, &s, done
}

func (n *notebook) flush() {
	if n.pending == "" {
		return
	}
	when := seconds(n.first)
	if n.end != n.first {
		when += " .. " + seconds(n.end)
	}
	fmt.Fprintf(&n.out, "  %-16s %s\n", when, n.pending)
	n.pending = ""
}

func (n *notebook) text() string {
	n.flush()
	return n.out.String()
}

func outcome(d oracle.Done) string {
	text := fmt.Sprintf("%3d", d.Replicas)
	if d.Rescaled {
		text += " written"
	}
	text = fmt.Sprintf("%-12s", text)
	c := d.Conditions
	for _, named := range []struct {
		name      string
		condition algorithm.Condition
	}{{"able", c.AbleToScale}, {"active", c.ScalingActive}, {"limited", c.ScalingLimited}, {"zero", c.ScaledToZero}} {
		if named.condition != (algorithm.Condition{}) {
			text += fmt.Sprintf(" %-34s", fmt.Sprintf("%s=%s/%s", named.name, named.condition.Status, named.condition.Reason))
		}
	}
	return strings.TrimRight(text, " ")
}

// settings are the lines for what is different from the step before.
func (n *notebook) settings(s traceStep) string {
	var out strings.Builder
	line := func(words ...string) { fmt.Fprintln(&out, strings.Join(words, " ")) }
	before := n.before
	if before == nil {
		before = &traceStep{}
		c := n.config
		line("controller", "tolerance="+number(c.Tolerance), "window="+seconds(c.DownscaleStabilization),
			"initialization="+seconds(c.Warmup.CPUInitialization), "readiness="+seconds(c.Warmup.InitialReadiness),
			fmt.Sprintf("scale-to-zero=%v", c.ScaleToZero))
	}
	if s.restart {
		line("restart")
	}
	was, is := before.in, s.in
	n.specSettings(line, was.Spec, is.Spec)
	if scale := is.Workload.Scale; n.before == nil || scale != (algorithm.Scale{Spec: n.last.Replicas, Status: n.last.Replicas}) {
		line("scale", fmt.Sprintf("%d/%d", scale.Spec, scale.Status))
	}
	if !reflect.DeepEqual(was.Workload.Pods, is.Workload.Pods) {
		line("pods", strconv.Itoa(len(is.Workload.Pods)))
		for _, p := range is.Workload.Pods {
			line("pod", podText(p))
		}
	}
	for _, flag := range []struct {
		name    string
		was, is bool
	}{
		{"scale-unreadable", was.NoScale, is.NoScale},
		{"write-refused", was.Refused, is.Refused},
		{"status-lost", before.lost, s.lost},
	} {
		if flag.was != flag.is {
			line(flag.name, strconv.FormatBool(flag.is))
		}
	}
	if was.Selector != is.Selector {
		line("selector", "reason="+string(is.Selector))
	}
	if read := readingsText(is); n.before == nil || read != readingsText(was) {
		line("read", read)
	}
	return out.String()
}

func (n *notebook) specSettings(line func(...string), was, is algorithm.Spec) {
	if was.Bounds != is.Bounds {
		line("bounds", fmt.Sprintf("%d..%d", is.Bounds.Min, is.Bounds.Max))
	}
	if !slices.Equal(was.Metrics, is.Metrics) {
		line("metrics", strconv.Itoa(len(is.Metrics)))
		for _, m := range is.Metrics {
			line("metric", metricText(m))
		}
	}
	switch {
	case is.Behavior == nil && (was.Behavior != nil || n.before == nil):
		line("behavior", "none")
	case is.Behavior != nil && !reflect.DeepEqual(was.Behavior, is.Behavior):
		line("up  ", rulesText(is.Behavior.ScaleUp))
		line("down", rulesText(is.Behavior.ScaleDown))
	}
}

func metricText(m algorithm.Metric) string {
	words := []string{string(m.Source)}
	add := func(key, value string) {
		if value != "" && value != "0" {
			words = append(words, key+"="+value)
		}
	}
	add("resource", m.Resource)
	add("container", m.Container)
	add("type", string(m.Target.Type))
	add("value", milli(m.Target.Value))
	add("average", milli(m.Target.AverageValue))
	add("utilization", strconv.Itoa(int(m.Target.Utilization)))
	return strings.Join(words, " ")
}

func rulesText(r algorithm.Rules) string {
	words := []string{"window=" + seconds(r.Window), "select=" + string(r.Select), "tolerance=" + number(r.Tolerance)}
	for _, p := range r.Policies {
		words = append(words, fmt.Sprintf("%s=%d/%s", p.Type, p.Value, seconds(p.Period)))
	}
	return strings.Join(words, " ")
}

func podText(p algorithm.Pod) string {
	words := []string{p.Name, string(p.Phase)}
	if p.Deleting {
		words = append(words, "deleting")
	}
	if p.HasStarted {
		words = append(words, "started="+seconds(p.Started))
	}
	if p.Ready != "" {
		words = append(words, fmt.Sprintf("ready=%s@%s", p.Ready, seconds(p.ReadySince)))
	}
	for _, c := range p.Containers {
		words = append(words, "container="+c.Name+requestsText(c.Requests))
	}
	if p.Requests != nil {
		words = append(words, "pod="+requestsText(p.Requests))
	}
	return strings.Join(words, " ")
}

func requestsText(requests map[string]algorithm.Milli) string {
	text := ""
	for _, resource := range sortedKeys(requests) {
		text += "," + resource + ":" + milli(requests[resource])
	}
	return text
}

// readingsText dates a pod's reading by its age, so that a steady one stays the same.
func readingsText(in algorithm.Input) string {
	texts := make([]string, len(in.Readings))
	for i, r := range in.Readings {
		var parts []string
		for _, v := range r.Series {
			parts = append(parts, milli(v))
		}
		for _, name := range sortedKeys(r.Pods) {
			p := r.Pods[name]
			parts = append(parts, fmt.Sprintf("%s=%s@%s/%s", name, milli(p.Value), seconds(in.Workload.Now-p.At), seconds(p.Window)))
		}
		switch {
		case r.Err != nil:
			texts[i] = "fails"
		case len(parts) == 0:
			texts[i] = "nothing"
		default:
			texts[i] = strings.Join(parts, " ")
		}
	}
	return strings.Join(texts, ", ")
}

// seconds is a time in seconds, unlike time.Duration's own text, which has minutes.
func seconds(d time.Duration) string { return number(d.Seconds()) + "s" }

func milli(m algorithm.Milli) string { return number(m.Float()) }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
