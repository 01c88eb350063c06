package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Redis' servers give each other a second before they take one for dead: a Sentinel a
// server, and a node of a Cluster one that does not answer on an old connection. A link
// that is slow by this is now on the one side of it, now on the other.
const (
	aboutASecond = 900
	moreOrLess   = 300
)

// serverPairs are the pairs among Redis' own servers, and the replicas with those that
// only tell who the primary is.
func serverPairs() []pair {
	withSentinel := []string{sentinel}
	return []pair{
		{name: "primary and its replicas", setups: withSentinel, links: func(w *world) []*link {
			return w.stores.nodes[0].doorsTo(w.stores.nodes[1:])
		}},
		{name: "primary and Sentinels", setups: withSentinel, links: func(w *world) []*link {
			return w.stores.nodes[0].doorsTo(w.stores.sentinels)
		}},
		{name: "Sentinels and each other", setups: withSentinel, links: func(w *world) []*link {
			var all []*link
			for _, n := range w.stores.sentinels {
				all = append(all, n.doorsTo(w.stores.sentinels)...)
			}
			return all
		}},
		{name: "replicas and Sentinels", setups: withSentinel, links: func(w *world) []*link {
			return w.waysToSentinels(0, 1, scalerCount)
		}},
		{name: "Cluster's nodes and each other", setups: []string{cluster3}, links: func(w *world) []*link {
			var all []*link
			for _, n := range w.stores.nodes {
				all = append(all, n.busesTo(w.stores.nodes)...)
			}
			return all
		}},
	}
}

// serverLinkFaults are three disturbances of each of these pairs. They have healed when
// Redis' servers agree again.
func serverLinkFaults() []fault {
	var list []fault
	for _, p := range serverPairs() {
		p.latency, p.jitter, p.settles = aboutASecond, moreOrLess, true
		list = append(list, p.disturbances()...)
	}
	return list
}

// doorsTo are the ways on which other servers come to a node, busesTo those to its bus.
func (n *node) doorsTo(others []*node) []*link { return n.waysTo(n.door, others) }
func (n *node) busesTo(others []*node) []*link { return n.waysTo(n.bus, others) }

func (n *node) waysTo(c *crossing, others []*node) []*link {
	var all []*link
	for _, other := range others {
		if other != n {
			all = append(all, c.from(other.source))
		}
	}
	return all
}

// apart are all ways between a node and the other servers of Redis.
func (s *stores) apart(n *node) []*link {
	all := append(n.doorsTo(s.nodes), n.doorsTo(s.sentinels)...)
	for _, other := range s.nodes {
		all = append(all, other.doorsTo([]*node{n})...)
	}
	if n.bus != nil {
		all = append(all, n.busesTo(s.nodes)...)
		for _, other := range s.nodes {
			all = append(all, other.busesTo([]*node{n})...)
		}
	}
	return all
}

// waysToSentinels are those of some replicas of ours. The address that a Sentinel announces
// is nobody's alone: whoever is not meant has another way.
func (w *world) waysToSentinels(replicas ...int) []*link {
	var all []*link
	for _, n := range w.stores.sentinels {
		all = append(all, n.door.from(ours))
		for _, i := range replicas {
			all = append(all, n.links[i])
		}
	}
	return all
}

// serverFaults are those that need several servers.
func serverFaults() []fault {
	withSentinel := []string{sentinel}
	all, one := []int{0, 1, scalerCount}, []int{0}
	return []fault{
		{name: "split brain", setups: []string{sentinel, cluster3}, lasts: splitLasts, prepare: addStandby, inject: splitBrain{}.inject},
		{name: "split brain, one replica stays with the old primary", setups: withSentinel, lasts: splitLasts, inject: splitBrain{stay: one}.inject},
		{name: "split brain, all replicas stay with the old primary", setups: withSentinel, lasts: splitLasts, inject: splitBrain{stay: all}.inject},
		{name: "split brain, and the replica with the old primary killed", setups: withSentinel, lasts: splitLasts, inject: splitBrain{stay: one, killed: true}.inject},
		{name: "split brain, and all replicas with the old primary killed", setups: withSentinel, lasts: splitLasts, blind: true, inject: splitBrain{stay: all, killed: true}.inject},
		{name: "failover to a replica that is 8 s behind", setups: withSentinel, lasts: behind + 10*time.Second, inject: loseWrites},
		{name: "Redis answers NOREPLICAS", setups: setups, inject: refuseWrites},
		{name: "Redis answers MOVED", setups: []string{cluster3}, prepare: addStandby, inject: demote},
	}
}

// addStandby gives the node of a Cluster with the record a replica, which can take its place.
func addStandby(ctx context.Context, w *world) error {
	if w.stores.setup != cluster3 {
		return nil // there are two
	}
	owner, err := w.stores.owner(ctx)
	if err != nil {
		return err
	}
	_, err = w.stores.addReplica(ctx, w.dir, owner)
	return err
}

// splitLasts is long enough for others to elect a primary, which takes them some 3 s, and
// for writes to both that one of them will lose.
const splitLasts = 12 * time.Second

// splitBrain cuts the primary with the record off from all other servers of Redis, but not
// from the replicas of ours. The others elect a new primary, and the old one goes on taking
// writes, which are lost when the two see each other again: of Sentinel's until then, of a
// Cluster's for the 2 s in which it does not notice. It is an error if nothing was written
// to the old primary meanwhile: nothing would be lost.
type splitBrain struct {
	// stay are replicas of ours who stay with the old primary: they are cut off from the
	// Sentinels, too, who would tell them.
	stay []int
	// killed: those who stay are killed at the end, and what they remember is lost, too.
	// They start when it has healed.
	killed bool
}

func (b splitBrain) inject(ctx context.Context, w *world) (heal, error) {
	old, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	links := w.stores.apart(old)
	if len(b.stay) > 0 {
		links = append(links, w.waysToSentinels(b.stay...)...)
	}
	if err := disturb(links, (*link).cut); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := w.stores.split(ctx, old)
		if len(b.stay) > 0 && err == nil {
			err = old.written(ctx)
		}
		if err != nil {
			return err
		}
		var victims []*replica
		if b.killed {
			for _, i := range b.stay {
				victims = append(victims, w.replicas()[i])
			}
		}
		for _, r := range victims {
			r.kill()
		}
		problems := []error{mend(links), w.stores.settle(ctx)}
		for _, r := range victims {
			problems = append(problems, r.start(ctx))
		}
		return errors.Join(problems...)
	}, old.written(ctx)
}

// split is an error unless a node is a primary beside as many as there should be: the fault
// would not be the one that its name says.
func (s *stores) split(ctx context.Context, old *node) error {
	all, err := s.primaries(ctx)
	if want := s.primaryCount() + 1; err == nil && (len(all) != want || !slices.Contains(all, old)) {
		err = fmt.Errorf("%d primaries, the old one among them: %v; it was no split brain", len(all), slices.Contains(all, old))
	}
	return err
}

// behind is how old the writes are that a failover has lost.
const behind = 8 * time.Second

// loseWrites lets nothing more arrive at the primary's replicas, who do not notice before a
// minute is over, and some seconds later kills it. One of them takes its place.
func loseWrites(ctx context.Context, w *world) (heal, error) {
	old := w.stores.nodes[0]
	links := old.doorsTo(w.stores.nodes[1:])
	if err := disturb(links, (*link).halfOpen); err != nil {
		return nil, err
	}
	if err := w.sleepUntil(ctx, w.now()+behind); err != nil {
		return nil, err
	}
	if err := old.written(ctx); err != nil {
		return nil, err
	}
	restart, err := losePrimary(ctx, w)
	return func(ctx context.Context) error {
		err := restart(ctx)
		if err == nil {
			err = w.stores.split(ctx, old) // it comes back as a primary, beside the new one
		}
		return errors.Join(err, mend(links), w.stores.settle(ctx))
	}, err
}

// refuseWrites has primaries take no writes for want of replicas, of which none has three:
// as READONLY they serve what they have.
func refuseWrites(ctx context.Context, w *world) (heal, error) {
	set := func(ctx context.Context, least int) error {
		return w.onPrimaries(ctx, func(n *node) error { return n.command(ctx, "CONFIG", "SET", "min-replicas-to-write", least) })
	}
	return func(ctx context.Context) error { return set(ctx, 0) }, set(ctx, 3)
}

// demote has the replica of a Cluster's node take its place, and afterwards the node its
// own again. A node that is demoted answers MOVED, where a server without a Cluster answers
// READONLY.
func demote(ctx context.Context, w *world) (heal, error) {
	owner, err := w.stores.owner(ctx)
	if err != nil {
		return nil, err
	}
	standby := w.stores.nodes[len(w.stores.nodes)-1]
	return func(ctx context.Context) error { return w.stores.promote(ctx, owner) }, w.stores.promote(ctx, standby)
}
