package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// refreshAfter is how long after they were got a metric's Secrets are got again, and
	// refreshJitter by what part of it that varies: 50 to 70 s. A thousand metrics then
	// make 17 requests a second, evenly.
	refreshAfter  = 50 * time.Second
	refreshJitter = 0.4
	// firstRetry and lastRetry are the waits after a Secret was not to be had.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
)

// PolicyParser makes policies of what a StabilizedMetric says: own are Dashpot's keys,
// triggers the metadata of each trigger and secrets the entries of its Secret, which no
// message may show. It always returns a policy.
type PolicyParser interface {
	ParseMetric(name string, own map[string]string, triggers, secrets []map[string]string) *scaling.Policy
}

// PoliciesOptions configure Policies.
type PoliciesOptions struct {
	// Patience is how long Metric waits for what it does not know yet; 500 ms if zero.
	Patience time.Duration
	// Lazy starts to watch with the first call of Metric: where nobody calls it, the
	// cluster need not know the kind.
	Lazy bool
}

// Policies are the StabilizedMetrics of the cluster and the policies made of them and of
// the Secrets they name. One goroutine makes the policies when something changes; who
// asks for one looks it up. It is safe for concurrent use.
type Policies struct {
	parser   PolicyParser
	client   kubernetes.Interface
	patience time.Duration
	objects  *watch
	// started is closed when the objects are wanted.
	started chan struct{}
	// queue has the objects that are to be read again. Run makes it.
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	// secrets are the entries that each object's Secrets had last. Only the goroutine
	// that makes the policies uses it.
	secrets map[cache.ObjectName]map[string]map[string][]byte
	// settled: every object of the first list has been read.
	settled atomic.Bool
	changed bell

	mu    sync.RWMutex
	known map[cache.ObjectName]known
}

// known is what is known of one object.
type known struct {
	// metric has no Policy while that cannot be made, which is why.
	metric scaling.Metric
	why    error
	// recipe is the digest of what the policy was made of, replaced its Replaced.
	recipe   [32]byte
	replaced chan struct{}
}

// NewPolicies returns policies that are unknown until it runs.
func NewPolicies(c Clients, parser PolicyParser, options PoliciesOptions) (*Policies, error) {
	p := &Policies{
		parser: parser, client: c.Kubernetes, patience: options.Patience,
		started: make(chan struct{}),
		secrets: map[cache.ObjectName]map[string]map[string][]byte{},
		known:   map[cache.ObjectName]known{},
	}
	if p.patience == 0 {
		p.patience = defaultPatience
	}
	informer := dynamicinformer.NewDynamicSharedInformerFactory(c.Dynamic, 0).ForResource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Informer()
	objects, err := newWatch(v1alpha1.Kind, informer, converter(newStabilizedMetric), cache.ResourceEventHandlerFuncs{
		AddFunc:    p.note,
		UpdateFunc: p.noteUpdate,
		DeleteFunc: p.note,
	})
	if err != nil {
		return nil, err
	}
	p.objects = objects
	if !options.Lazy {
		p.want()
	}
	return p, nil
}

func (p *Policies) want() {
	if w := &p.objects.wanted; !w.Load() && w.CompareAndSwap(false, true) {
		close(p.started)
	}
}

// note has an object read that has come or gone.
func (p *Policies) note(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		p.queue.Add(name)
	}
}

// noteUpdate has an object read if it is another than before in what is used of it.
func (p *Policies) noteUpdate(before, after any) {
	was, isMetric := before.(*stabilizedMetric)
	is, stillIsMetric := after.(*stabilizedMetric)
	if isMetric && stillIsMetric && was.same(is) {
		return
	}
	p.note(after)
}

// Run keeps the policies current until the context ends, and returns nil then. An API
// server that is away, or does not know the kind yet, is asked again for as long as it
// takes, at most every minute. Run may be called once.
func (p *Policies) Run(ctx context.Context) error {
	select {
	case <-p.started:
	case <-ctx.Done():
		return nil
	}
	p.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, lastRetry))
	var running sync.WaitGroup
	defer running.Wait()
	defer p.queue.ShutDown()
	running.Go(func() { p.objects.run(ctx, p.changed.ring) })
	running.Go(func() {
		for p.readNext(ctx) {
		}
	})
	<-ctx.Done()
	return nil
}

// readNext reads the next object of the queue. It returns false at the end.
func (p *Policies) readNext(ctx context.Context) bool {
	name, end := p.queue.Get()
	if end || ctx.Err() != nil {
		return false
	}
	defer p.queue.Done(name)
	switch p.read(ctx, name) {
	case nothingMissing:
		p.queue.Forget(name)
	case secretsGot:
		p.queue.Forget(name)
		p.queue.AddAfter(name, wait.Jitter(refreshAfter, refreshJitter))
	case secretsWanting:
		p.queue.AddRateLimited(name)
	}
	return true
}

// reading is how an attempt to read an object ended.
type reading int

const (
	// nothingMissing: it needs no Secret. secretsGot: it does, and they may change.
	// secretsWanting: one of them was not to be had.
	nothingMissing reading = iota
	secretsGot
	secretsWanting
)

// read makes the policy of one object as it is now.
func (p *Policies) read(ctx context.Context, name cache.ObjectName) reading {
	m, ok := find[stabilizedMetric](p.objects, name.Namespace, name.Name)
	if !ok {
		delete(p.secrets, name)
		p.drop(name)
		return nothingMissing
	}
	names := m.secretNames()
	if len(names) == 0 {
		delete(p.secrets, name)
		p.publish(name, m, recipeOf(m, secrets{}))
		return nothingMissing
	}
	found := getSecrets(ctx, p.client, m.Namespace, names, p.secrets[name])
	p.secrets[name] = found.entries
	if found.complete(names) {
		p.publish(name, m, recipeOf(m, found))
	} else {
		p.postpone(name, m, found.failed)
	}
	if found.failed != nil || len(found.missing) > 0 {
		return secretsWanting
	}
	return secretsGot
}

// publish makes the policy of a recipe known, unless it is the one that is known.
func (p *Policies) publish(name cache.ObjectName, m *stabilizedMetric, r recipe) {
	next := known{metric: metricOf(m), recipe: r.digest(), replaced: make(chan struct{})}
	last := p.last(name)
	if last.metric.Policy != nil && last.recipe == next.recipe && last.metric.UID == next.metric.UID {
		next.metric.Policy, next.replaced = last.metric.Policy, last.replaced
	} else {
		next.metric.Policy = r.policy(p.parser, m.Name)
	}
	next.metric.Replaced = next.replaced
	p.replace(name, &next)
}

// postpone notes why there is no policy for an object yet. One that was made of it before
// it changed stays.
func (p *Policies) postpone(name cache.ObjectName, m *stabilizedMetric, why error) {
	if last := p.last(name); last.metric.Policy == nil || last.metric.UID != string(m.UID) {
		p.replace(name, &known{metric: metricOf(m), why: why})
	}
}

// drop forgets an object that is gone.
func (p *Policies) drop(name cache.ObjectName) { p.replace(name, nil) }

func (p *Policies) last(name cache.ObjectName) known {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known[name]
}

// replace makes something known in place of what was, and tells those who wait for either.
func (p *Policies) replace(name cache.ObjectName, next *known) {
	p.mu.Lock()
	last := p.known[name]
	if next == nil {
		delete(p.known, name)
	} else {
		p.known[name] = *next
	}
	p.mu.Unlock()
	if last.replaced != nil && (next == nil || next.replaced != last.replaced) {
		close(last.replaced)
	}
	p.changed.ring()
}

// metricOf is an object's metric, still without a policy.
func metricOf(m *stabilizedMetric) scaling.Metric {
	return scaling.Metric{
		Ref: scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: m.Namespace, Name: m.Name},
		UID: string(m.UID), Generation: m.Generation, Labels: m.Labels,
	}
}

// Ready returns nil once every StabilizedMetric has been listed and read, or none is
// wanted, and until then says what has not and why. It stays nil when the API server
// goes away later: what was last seen is then served on.
func (p *Policies) Ready() error {
	switch {
	case !p.objects.wanted.Load(), p.settled.Load():
		return nil
	case !p.objects.isListed():
		return p.objects.unlisted()
	}
	all := p.objects.informer.GetStore().ListKeys()
	p.mu.RLock()
	read := len(p.known)
	p.mu.RUnlock()
	if read < len(all) {
		return fmt.Errorf("%d of %d %ss have been read", read, len(all), p.objects.kind)
	}
	p.settled.Store(true)
	return nil
}

// Metric returns the StabilizedMetric of a name and its policy, which is to be followed
// until Replaced is closed. The error wraps scaling.ErrNoSuchMetric if there is none. If
// that cannot be known yet, it is waited for, as long as the patience and the context
// last; then the error wraps scaling.ErrUnobserved and says why.
func (p *Policies) Metric(ctx context.Context, namespace, name string) (scaling.Metric, error) {
	p.want()
	wanted := cache.NewObjectName(namespace, name)
	m, err := p.look(wanted)
	if !errors.Is(err, scaling.ErrUnobserved) {
		return m, err
	}
	return await(ctx, p.patience, &p.changed, func() (scaling.Metric, error) { return p.look(wanted) })
}

// look is Metric without the waiting.
func (p *Policies) look(name cache.ObjectName) (scaling.Metric, error) {
	p.mu.RLock()
	found, ok := p.known[name]
	p.mu.RUnlock()
	switch {
	case ok && found.why != nil:
		return scaling.Metric{}, fmt.Errorf("%s %s: %w: %w", p.objects.kind, name, scaling.ErrUnobserved, found.why)
	case ok:
		return found.metric, nil
	case !p.objects.isListed():
		return scaling.Metric{}, p.objects.unobserved(name.Namespace, name.Name)
	}
	if _, exists := find[stabilizedMetric](p.objects, name.Namespace, name.Name); exists {
		return scaling.Metric{}, fmt.Errorf("%s %s: %w: it has not been read yet", p.objects.kind, name, scaling.ErrUnobserved)
	}
	return scaling.Metric{}, fmt.Errorf("%w: %s", scaling.ErrNoSuchMetric, name)
}

// Metrics returns all that are known and have a policy, valid or not, by namespace and
// name.
func (p *Policies) Metrics() []scaling.Metric {
	p.mu.RLock()
	all := make([]scaling.Metric, 0, len(p.known))
	for _, k := range p.known {
		if k.metric.Policy != nil {
			all = append(all, k.metric)
		}
	}
	p.mu.RUnlock()
	slices.SortFunc(all, func(a, b scaling.Metric) int {
		return cmp.Or(cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	return all
}

// Reference names a StabilizedMetric for an Event. Its UID is empty if it is not known.
func (p *Policies) Reference(ref scaling.Ref) corev1.ObjectReference {
	about := corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind,
		Namespace: ref.Namespace, Name: ref.Name,
	}
	if m, ok := find[stabilizedMetric](p.objects, ref.Namespace, ref.Name); ok {
		about.UID = m.UID
	}
	return about
}
