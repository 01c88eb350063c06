package process

import (
	"errors"
	"log/slog"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// answer is what makes a decision another one. Its reason is not part of it: while
// a window holds 8, that the queue would do with 7, then 6, is no news.
type answer struct {
	mode          scaling.Mode
	replicas      int32
	awake, active bool
	degraded      bool
	fault         string
}

// LogDecision writes one line for a decision that differs from the one before it of the
// same policy, the zero value if there is none. Requests come several times per second;
// what changes is what somebody wants to read.
func LogDecision(log *slog.Logger, before, d *scaling.Decision) {
	next := answerOf(d)
	if before.Mode != "" && answerOf(before) == next {
		return
	}
	attrs := []any{
		slog.String("kind", d.Key.Kind), slog.String("namespace", d.Key.Namespace), slog.String("name", d.Key.Name), slog.String("record", d.Key.Record),
		slog.String("mode", string(d.Mode)), slog.String("outcome", outcome(d)), slog.String("reason", d.Why()),
	}
	if d.Err == nil {
		attrs = append(attrs, slog.Int("replicas", int(d.Replicas)), slog.Int("current", int(d.Current)), slog.Bool("active", d.Active))
	}
	tell := log.Info
	if next.fault != "" || next.degraded {
		tell = log.Warn
	}
	tell("decision", attrs...)
}

// answerOf is the part of a decision that counts as its answer. A decision without
// one has only its fault.
func answerOf(d *scaling.Decision) answer {
	a := answer{mode: d.Mode, degraded: d.Degraded, fault: fault(errors.Join(d.Err, d.Held))}
	if d.Err == nil {
		a.replicas, a.awake, a.active = d.Replicas, d.Awake, d.Active
	}
	return a
}

// fault names what is wrong. The words of a failing server change from one attempt
// to the next (a port, a retry count) without being news; those of anything else
// are the user's to mend, and each is.
func fault(err error) string {
	if err == nil {
		return ""
	}
	for _, kind := range []error{scaling.ErrNotRead, scaling.ErrUnobserved} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
