package algorithm

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A trace is a file of testdata that reads like a lab notebook. Settings come
// first: bounds, replicas, targets of External metrics, and rules of either direction
// ("behavior legacy" for none). A line that starts with > is an input: a time, or a range
// of times a sync apart, and what each metric reads; or "restart", a new controller; or
// "scale 3", somebody's hand. The lines below it are what the reconciles did and are
// written by -update; syncs that did the same share a line.
//
// Commit a changed trace only if you can say why every changed line is right.

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			replayed, _ := replay(t, string(content))
			if *update {
				if err := os.WriteFile(file, []byte(replayed), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if replayed != string(content) {
				t.Errorf("got:\n%s", replayed)
			}
		})
	}
}

// replay runs a trace. It returns the trace with fresh outputs, and every sync.
func replay(t *testing.T, content string) (string, []reconciled) {
	t.Helper()
	n := notebook{every: 15 * time.Second}
	n.workload.controller, n.workload.behavior = DefaultController(), DefaultBehavior()
	n.workload.spec.Behavior = &n.workload.behavior
	for i, line := range strings.Split(strings.TrimRight(content, "\n"), "\n") {
		if err := n.line(line); err != nil {
			t.Fatalf("line %d, %q: %v", i+1, line, err)
		}
	}
	return n.out.String(), n.syncs
}

type notebook struct {
	workload workload
	every    time.Duration
	syncs    []reconciled
	out      strings.Builder
}

func (n *notebook) line(line string) error {
	if strings.HasPrefix(line, "  ") { // an output: replaced
		return nil
	}
	n.out.WriteString(line + "\n")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case strings.HasPrefix(line, "> "):
		return n.input(strings.TrimPrefix(line, "> "))
	}
	return n.setting(line)
}

func (n *notebook) setting(line string) error {
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	var err error
	switch key {
	case "min":
		n.workload.spec.Bounds.Min, err = parseCount(value)
	case "max":
		n.workload.spec.Bounds.Max, err = parseCount(value)
	case "replicas":
		n.workload.replicas, err = parseCount(value)
	case "sync":
		n.every, err = time.ParseDuration(value)
	case "target":
		for _, r := range strings.Split(value, ",") {
			var target reading
			target, err = parseReading(r)
			metric := Metric{Source: ExternalSource, Target: Target{AverageValue: target.value}}
			n.workload.spec.Metrics = append(n.workload.spec.Metrics, metric)
		}
	case "remember": // 21 at -400s
		var s Sample
		var at string
		if _, err = fmt.Sscanf(value, "%d at %s", &s.Replicas, &at); err == nil {
			s.At, err = time.ParseDuration(at)
			n.workload.remembered = append(n.workload.remembered, s)
		}
	case "behavior":
		if value != "legacy" {
			return fmt.Errorf("behavior is %q, want legacy", value)
		}
		n.workload.spec.Behavior = nil
	case "up":
		err = parseRules(&n.workload.behavior.ScaleUp, value)
	case "down":
		err = parseRules(&n.workload.behavior.ScaleDown, value)
	default:
		err = fmt.Errorf("unknown setting %q", key)
	}
	return err
}

// parseRules reads "window 300s, Pods 4 per 60s, Min, tolerance 0" over the
// defaults.
func parseRules(rules *Rules, text string) error {
	var policies []RatePolicy
	for _, clause := range strings.Split(text, ",") {
		words := strings.Fields(clause)
		var err error
		switch {
		case len(words) == 2 && words[0] == "window":
			rules.Window, err = time.ParseDuration(words[1])
		case len(words) == 2 && words[0] == "tolerance":
			rules.Tolerance, err = strconv.ParseFloat(words[1], 64)
		case len(words) == 4 && words[2] == "per":
			p := RatePolicy{Type: PolicyType(words[0])}
			if p.Value, err = parseCount(words[1]); err == nil {
				p.Period, err = time.ParseDuration(words[3])
			}
			policies = append(policies, p)
		case len(words) == 1:
			rules.Select = SelectPolicy(words[0])
		default:
			err = fmt.Errorf("unknown clause %q", clause)
		}
		if err != nil {
			return err
		}
	}
	if policies != nil {
		rules.Policies = policies
	}
	return nil
}

// input runs "0s .. 300s: 37, fails": one reconcile per sync.
func (n *notebook) input(text string) error {
	if text == "restart" {
		n.workload.state.Memory = Memory{}
		return nil
	}
	if count, ok := strings.CutPrefix(text, "scale "); ok {
		var err error
		n.workload.replicas, err = parseCount(count)
		return err
	}
	times, values, _ := strings.Cut(text, ":")
	first, last, isRange := strings.Cut(times, " .. ")
	from, err := time.ParseDuration(first)
	if err != nil {
		return err
	}
	to := from
	if isRange {
		if to, err = time.ParseDuration(last); err != nil {
			return err
		}
	}
	var readings []reading
	for _, value := range strings.Split(values, ",") {
		r, err := parseReading(value)
		if err != nil {
			return err
		}
		readings = append(readings, r)
	}
	if len(readings) != len(n.workload.spec.Metrics) {
		return fmt.Errorf("%d readings for %d targets", len(readings), len(n.workload.spec.Metrics))
	}
	before := len(n.syncs)
	for at := from; at <= to; at += n.every {
		n.syncs = append(n.syncs, n.workload.reconcile(at, readings))
	}
	n.write(n.syncs[before:])
	return nil
}

// write notes syncs, those that did the same on one line.
func (n *notebook) write(syncs []reconciled) {
	for i := 0; i < len(syncs); {
		first, text := i, syncs[i].String()
		for i < len(syncs) && syncs[i].String() == text {
			i++
		}
		when := inSeconds(syncs[first].at)
		if i-first > 1 {
			when += " .. " + inSeconds(syncs[i-1].at)
		}
		fmt.Fprintf(&n.out, "  %-16s %s\n", when, text)
	}
}

func parseReading(text string) (reading, error) {
	text = strings.TrimSpace(text)
	if text == "fails" {
		return reading{fails: true}, nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return reading{}, err
	}
	milli, err := ToMilli(value)
	return reading{value: milli}, err
}

func parseCount(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err
}
