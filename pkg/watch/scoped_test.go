package watch

import (
	"slices"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// scoped is a query that cannot be read until it is bound to a namespace, whose server it
// is on then: "jobs" is "shop/jobs" there.
type scoped string

func (scoped) Server() string { panic("a query that is not bound has no server") }

func (q scoped) String() string { return string(q) }

func (q scoped) In(s scaling.Scope) scaling.Query { return query(s.Namespace + "/" + string(q)) }

// pods is a trigger like KEDA's cpu: a count for the workload that is asked about.
var pods = scaling.Trigger{Query: scoped("pods"), Counts: true, Costly: true}

// What is counted of a workload's pods is neither read nor, whatever it may be, work; and
// what it costs to count does not make the queue beside it wait.
func TestWhatNeedsAWorkloadIsLeftOut(t *testing.T) {
	run(t, exact(), func(b *bench) {
		p := policyOf("redis/jobs")
		p.Triggers = append([]scaling.Trigger{pods}, p.Triggers...)
		p.Interval = 15 * time.Second
		b.set(func() { b.queues["shop/pods"] = 4 })
		c := b.watch("worker", p)
		b.at(3)
		b.want("read", &b.reads, 0.5, 1.5, 2.5)
		b.want("evaluated", &b.evaluated, 0)
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.at(3.6)
		b.want("announced", &c.heard, 3.5)
		if got, want := b.batches, []int{1, 1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("batches of %v queries, want %v", got, want)
		}
		if got, want := b.request(len(b.evaluated)-1).Outcomes, []scaling.Outcome{{}, {Value: 1}}; !slices.Equal(got, want) {
			t.Errorf("evaluated with outcomes %v, want %v: the queue's stands where its trigger does", got, want)
		}
	})
}

// With nothing else there is nothing to read.
func TestNothingButWhatNeedsAWorkload(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", &scaling.Policy{Metric: "jobs", Triggers: []scaling.Trigger{pods}})
		b.at(121)
		b.want("evaluated", &b.evaluated, 0, 60, 120)
		b.want("read", &b.reads)
		b.want("announced", &c.heard)
	})
}

// A query that depends on the namespace alone is read like any other.
func TestAScopedQueryIsReadInItsNamespace(t *testing.T) {
	run(t, exact(), func(b *bench) {
		c := b.watch("worker", &scaling.Policy{Metric: "jobs", Triggers: []scaling.Trigger{{Query: scoped("jobs")}}})
		b.at(1)
		b.set(func() { b.queues["other/jobs"] = 1 })
		b.at(2)
		b.want("announced", &c.heard)
		b.set(func() { b.queues["shop/jobs"] = 1 })
		b.at(3)
		b.want("read", &b.reads, 0.5, 1.5, 2.5)
		b.want("announced", &c.heard, 2.5)
	})
}
