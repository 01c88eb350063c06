package process

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// decisionMemory is how long the last decision of a policy that nobody asks about
// is remembered. After it, the next one counts as changed.
const decisionMemory = time.Hour

// DecisionLog writes one line for each decision that differs from the one before
// it of the same policy. Requests come several times per second; what changes is
// worth a line.
type DecisionLog struct {
	log *slog.Logger

	mu    sync.Mutex
	last  map[policyName]logged
	swept time.Time
}

// policyName is a key without its target: an object that was pointed at another
// workload, or whose workload nobody sees, goes on with the same history.
type policyName struct {
	scaling.Ref
	record string
}

type logged struct {
	answer answer
	at     time.Time
}

// answer is what makes a decision another one. Its reason is not part of it: while
// a window holds 8, that the queue would do with 7, then 6, is no news.
type answer struct {
	mode          scaling.Mode
	replicas      int32
	awake, active bool
	degraded      bool
	fault         string
}

// NewDecisionLog returns a log that knows no decision yet.
func NewDecisionLog(log *slog.Logger) *DecisionLog {
	return &DecisionLog{log: log, last: map[policyName]logged{}, swept: time.Now()}
}

// Decided takes a decision. It is safe for concurrent use.
func (l *DecisionLog) Decided(d scaling.Decision) {
	next := answerOf(d)
	before, known := l.exchange(policyName{d.Key.Ref, d.Key.Record}, next)
	if known && before == next {
		return
	}
	attrs := []any{
		slog.String("kind", d.Key.Kind), slog.String("namespace", d.Key.Namespace), slog.String("name", d.Key.Name), slog.String("record", d.Key.Record),
		slog.String("mode", string(d.Mode)), slog.String("outcome", outcome(d)), slog.String("reason", d.Why()),
	}
	if d.Err == nil {
		attrs = append(attrs, slog.Int("replicas", int(d.Replicas)), slog.Int("current", int(d.Current)), slog.Bool("active", d.Active))
	}
	tell := l.log.Info
	if next.fault != "" || next.degraded {
		tell = l.log.Warn
	}
	tell("decision", attrs...)
}

// exchange remembers an answer and returns the one before it.
func (l *DecisionLog) exchange(name policyName, next answer) (before answer, known bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) >= decisionMemory {
		l.swept = now
		for n, old := range l.last {
			if now.Sub(old.at) >= decisionMemory {
				delete(l.last, n)
			}
		}
	}
	old, known := l.last[name]
	l.last[name] = logged{next, now}
	return old.answer, known
}

// answerOf is the part of a decision that counts as its answer. A decision without
// one has only its fault.
func answerOf(d scaling.Decision) answer {
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
