package cluster

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// statusRound is how often it is looked what there is to write: a status follows
	// a decision that changes a condition by a second at most, and no metric is
	// written more than once in it, however it flaps.
	statusRound = time.Second
	// changeSpacing is the shortest time between two writes of one metric whose
	// conditions change, statusSpacing of one of which only numbers do.
	changeSpacing = statusRound
	statusSpacing = 15 * time.Second
	// refreshSpacing is how often a status is written of which nothing changes, so
	// that the time of the last decision shows that decisions are made.
	refreshSpacing = 5 * time.Minute
	// writesPerRound limits the API server's load: 1,000 metrics that all change all
	// the time have their status every 20 s. One in which a new leader sees a status
	// for the first time costs a read besides.
	writesPerRound = 50
	// statusWriters is how many writes are under way at once.
	statusWriters = 8
	// maxStatuses is how many metrics are written about; further ones are not.
	maxStatuses = 16384
	// failureSpacing is the shortest time between two log lines about writes that fail.
	failureSpacing = time.Minute
)

// Statuses writes what is decided into the status of StabilizedMetrics. It is for one
// replica at a time: the elected one runs it, and the others may report to theirs,
// which comes to nothing.
//
// A status is written at once when a condition changes, every 15 s while only numbers
// do, every 5 minutes while nothing does. Of more than can be written, what has waited
// for longest in the measure of its kind comes first, so that metrics that flap keep
// none of the others from its turn.
type Statuses struct {
	writer statusWriter
	log    *slog.Logger

	mu sync.Mutex
	// reported is the last decision on each metric since it was last taken; nil while
	// Run does not run. What was decided before an election is nothing to write after
	// it: whoever wrote meanwhile knew better.
	reported map[scaling.Ref]report
}

// report is one decision and the object that it is about.
type report struct {
	metric   scaling.Metric
	decision scaling.Decision
}

// NewStatuses returns Statuses that are written through client, which should allow
// 100 requests per second. What keeps one from being written is logged.
func NewStatuses(client dynamic.Interface, log *slog.Logger) *Statuses {
	return &Statuses{
		writer: statusWriter{client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource))},
		log:    log,
	}
}

// Report notes a decision on a metric: the last one before a write is the one that is
// written. It never blocks, and does nothing while Run does not run.
func (s *Statuses) Report(m scaling.Metric, d scaling.Decision) {
	if callerLeft(&d) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reported == nil {
		return
	}
	if _, known := s.reported[m.Ref]; known || len(s.reported) < maxStatuses {
		s.reported[m.Ref] = report{m, d}
	}
}

// Run writes until the context ends, and returns nil then. It may run again
// afterwards, but not twice at once. What is not written by that time is dropped.
func (s *Statuses) Run(ctx context.Context) error {
	s.exchange(map[scaling.Ref]report{})
	defer s.exchange(nil)
	r := rounds{writer: s.writer, log: s.log, pages: map[scaling.Ref]*page{}}
	ticker := time.NewTicker(statusRound)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		r.take(s.exchange(map[scaling.Ref]report{}), now)
		r.write(ctx, r.due(now), now)
	}
}

// exchange returns what was reported, and puts next in its place.
func (s *Statuses) exchange(next map[scaling.Ref]report) map[scaling.Ref]report {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.reported
	s.reported = next
	return before
}

// rounds are those of one run: what it knows of each metric's status.
type rounds struct {
	writer statusWriter
	log    *slog.Logger
	pages  map[scaling.Ref]*page
	// failed is how many writes have failed since it was last logged, at complained.
	failed     int
	complained time.Time
}

// take turns what was reported into what is to be written, and forgets metrics that
// are gone or that nobody reports any more. A metric of another UID is another one.
func (r *rounds) take(reported map[scaling.Ref]report, now time.Time) {
	for ref, p := range r.pages {
		if p.gone || now.Sub(p.seen) >= forgetAfter {
			delete(r.pages, ref)
		}
	}
	for ref, report := range reported {
		p, known := r.pages[ref]
		if !known || p.uid != report.metric.UID {
			if !known && len(r.pages) >= maxStatuses {
				continue
			}
			p = &page{ref: ref, uid: report.metric.UID}
			r.pages[ref] = p
		}
		p.wanted, p.seen = statusOf(report.metric, report.decision, now), now
	}
}

// due are the pages to write now, at most as many as a round may have.
func (r *rounds) due(now time.Time) []*page {
	pressure := map[*page]float64{}
	for _, p := range r.pages {
		if waited := p.pressure(now); waited >= 1 {
			pressure[p] = waited
		}
	}
	due := slices.SortedFunc(maps.Keys(pressure), func(a, b *page) int { return cmp.Compare(pressure[b], pressure[a]) })
	return due[:min(len(due), writesPerRound)]
}

// write writes pages, a few at once, and returns when all are done.
func (r *rounds) write(ctx context.Context, due []*page, now time.Time) {
	work := make(chan *page, len(due))
	for _, p := range due {
		work <- p
	}
	close(work)
	var writers sync.WaitGroup
	for range min(statusWriters, len(due)) {
		writers.Go(func() {
			for p := range work {
				p.failure = r.writer.write(ctx, p, now)
			}
		})
	}
	writers.Wait()
	if ctx.Err() == nil {
		r.complain(ctx, due, now)
	}
}

// complain logs that writes fail. A permission that is missing or a server that is
// away fails them all, so one line a minute says how many and gives one of the reasons.
func (r *rounds) complain(ctx context.Context, written []*page, now time.Time) {
	var reason error
	for _, p := range written {
		if p.failure != nil {
			r.failed++
			reason = p.failure
		}
	}
	if reason == nil || now.Sub(r.complained) < failureSpacing {
		return
	}
	r.log.WarnContext(ctx, "cannot write a status", "failed", r.failed, "error", reason)
	r.failed, r.complained = 0, now
}
