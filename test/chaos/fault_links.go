package main

import (
	"context"
	"errors"
	"fmt"
)

// pair is two parties whose connections are disturbed.
type pair struct {
	name   string
	setups []string
	blind  bool
	links  func(*world) []*link
	// latency and jitter are in milliseconds.
	latency, jitter int
	// settles: it has healed when Redis' servers agree again.
	settles bool
}

// linkFaults are three disturbances of every pair.
func linkFaults() []fault {
	once := []string{single}
	pairs := []pair{
		{name: "client and replicas", setups: once, latency: 700, links: func(w *world) []*link {
			return []*link{w.scalers[0].door, w.scalers[1].door, w.adapter.door}
		}},
		{name: "client and one replica", setups: once, latency: 700, links: func(w *world) []*link {
			return []*link{w.scalers[0].door}
		}},
		{name: "replicas and Redis", setups: setups, latency: 45, jitter: 40, links: (*world).storeLinks},
		{name: "one replica and Redis", setups: once, latency: 45, jitter: 40, links: func(w *world) []*link {
			return w.stores.nodes[0].links[:1]
		}},
		{name: "replicas and source", setups: once, blind: true, latency: 700, links: func(w *world) []*link {
			return []*link{w.jobs}
		}},
		{name: "replicas and API server", setups: once, latency: 700, links: func(w *world) []*link {
			return []*link{w.scalers[0].kubernetes, w.scalers[1].kubernetes, w.adapter.kubernetes}
		}},
		{name: "one replica and API server", setups: once, latency: 700, links: func(w *world) []*link {
			return []*link{w.scalers[0].kubernetes}
		}},
	}
	var list []fault
	for _, p := range pairs {
		list = append(list, p.disturbances()...)
	}
	return list
}

func (p pair) disturbances() []fault {
	return []fault{
		p.fault("cut", (*link).cut),
		p.fault("slow", func(l *link) error { return l.slow(p.latency, p.jitter) }),
		p.fault("half-open", (*link).halfOpen),
	}
}

// storeLinks are the ways to the primaries; with a single server to it.
func (w *world) storeLinks() []*link {
	var all []*link
	for i, n := range w.stores.nodes {
		if w.stores.setup == sentinel && i > 0 {
			break // the first is the primary, as long as nothing has happened
		}
		all = append(all, n.links...)
	}
	return all
}

func (p pair) fault(how string, do func(*link) error) fault {
	return fault{
		name: fmt.Sprintf("%s: %s", p.name, how), setups: p.setups, blind: p.blind,
		inject: func(_ context.Context, w *world) (heal, error) {
			links := p.links(w)
			return func(ctx context.Context) error {
				err := mend(links)
				if err == nil && p.settles {
					err = w.stores.settle(ctx)
				}
				return err
			}, disturb(links, do)
		},
	}
}

// disturb does something to all links.
func disturb(links []*link, do func(*link) error) error {
	var problems []error
	for _, l := range links {
		problems = append(problems, do(l))
	}
	return errors.Join(problems...)
}

func mend(links []*link) error { return disturb(links, (*link).mend) }
