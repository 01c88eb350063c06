package algorithm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestUpstreamTraces replays what Kubernetes' own HPA controller did in the stories of
// testdata/upstream. They are recorded by test/conformance and never written by hand: a
// difference is an error of ours.
//
// A line that begins with a word sets something until it is set anew; restart is for the
// next reconcile alone. The scale is what was written last unless it is set. A line that
// begins with blanks holds the time of a reconcile, or the first and the last of some
// that are a sync apart, and what the controller left: the replicas, whether they were
// written, and its conditions.
func TestUpstreamTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/upstream/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var u upstreamTrace
			for i, line := range strings.Split(string(content), "\n") {
				if err := u.line(line); err != nil {
					t.Fatalf("%s:%d: %q: %v", file, i+1, line, err)
				}
			}
			if u.reconciles == 0 {
				t.Error("no reconcile in it")
			}
		})
	}
}

const upstreamSync = 15 * time.Second

// upstreamTrace is a recording as far as it was replayed.
type upstreamTrace struct {
	controller Controller
	in         Input
	state      State
	lost       bool // the next statuses are
	reads      []string
	reconciles int
}

func (u *upstreamTrace) line(line string) error {
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case strings.HasPrefix(line, " "):
		return u.reconcile(strings.Fields(line))
	}
	key, value, _ := strings.Cut(line, " ")
	return u.set(key, strings.Fields(value))
}

// reconcile takes "0s 6 written able=True/SucceededRescale ..." or "0s .. 45s ...".
func (u *upstreamTrace) reconcile(words []string) error {
	first, err := time.ParseDuration(words[0])
	if err != nil {
		return err
	}
	last, want := first, words[1:]
	if want[0] == ".." {
		if last, err = time.ParseDuration(want[1]); err != nil {
			return err
		}
		want = want[2:]
	}
	for now := first; now <= last; now += upstreamSync {
		got, err := u.once(now)
		if err != nil {
			return err
		}
		if wanted := strings.Join(want, " "); got != wanted {
			return fmt.Errorf("at %v\n got %s\nwant %s", now, got, wanted)
		}
	}
	return nil
}

func (u *upstreamTrace) once(now time.Duration) (string, error) {
	u.reconciles++
	u.in.Workload.Now = now
	if err := u.read(); err != nil {
		return "", err
	}
	kept := u.state.Conditions
	out := u.controller.Reconcile(u.in, &u.state)
	text := upstreamOutcome(out, u.state.Conditions)
	if u.lost {
		u.state.Conditions = kept
	}
	u.in.Workload.Scale = Scale{Spec: out.Replicas, Status: out.Replicas}
	return text, nil
}

func upstreamOutcome(out Outcome, c Conditions) string {
	words := []string{strconv.Itoa(int(out.Replicas))}
	if out.Rescaled {
		words = append(words, "written")
	}
	add := func(name string, c Condition) {
		if c != (Condition{}) {
			words = append(words, fmt.Sprintf("%s=%s/%s", name, c.Status, c.Reason))
		}
	}
	add("able", c.AbleToScale)
	add("active", c.ScalingActive)
	add("limited", c.ScalingLimited)
	add("zero", c.ScaledToZero)
	return strings.Join(words, " ")
}

func (u *upstreamTrace) set(key string, words []string) (err error) {
	p := upstreamParser{words: words}
	switch key {
	case "controller":
		u.controller = p.controller()
	case "restart":
		u.state.Memory = Memory{}
	case "bounds":
		u.in.Spec.Bounds.Min, u.in.Spec.Bounds.Max = p.counts(words[0], "..")
	case "metrics":
		u.in.Spec.Metrics = nil
	case "metric":
		u.in.Spec.Metrics = append(u.in.Spec.Metrics, p.metric())
	case "behavior":
		u.in.Spec.Behavior = nil
	case "up":
		u.in.Spec.Behavior = &Behavior{ScaleUp: p.rules()}
	case "down": // always after up
		u.in.Spec.Behavior.ScaleDown = p.rules()
	case "scale":
		u.in.Workload.Scale.Spec, u.in.Workload.Scale.Status = p.counts(words[0], "/")
	case "pods":
		u.in.Workload.Pods = nil
	case "pod":
		u.in.Workload.Pods = append(u.in.Workload.Pods, p.pod())
	case "scale-unreadable":
		u.in.NoScale = p.flag(words[0])
	case "write-refused":
		u.in.Refused = p.flag(words[0])
	case "status-lost":
		u.lost = p.flag(words[0])
	case "selector":
		u.in.Selector = Reason(p.value(words[0]))
	case "read":
		u.reads = strings.Split(strings.Join(words, " "), ", ")
	default:
		return errors.New("unknown setting")
	}
	return p.err
}

// read makes readings of the last read line. Those of pods are so old at any time.
func (u *upstreamTrace) read() error {
	p := upstreamParser{}
	u.in.Readings = nil
	for _, text := range u.reads {
		u.in.Readings = append(u.in.Readings, p.reading(text, u.in.Workload.Now))
	}
	return p.err
}

// upstreamParser keeps the first error.
type upstreamParser struct {
	words []string
	err   error
}

func (p *upstreamParser) number(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	p.err = cmp.Or(p.err, err)
	return f
}

func (p *upstreamParser) milli(text string) Milli { return Milli(math.Round(p.number(text) * 1000)) }

func (p *upstreamParser) count(text string) int32 { return int32(p.number(text)) }

func (p *upstreamParser) time(text string) time.Duration {
	d, err := time.ParseDuration(text)
	p.err = cmp.Or(p.err, err)
	return d
}

func (p *upstreamParser) flag(text string) bool {
	b, err := strconv.ParseBool(text)
	p.err = cmp.Or(p.err, err)
	return b
}

// cut is what is before and after the separator, which is there.
func (p *upstreamParser) cut(text, separator string) (before, after string) {
	before, after, found := strings.Cut(text, separator)
	if !found {
		p.err = cmp.Or(p.err, fmt.Errorf("%q has no %q", text, separator))
	}
	return before, after
}

func (p *upstreamParser) counts(text, separator string) (int32, int32) {
	a, b := p.cut(text, separator)
	return p.count(a), p.count(b)
}

func (p *upstreamParser) value(text string) string {
	_, value := p.cut(text, "=")
	return value
}

// each calls take with every key=value among the words from the index on.
func (p *upstreamParser) each(from int, take func(key, value string)) {
	for _, word := range p.words[from:] {
		take(p.cut(word, "="))
	}
}

func (p *upstreamParser) unknown(key string) {
	p.err = cmp.Or(p.err, fmt.Errorf("unknown key %q", key))
}

func (p *upstreamParser) controller() Controller {
	var c Controller
	p.each(0, func(key, value string) {
		switch key {
		case "tolerance":
			c.Tolerance = p.number(value)
		case "window":
			c.DownscaleStabilization = p.time(value)
		case "initialization":
			c.Warmup.CPUInitialization = p.time(value)
		case "readiness":
			c.Warmup.InitialReadiness = p.time(value)
		case "scale-to-zero":
			c.ScaleToZero = p.flag(value)
		default:
			p.unknown(key)
		}
	})
	return c
}

func (p *upstreamParser) metric() Metric {
	m := Metric{Source: MetricSource(p.words[0])}
	p.each(1, func(key, value string) {
		switch key {
		case "resource":
			m.Resource = value
		case "container":
			m.Container = value
		case "type":
			m.Target.Type = TargetType(value)
		case "value":
			m.Target.Value = p.milli(value)
		case "average":
			m.Target.AverageValue = p.milli(value)
		case "utilization":
			m.Target.Utilization = p.count(value)
		default:
			p.unknown(key)
		}
	})
	return m
}

func (p *upstreamParser) rules() Rules {
	var r Rules
	p.each(0, func(key, value string) {
		switch key {
		case "window":
			r.Window = p.time(value)
		case "select":
			r.Select = SelectPolicy(value)
		case "tolerance":
			r.Tolerance = p.number(value)
		default: // a policy
			amount, period := p.cut(value, "/")
			r.Policies = append(r.Policies, RatePolicy{PolicyType(key), p.count(amount), p.time(period)})
		}
	})
	return r
}

// pod reads "web-0 Running started=-60s ready=True@-30s container=app,cpu:0.5".
func (p *upstreamParser) pod() Pod {
	pod := Pod{Name: p.words[0], Phase: PodPhase(p.words[1])}
	from := 2
	if len(p.words) > 2 && p.words[2] == "deleting" {
		pod.Deleting, from = true, 3
	}
	p.each(from, func(key, value string) {
		switch key {
		case "started":
			pod.HasStarted, pod.Started = true, p.time(value)
		case "ready":
			status, since := p.cut(value, "@")
			pod.Ready, pod.ReadySince = Status(status), p.time(since)
		case "container":
			name, requests, _ := strings.Cut(value, ",")
			pod.Containers = append(pod.Containers, Container{name, p.requests(requests)})
		case "pod":
			pod.Requests = p.requests(strings.TrimPrefix(value, ","))
		default:
			p.unknown(key)
		}
	})
	return pod
}

func (p *upstreamParser) requests(text string) map[string]Milli {
	requests := map[string]Milli{}
	for _, request := range strings.Split(text, ",") {
		if request != "" {
			resource, value := p.cut(request, ":")
			requests[resource] = p.milli(value)
		}
	}
	return requests
}

// reading is "37", "fails", "nothing", or for pods "web-0=300@10s/30s": a value, its age
// and its window.
func (p *upstreamParser) reading(text string, now time.Duration) Reading {
	var r Reading
	switch text {
	case "fails":
		r.Err = errors.New(text)
		return r
	case "nothing":
		return r
	}
	for _, part := range strings.Fields(text) {
		name, value, ofPod := strings.Cut(part, "=")
		if !ofPod {
			r.Series = append(r.Series, p.milli(part))
			continue
		}
		if r.Pods == nil {
			r.Pods = map[string]PodReading{}
		}
		amount, times := p.cut(value, "@")
		age, window := p.cut(times, "/")
		r.Pods[name] = PodReading{Value: p.milli(amount), At: now - p.time(age), Window: p.time(window)}
	}
	return r
}
