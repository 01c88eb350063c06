package scaling

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

var update = flag.Bool("update", false, "rewrite the golden traces; commit only what you understand")

// epoch is when every trace starts.
var epoch = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// TestTraces replays testdata/*.trace. A trace is a lab notebook: settings, then
// one line per request with what was observed (P, S), what was read (read=37, fail,
// or nothing: the reading on file serves) and, behind the arrow, what was decided.
// P=+ follows the last decision, as an HPA and KEDA without cooldown would.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareLines(t, string(text), got)
		})
	}
}

func compareLines(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) {
			t.Fatalf("want %d lines, got %d", len(w), len(g))
		}
		if w[i] != g[i] {
			t.Errorf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
}

// tracer runs one trace.
type tracer struct {
	t      *testing.T
	policy Policy
	obs    Observation
	record Record
	last   Decision
}

func replay(t *testing.T, text string) string {
	t.Helper()
	behavior := algorithm.DefaultBehavior()
	tr := &tracer{t: t, policy: Policy{
		Metric: "m", Target: 1000, Behavior: &behavior, Cooldown: 5 * time.Minute, Interval: 5 * time.Second,
		Triggers: []Trigger{{Type: "fake", Target: 5000, Query: fakeQuery{"s", "list jobs"}}},
	}, obs: Observation{Target: "apps/Deployment/worker", Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true}}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch fields := strings.Fields(line); {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			out.WriteString(line)
		case fields[0] == "set":
			for _, f := range fields[1:] {
				tr.set(f)
			}
			out.WriteString(line)
		default:
			input, _, _ := strings.Cut(line, "->")
			input = strings.TrimRight(input, " ")
			fmt.Fprintf(&out, "%-26s -> %s", input, tr.ask(strings.Fields(input)))
		}
		out.WriteString("\n")
	}
	return strings.TrimSuffix(out.String(), "\n") + "\n"
}

// set changes a setting: policy, bounds or what the HPA looks like.
func (tr *tracer) set(field string) {
	key, value, _ := strings.Cut(field, "=")
	b := algorithm.DefaultBehavior()
	if tr.policy.Behavior != nil {
		b = *tr.policy.Behavior
	}
	defer func() {
		if tr.policy.Behavior != nil {
			tr.policy.Behavior = &b
		}
	}()
	switch key {
	case "activation":
		tr.policy.Triggers = []Trigger{tr.policy.Triggers[0]}
		tr.policy.Triggers[0].Activation = tr.number(value)
	case "target":
		tr.policy.Triggers = []Trigger{tr.policy.Triggers[0]}
		tr.policy.Triggers[0].Target = algorithm.Milli(tr.number(value) * 1000)
	case "cooldown":
		tr.policy.Cooldown = tr.duration(value)
	case "interval":
		tr.policy.Interval = tr.duration(value)
	case "downWindow":
		b.ScaleDown.Window = tr.duration(value)
	case "upWindow":
		b.ScaleUp.Window = tr.duration(value)
	case "down":
		b.ScaleDown.Policies = tr.policies(value)
	case "up":
		b.ScaleUp.Policies = tr.policies(value)
	case "tolerance":
		b.ScaleDown.Tolerance, b.ScaleUp.Tolerance = tr.number(value), tr.number(value)
	case "counts":
		tr.policy.Triggers = []Trigger{tr.policy.Triggers[0]}
		tr.policy.Triggers[0].Counts = value == "yes"
	case "uid":
		tr.obs.UID = value
	case "min":
		tr.obs.Bounds.Min = int32(tr.number(value))
	case "ownMin":
		least := int32(tr.number(value))
		tr.policy.Min = &least
	case "max":
		tr.obs.Bounds.Max = int32(tr.number(value))
	case "toZero":
		tr.obs.ToZero = value == "yes"
	case "others":
		tr.obs.OtherWakes = value == "yes"
	case "native":
		tr.obs.Native = true
		tr.obs.HPA = HPA{Name: "worker", Target: algorithm.Milli(tr.number(value) * 1000)}
	case "hpaTolerance":
		tr.obs.HPA = HPA{Name: "keda-hpa-worker", Target: 1000, Tolerance: algorithm.Tolerance{Down: tr.number(value), Up: tr.number(value)}}
	case "fallback":
		tr.policy.Fallback = &Fallback{After: 90 * time.Second, Replicas: int32(tr.number(value))}
	case "mode":
		tr.mode(value)
	default:
		tr.t.Fatalf("unknown setting %q", field)
	}
}

func (tr *tracer) mode(value string) {
	switch value {
	case "pass-through":
		tr.policy.Behavior, tr.policy.Target = nil, tr.policy.Triggers[0].Target
	case "shadow":
		tr.policy.Shadow, tr.policy.Target = true, tr.policy.Triggers[0].Target
	case "open-loop":
		tr.obs = Observation{OpenLoop: true, ToZero: true, Bounds: tr.obs.Bounds}
	default:
		tr.t.Fatalf("unknown mode %q", value)
	}
}

func (tr *tracer) policies(value string) []algorithm.RatePolicy {
	var list []algorithm.RatePolicy
	for _, p := range strings.Split(value, ",") {
		part := strings.Split(p, "/")
		list = append(list, algorithm.RatePolicy{Type: algorithm.PolicyType(part[0]), Value: int32(tr.number(part[1])), Period: tr.duration(part[2])})
	}
	return list
}

// ask runs one request.
func (tr *tracer) ask(fields []string) string {
	now := epoch.Add(tr.duration(fields[0]))
	in := Input{Policy: &tr.policy, Record: tr.record, Now: now}
	if tr.record.Seeded {
		in.Elapsed = now.Sub(tr.record.Time)
	}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "P":
			tr.obs.Spec = tr.last.Replicas
			if value != "+" {
				tr.obs.Spec = int32(tr.number(value))
			}
			tr.obs.Status = tr.obs.Spec
		case "S":
			tr.obs.Status = int32(tr.number(value))
		case "read":
			in.Outcomes = []Outcome{{Value: tr.number(value)}}
		case "fail":
			in.Outcomes = []Outcome{{Err: errors.New("timeout")}}
		case "hpa": // what the conditions of a native HPA say
			tr.obs.HPA.ScaledToZero, tr.obs.HPA.Disabled = value == "asleep", value == "disabled"
		case "lost":
			in.Record, in.Elapsed = Record{}, 0
		case "blind":
			in.Blind, in.Elapsed = true, 0
		case "degraded":
			in.Degraded = true
		case "bad":
			bad := tr.policy
			bad.Invalid = fmt.Errorf("%w: listLength: %q is not a number above 0", ErrBadPolicy, "x")
			in.Policy = &bad
		default:
			tr.t.Fatalf("unknown input %q", field)
		}
	}
	in.Observation = tr.obs
	result := stepPurely(tr.t, in)
	tr.record, tr.last = result.Record, result.Decision
	return describe(result.Decision)
}

// stepPurely steps, and lets another caller step from the same record with another
// reading: neither may write to what the other sees, nor to the record.
func stepPurely(t *testing.T, in Input) Result {
	t.Helper()
	before := stored(t, in.Record)
	result := Step(in)
	after := stored(t, result.Record)
	other := in
	other.Outcomes = []Outcome{{Value: 1e6}}
	Step(other)
	if again := Step(in); !reflect.DeepEqual(again, result) { //nolint:govet // equal to the last pointer is what is meant
		t.Errorf("the same input gave %+v, then %+v", result, again)
	}
	if again := stored(t, in.Record); again != before {
		t.Errorf("a step changed its record from %s to %s", before, again)
	}
	if again := stored(t, result.Record); again != after {
		t.Errorf("a step changed the record that another one made from %s to %s", after, again)
	}
	return result
}

func stored(t *testing.T, r Record) string {
	t.Helper()
	data, err := MarshalRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func describe(d Decision) string {
	if d.Err != nil {
		return d.Why()
	}
	activity := "active"
	if !d.Active {
		activity = "inactive"
	}
	why := d.Why()
	if d.Swallowed {
		why += " (swallowed by the HPA's tolerance)"
	}
	if d.Stranded != "" {
		why = string(d.Stranded) + ": " + why
	}
	if o := d.Overruled; o.Times > 0 {
		why += fmt.Sprintf(" (set to %d by others %d times)", o.To, o.Times)
	}
	return fmt.Sprintf("%3d %-8s send %-6v | %s", d.Replicas, activity, d.Value.Float(), why)
}

func (tr *tracer) number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		tr.t.Fatalf("not a number: %q", s)
	}
	return f
}

func (tr *tracer) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		tr.t.Fatalf("not a duration: %q", s)
	}
	return d
}

// fakeQuery asks a made-up server.
type fakeQuery struct{ server, what string }

func (q fakeQuery) Server() string { return q.server }
func (q fakeQuery) String() string { return q.what }
