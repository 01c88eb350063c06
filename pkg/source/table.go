package source

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Options configure a Table. The zero value is ready to use.
type Options struct {
	// Timeout bounds every Read, besides its context; 3 s if zero.
	Timeout time.Duration
	// Idle is after what time without a read the connections to a server are closed;
	// 10 minutes if zero, twice the longest interval that a policy may have.
	Idle time.Duration
	// Parsing is how many answers of HTTP servers are looked at at a time; 4 if zero. One of
	// 128 KiB of YAML may take 40 MB meanwhile. Four times as many of more than 64 KiB are
	// kept.
	Parsing int
	// Addresses say where triggers may lead to; nil for what egress allows by itself, which
	// no loopback is.
	Addresses *egress.Rules
	// Pods measures pods for the triggers cpu and memory. Without it, where no cluster is
	// seen, such a trigger is a problem.
	Pods Pods
	// Delegates are the servers that the trigger external-metric reads. Without any, such
	// a trigger is a problem.
	Delegates Delegates
}

// Table holds all trigger types, and the connections of those that have any. It is
// safe for concurrent use.
type Table struct {
	kinds   []kind
	readers []reader
	// salt makes the fingerprints of credentials useless outside this process.
	salt []byte
}

// kind is one trigger type.
type kind struct {
	name string
	keys []metadata.Key
	// parse returns the trigger and the metric's default name. salt is for
	// fingerprints of credentials.
	parse    func(m *metadata.Map, salt []byte) (scaling.Trigger, string)
	interval time.Duration
}

// New returns a table of all trigger types. Close releases its connections.
func New(o Options) *Table {
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Second
	}
	if o.Idle == 0 {
		o.Idle = 10 * time.Minute
	}
	if o.Parsing == 0 {
		o.Parsing = 4
	}
	t := &Table{salt: make([]byte, 16)}
	_, _ = rand.Read(t.salt) // never fails: it crashes the program instead
	dialer := egress.Dialer{Rules: o.Addresses, Timeout: o.Timeout}
	join(t, newRedisPool(o.Timeout, o.Idle, dialer), redisKinds()...)
	clients := newHTTPClients(o.Idle, o.Parsing, dialer)
	join(t, newHTTPReader[promQuery](o.Timeout, clients), prometheus(o.Timeout))
	join(t, newHTTPReader[apiQuery](o.Timeout, clients), metricsAPI(o.Timeout))
	join(t, cronClock{}, cronKind())
	join(t, resources{o.Pods, o.Timeout}, resourceKinds(o.Pods)...)
	join(t, external{o.Delegates, o.Timeout}, externalKind(o.Delegates))
	return t
}

// join adds trigger types to a table, and what reads their queries, which are of a type
// of their own.
func join[Q scaling.Query](t *Table, client client[Q], kinds ...kind) {
	t.kinds = append(t.kinds, kinds...)
	t.readers = append(t.readers, readerOf[Q]{client})
}

// client reads queries of type Q.
type client[Q scaling.Query] interface {
	// read answers at least one query, all of one server, by the context's end at the
	// latest. An outcome's error names its query; read's own is that of all queries.
	read(ctx context.Context, queries []Q) ([]scaling.Outcome, error)
	close()
}

// reader is a client as the table sees it.
type reader interface {
	// read reports whether it knows the type of the queries, and if so, answers.
	read(ctx context.Context, queries []scaling.Query) (outcomes []scaling.Outcome, known bool)
	close()
}

type readerOf[Q scaling.Query] struct{ client[Q] }

func (r readerOf[Q]) read(ctx context.Context, queries []scaling.Query) ([]scaling.Outcome, bool) {
	ours := make([]Q, len(queries))
	for i, q := range queries {
		query, ok := q.(Q)
		if !ok {
			return nil, false
		}
		ours[i] = query
	}
	outcomes, err := r.client.read(ctx, ours)
	if err != nil {
		return failed(queries, err), true
	}
	return outcomes, true
}

// Close closes all connections. Reads after it fail.
func (t *Table) Close() {
	for _, r := range t.readers {
		r.close()
	}
}

// Types are the names of all trigger types, as KEDA spells them.
func (t *Table) Types() []string {
	names := make([]string, len(t.kinds))
	for i, k := range t.kinds {
		names[i] = k.name
	}
	return names
}

// Keys describes the metadata of a trigger type; nil if there is no such type.
func (t *Table) Keys(triggerType string) []metadata.Key {
	for _, k := range t.kinds {
		if k.name == triggerType {
			return k.keys
		}
	}
	return nil
}

// Parse reads a trigger of one of the Types. It returns the name that KEDA gives its
// metric and how often such a source is read by default. What is wrong is reported
// to m, and the trigger is then not to be read.
func (t *Table) Parse(triggerType string, m *metadata.Map) (scaling.Trigger, string, time.Duration) {
	for _, k := range t.kinds {
		if k.name == triggerType {
			trigger, metric := k.parse(m, t.salt)
			trigger.Type = triggerType
			return trigger, metric, k.interval
		}
	}
	m.Conflict("%s: not a trigger type", triggerType)
	return scaling.Trigger{Type: triggerType}, triggerType, 0
}

// Read answers queries of one server, those of Redis in one round trip. It returns when
// the context or the table's timeout ends, at the latest. An error names the query it
// belongs to.
func (t *Table) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	if len(queries) == 0 {
		return nil
	}
	for _, r := range t.readers {
		if outcomes, known := r.read(ctx, queries); known {
			return outcomes
		}
	}
	return failed(queries, fmt.Errorf("query of type %T was not made by this table, or not all are of one server", queries[0]))
}

// failed gives every query the same error.
func failed(queries []scaling.Query, err error) []scaling.Outcome {
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		outcomes[i].Err = fmt.Errorf("%s: %w", q, err)
	}
	return outcomes
}
