package watch

import (
	"context"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// batchSize is how many queries go to a server at once, at most. A single stream
// with more is one batch all the same.
const batchSize = 500

// laneKind says why something is read.
type laneKind int

const (
	// ticks: its time had come.
	ticks laneKind = iota
	// pokes: somebody said that it is worth it. They do not wait behind a batch of
	// ticks.
	pokes
	lanesPerServer
)

type laneKey struct {
	server string
	kind   laneKind
}

// lane is what waits to be read from one server. One batch of it is under way at a
// time: a server that hangs has one goroutine per lane, and each probe waits in it
// once, however long it takes.
type lane struct {
	key    laneKey
	probes []*probe
}

// enqueue puts a probe into a lane. It exists exactly while something waits in it
// or is being read.
func (w *Watcher) enqueue(p *probe, kind laneKind) {
	if p.queued[kind] {
		return
	}
	p.queued[kind] = true
	key := laneKey{p.server, kind}
	l, ok := w.lanes[key]
	if !ok {
		l = &lane{key: key}
		w.lanes[key] = l
		w.ready = append(w.ready, l)
	}
	l.probes = append(l.probes, p)
}

// serve reads a lane batch by batch until it is empty.
func (w *Watcher) serve(ctx context.Context, l *lane) {
	for {
		batch := w.takeBatch(l)
		if len(batch) == 0 {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, w.options.ReadTimeout)
		outcomes := w.source.Read(bounded, queriesOf(batch))
		cancel()
		w.take(ctx, l.key.kind, batch, outcomes)
	}
}

// takeBatch removes the next batch from a lane, without the probes of streams that
// have closed. If nothing is left it removes the lane.
func (w *Watcher) takeBatch(l *lane) []*probe {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*probe
	queries, taken := 0, 0
	for _, p := range l.probes {
		if len(batch) > 0 && queries+len(p.triggers) > batchSize {
			break
		}
		taken++
		p.queued[l.key.kind] = false
		if !p.stream.gone {
			batch = append(batch, p)
			queries += len(p.triggers)
		}
	}
	l.probes = l.probes[taken:]
	if len(batch) == 0 {
		delete(w.lanes, l.key)
	}
	return batch
}

func queriesOf(batch []*probe) []scaling.Query {
	queries := make([]scaling.Query, 0, len(batch))
	for _, p := range batch {
		for _, i := range p.triggers {
			query := p.stream.policy.Triggers[i].Query
			queries = append(queries, scaling.In(query, scaling.Scope{Namespace: p.stream.ref.Namespace}))
		}
	}
	return queries
}

// take hands the outcomes of a batch to its streams, and has those evaluated that
// were poked or have work.
func (w *Watcher) take(ctx context.Context, kind laneKind, batch []*probe, outcomes []scaling.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range batch {
		mine := outcomes[:len(p.triggers)]
		outcomes = outcomes[len(p.triggers):]
		s := p.stream
		if s.gone || (kind == ticks && !s.inactive()) {
			continue
		}
		p.answered = true
		for j, i := range p.triggers {
			s.outcomes[i] = mine[j]
			// Work is what exceeds the threshold strictly, as KEDA means it.
			if mine[j].Err == nil && mine[j].Value > s.policy.Triggers[i].Activation {
				s.wanted = true
			}
		}
		s.wanted = s.wanted || kind == pokes
		w.evaluateOutcomes(ctx, s)
	}
}
