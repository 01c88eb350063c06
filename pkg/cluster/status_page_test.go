package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// A caller that did not wait for the answer is no finding about the metric.
func TestStatusOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		s, _ := f.write(t)
		s.Report(called("jobs"), at(failed(fmt.Errorf("wait: %w", context.Canceled))))
		time.Sleep(2 * time.Second)
		if got := f.status(t, "jobs"); got != "none" {
			t.Errorf("status\n%s", got)
		}
	})
}

// What users write may be long, or no text at all.
func TestLongStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		s, log := f.write(t)
		long := fmt.Errorf("%w: listName is %q", scaling.ErrBadPolicy, strings.Repeat("ä", maxConditionMessage))
		s.Report(called("jobs"), failed(errors.Join(long, errors.New("\xff")))) // without a time: nobody asked the store
		time.Sleep(2 * time.Second)
		if got := f.status(t, "jobs"); !strings.Contains(got, "Ready=False/InvalidPolicy") || log.Len() > 0 {
			t.Errorf("status\n%s\nlog %s", got, log)
		}
	})
}

// A status that somebody else wrote, in whatever form, is written over.
func TestStatusOfSomebodyElse(t *testing.T) {
	for name, status := range map[string]any{
		"another condition": map[string]any{"conditions": []any{map[string]any{"type": "Mine", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "1999-12-31T23:00:00Z"}}},
		"an older Ready":    map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "1999-12-31T23:00:00Z"}}},
		"nonsense":          map[string]any{"conditions": "none", "lastDecision": int64(7)},
		"a later clock":     map[string]any{"lastDecision": map[string]any{"time": "2030-01-01T00:00:00Z", "why": "", "currentReplicas": int64(0), "recommendedReplicas": int64(0)}},
		"no object at all":  "fine",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				object := bareMetric("jobs")
				object.Object["status"] = status
				f := newStatusServer(t, object)
				s, _ := f.write(t)
				s.Report(called("jobs"), at(counted(3, 12)))
				time.Sleep(3 * time.Second)
				got, since := f.status(t, "jobs"), "00:00:01"
				switch name {
				case "an older Ready":
					since = "23:00:00"
				case "a later clock": // one second later by the clock here
					since = "00:00:02"
				}
				if strings.Contains(got, "Mine") || !strings.Contains(got, "Ready=True/PolicyValid since "+since) {
					t.Errorf("status\n%s", got)
				}
			})
		})
	}
}

// The API server refuses a status that has two conditions of a type.
func TestStatusHasEachConditionOnce(t *testing.T) {
	d := stranded(scaling.ForeignZero)
	d.ZeroReason = "KEDA has paused it"
	seen := map[string]bool{}
	for _, c := range statusOf(called("jobs"), d, time.Now()).Conditions {
		if seen[c.Type] {
			t.Errorf("%s comes twice", c.Type)
		}
		seen[c.Type] = true
	}
	if !seen["ScaledToZero"] {
		t.Error("ScaledToZero is missing")
	}
}

func TestStatusesForget(t *testing.T) {
	now := time.Now()
	r := rounds{log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)), pages: map[scaling.Ref]*page{}}
	r.take(map[scaling.Ref]report{called("jobs").Ref: {called("jobs"), counted(3, 12)}}, now)
	r.take(nil, now.Add(forgetAfter-1))
	if len(r.pages) != 1 {
		t.Error("forgotten too soon")
	}
	r.take(nil, now.Add(forgetAfter))
	if len(r.pages) != 0 {
		t.Error("a metric that nobody reports is remembered")
	}
	many := map[scaling.Ref]report{}
	for i := range maxStatuses + 1 {
		m := called(fmt.Sprint("m", i))
		many[m.Ref] = report{m, scaling.Decision{Decider: -1}}
	}
	if r.take(many, now); len(r.pages) != maxStatuses {
		t.Errorf("%d metrics are remembered, want %d", len(r.pages), maxStatuses)
	}
}
