package process

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// jobs is a decision of one policy; its fields are then changed by the caller.
func jobs(change func(*scaling.Decision)) *scaling.Decision {
	d := &scaling.Decision{
		Key:  scaling.Key{Ref: scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"}, Target: "apps/Deployment/worker", Record: "jobs"},
		Mode: scaling.Stabilised, At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		Replicas: 3, Current: 2, Awake: true, Active: true,
		Basis: scaling.Basis{Readings: []scaling.Reading{{Query: "list jobs", Known: true, Value: 15}}}, Recommended: 3,
	}
	change(d)
	return d
}

func TestLogDecisionTellsChangesOnly(t *testing.T) {
	notRead := func(port int) error {
		return fmt.Errorf("%w: from port %d: refused", scaling.ErrNotRead, port)
	}
	steps := []struct {
		name   string
		change func(*scaling.Decision)
		want   string // of the one line; empty for none
	}{
		{"the first", func(*scaling.Decision) {}, "level=INFO msg=decision kind=ScaledObject namespace=shop name=worker record=jobs mode=stabilised outcome=served"},
		{"the same", func(*scaling.Decision) {}, ""},
		{"another wish, the same count", func(d *scaling.Decision) { d.Recommended = 2 }, ""},
		{"another count", func(d *scaling.Decision) { d.Replicas = 4 }, "replicas=4 current=2 active=true"},
		{"held", func(d *scaling.Decision) { d.Held = notRead(1) }, `level=WARN`},
		{"held, in other words", func(d *scaling.Decision) { d.Held = notRead(2) }, ""},
		{"an error of another kind", func(d *scaling.Decision) { d.Err = scaling.ErrUnobserved }, "outcome=error"},
		{"the same without a target", func(d *scaling.Decision) { d.Err, d.Key.Target = scaling.ErrUnobserved, "" }, ""},
		{"a bad policy", func(d *scaling.Decision) { d.Err = errors.New("listLength: 0 is not above 0") }, "listLength: 0 is not above 0"},
		{"another bad policy", func(d *scaling.Decision) { d.Err = errors.New("listLength: -1 is not above 0") }, "listLength: -1 is not above 0"},
		{"well again", func(*scaling.Decision) {}, "outcome=served"},
	}
	var out bytes.Buffer
	log, before := NewLogger(&out, slog.LevelInfo, "text"), &scaling.Decision{}
	for _, step := range steps {
		out.Reset()
		d := jobs(step.change)
		LogDecision(log, before, d)
		before = d
		got, lines := out.String(), strings.Count(out.String(), "\n")
		if (step.want == "") != (lines == 0) || lines > 1 || !strings.Contains(got, step.want) {
			t.Errorf("%s: wrote %q; want %q", step.name, got, step.want)
		}
	}
}
