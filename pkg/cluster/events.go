package cluster

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// eventSpacing is the shortest time between two Events about one metric. What
	// changes meanwhile is told then, as it is then. Two replicas that say the same
	// within it say it once.
	eventSpacing = 10 * time.Second
	// eventRate and eventBurst limit the Events about everything together: a Redis
	// that fails makes every policy on it Held at once.
	eventRate, eventBurst = 5, 25
	// maxTroubles is how many metrics may be in trouble before further ones are not
	// told about.
	maxTroubles = 4096
	// forgetAfter is how long a metric that nobody asks for any more is remembered.
	forgetAfter = time.Hour
	// writeTimeout ends one attempt to write an Event.
	writeTimeout = 10 * time.Second
)

// Events tells users on their ScaledObject or StabilizedMetric when a metric's policy
// cannot be followed, or comes to nothing, and when it is followed again. It writes on
// transitions only; what is well from the start is not worth a word.
type Events struct {
	writer eventWriter
	log    *slog.Logger
	// news wakes Run. It holds one: more would say no more.
	news chan struct{}

	mu       sync.Mutex
	troubles map[subject]*trouble

	// lastFailure is the text last logged, so that a missing permission is logged
	// once. Only Run uses it.
	lastFailure string
}

// subject is what one Event is about. The scale target is no part of it: that is
// unknown while the object is not observed.
type subject struct {
	ref    scaling.Ref
	metric string
}

// trouble is a metric that was not well lately.
type trouble struct {
	now, told notice
	// next is when it may be told about again, seen when it was last asked for.
	next, seen time.Time
}

// NewEvents returns Events that are written through client in the name of
// component, about the objects that reference finds: Observer.Reference or
// Policies.Reference. What keeps an Event from being written is logged.
func NewEvents(client kubernetes.Interface, component string, reference func(scaling.Ref) corev1.ObjectReference, log *slog.Logger) *Events {
	return &Events{
		writer:   eventWriter{client: client, component: component, reference: reference},
		log:      log,
		news:     make(chan struct{}, 1),
		troubles: map[subject]*trouble{},
	}
}

// Report notes a decision. It never blocks, and does next to nothing for a metric
// that is well.
func (e *Events) Report(d *scaling.Decision) {
	n, ok := noticeOf(d)
	if !ok {
		return
	}
	about := subject{d.Key.Ref, d.Key.Record}
	e.mu.Lock()
	defer e.mu.Unlock()
	t, known := e.troubles[about]
	if !known {
		if n.isWell() || len(e.troubles) >= maxTroubles {
			return
		}
		t = &trouble{}
		e.troubles[about] = t
	}
	t.seen = time.Now()
	if t.now.same(n) {
		return
	}
	t.now = n
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// Run writes the Events until the context ends, and returns nil then. What is not
// written by that time is dropped, and all that was told is forgotten: where one of
// several replicas runs it, another one goes on. So is, when it begins, what was
// reported long before: another one has seen to it.
func (e *Events) Run(ctx context.Context) error {
	e.forget(eventSpacing)
	defer e.forget(0)
	limiter := flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst)
	for {
		about, n, wait := e.due(time.Now())
		if wait == 0 {
			if limiter.Wait(ctx) != nil {
				return nil // the context has ended
			}
			e.tell(ctx, about, n)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-e.news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// forget drops what nobody has asked for lately.
func (e *Events) forget(quiet time.Duration) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.troubles, func(_ subject, t *trouble) bool { return now.Sub(t.seen) >= quiet })
}

// due finds something to tell. If there is nothing yet, wait says for how long; it
// is 0 otherwise. On the way it forgets what is well and what nobody asks for.
func (e *Events) due(now time.Time) (about subject, n notice, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wait = forgetAfter
	for s, t := range e.troubles {
		left := t.next.Sub(now)
		switch settled := t.now.same(t.told); {
		case now.Sub(t.seen) >= forgetAfter, settled && t.now.isWell() && left <= 0:
			delete(e.troubles, s)
		case settled:
		case left <= 0:
			return s, t.now, 0
		default:
			wait = min(wait, left)
		}
	}
	return subject{}, notice{}, wait
}

// tell writes one Event. What could not be written is due again after the spacing.
func (e *Events) tell(ctx context.Context, about subject, n notice) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := e.writer.write(ctx, about, n, time.Now())
	e.logFailure(ctx, err)
	e.mu.Lock()
	defer e.mu.Unlock()
	t, known := e.troubles[about]
	if !known {
		return
	}
	t.next = time.Now().Add(eventSpacing)
	if err == nil {
		t.told = n
	}
}

func (e *Events) logFailure(ctx context.Context, err error) {
	if err == nil || err.Error() == e.lastFailure {
		return
	}
	e.lastFailure = err.Error()
	e.log.WarnContext(ctx, "cannot write an Event", "error", err)
}
