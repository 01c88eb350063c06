package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Options configure an Observer.
type Options struct {
	// Patience is how long Observe waits for an object that it has not seen; 500 ms
	// if zero.
	Patience time.Duration
	// Native observes the HPAs that ask for a metric themselves, in a cluster that need
	// not have KEDA. Otherwise it is KEDA's objects and the HPAs that KEDA writes.
	Native bool
}

// Observer is the scaling.Observer over informers. It is safe for concurrent use.
type Observer struct {
	patience time.Duration
	native   bool
	// scaledObjects and scaledJobs are nil where the HPAs are native.
	scaledObjects *watch
	scaledJobs    *watch
	hpas          *watch
	crowds        crowds
	// workloads are the kinds of scale targets that are watched themselves. The
	// replicas of any other kind are in its HPA's status.
	workloads map[schema.GroupKind]*watch
	// wanted hands a watch to Run, each of them once. It has room for all.
	wanted  chan *watch
	changed bell
}

var _ scaling.Observer = (*Observer)(nil)

// New returns an observer that sees nothing until it runs.
func New(c Clients, options Options) (*Observer, error) {
	o := &Observer{patience: options.Patience, native: options.Native}
	if o.patience == 0 {
		o.patience = defaultPatience
	}
	var problems []error
	prepare := func(kind string, informer cache.SharedIndexInformer, convert func(any) any, handler cache.ResourceEventHandler) *watch {
		w, err := newWatch(kind, informer, convert, handler)
		problems = append(problems, err)
		return w
	}
	ring := func(any) { o.changed.ring() }

	core := informers.NewSharedInformerFactory(c.Kubernetes, 0)
	hpas := core.Autoscaling().V2().HorizontalPodAutoscalers().Informer()
	if o.native {
		o.hpas = prepare(kindHPA, hpas, converter(newNativeHPA), o.crowds.arrivals(o.noteNativeHPA))
		problems = append(problems, hpas.AddIndexers(cache.Indexers{byMetric: metricsOf, byTarget: targetsOf}))
	} else {
		version := schema.GroupVersion{Group: kedaGroup, Version: kedaVersion}
		keda := dynamicinformer.NewDynamicSharedInformerFactory(c.Dynamic, 0)
		o.scaledObjects = prepare(scaling.KindScaledObject, keda.ForResource(version.WithResource("scaledobjects")).Informer(), converter(newScaledObject), arrivals(o.noteScaledObject))
		o.scaledJobs = prepare(kindScaledJob, keda.ForResource(version.WithResource("scaledjobs")).Informer(), converter(newScaledJob), arrivals(ring))
		// Not only the HPAs that carry KEDA's label: KEDA lets the labels of a
		// ScaledObject, such as Helm's managed-by, replace its own.
		o.hpas = prepare(kindHPA, hpas, converter(newHPA), o.crowds.arrivals(ring))
		problems = append(problems, hpas.AddIndexers(cache.Indexers{byTarget: targetsOf}))
	}
	apps := core.Apps().V1()
	o.workloads = map[schema.GroupKind]*watch{
		{Group: appsv1.GroupName, Kind: "Deployment"}:  prepare("Deployment", apps.Deployments().Informer(), converter(newDeployment), arrivals(ring)),
		{Group: appsv1.GroupName, Kind: "StatefulSet"}: prepare("StatefulSet", apps.StatefulSets().Informer(), converter(newStatefulSet), arrivals(ring)),
		{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  prepare("ReplicaSet", apps.ReplicaSets().Informer(), converter(newReplicaSet), arrivals(ring)),
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("observe the cluster: %w", err)
	}
	o.wanted = make(chan *watch, 3+len(o.workloads))
	for _, w := range o.always() {
		o.want(w)
	}
	return o, nil
}

// always are the watches that run from the start.
func (o *Observer) always() []*watch {
	if o.native {
		return []*watch{o.hpas}
	}
	return []*watch{o.scaledObjects, o.scaledJobs, o.hpas}
}

// want has a watch run, if it does not yet.
func (o *Observer) want(w *watch) {
	if w.wanted.CompareAndSwap(false, true) {
		o.wanted <- w
	}
}

// wantKind has the kind that something scales watched, so that what nobody scales is
// not.
func (o *Observer) wantKind(kind schema.GroupKind) {
	if w, watched := o.workloads[kind]; watched {
		o.want(w)
	}
}

// Run watches until the context ends, and returns nil once every watch has ended.
// An API server that is away, or does not know KEDA's objects yet, is asked again
// for as long as it takes, at most every minute. Run may be called once.
func (o *Observer) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case w := <-o.wanted:
			running.Go(func() { w.run(ctx, o.changed.ring) })
		}
	}
}

// Ready returns nil once everything that is watched has been listed, and until
// then says what has not and why. It stays nil when the API server goes away
// later: what was last seen is then served on.
func (o *Observer) Ready() error {
	var missing []error
	check := func(w *watch) {
		if w.wanted.Load() && !w.isListed() {
			missing = append(missing, w.unlisted())
		}
	}
	for _, w := range o.always() {
		check(w)
	}
	for _, w := range o.workloads {
		check(w)
	}
	return errors.Join(missing...)
}

// Observe returns what the cluster shows of an object's workload and of the HPA that
// asks for the metric. The object is a ScaledObject or, with Options.Native, a
// StabilizedMetric, whose name is the metric's and whose workload is the one that the
// HPA scales. What has not been seen is waited for, as long as the patience and the
// context last; then the error wraps scaling.ErrUnobserved and names it. Several native
// HPAs that differ in what decides the metric's value are scaling.ErrAmbiguousTarget.
// The observation that comes with an error has its Target set if that is known, and
// nothing else but Native.
func (o *Observer) Observe(ctx context.Context, ref scaling.Ref, metric string) (scaling.Observation, error) {
	kind := scaling.KindScaledObject
	if o.native {
		kind = scaling.KindStabilizedMetric
	}
	if ref.Kind != kind {
		return scaling.Observation{}, fmt.Errorf("observe %s/%s: kind is %q, want %s", ref.Namespace, ref.Name, ref.Kind, kind)
	}
	obs, err := o.look(ref, metric)
	if !errors.Is(err, scaling.ErrUnobserved) {
		return obs, err
	}
	return await(ctx, o.patience, &o.changed, func() (scaling.Observation, error) { return o.look(ref, metric) })
}

// look is Observe without the waiting.
func (o *Observer) look(ref scaling.Ref, metric string) (scaling.Observation, error) {
	if o.native {
		return o.lookAtNative(ref.Namespace, metric)
	}
	return o.lookAtKEDA(ref, metric)
}

// replicasOf finds the replicas of a scale target. h is its HPA, which may be nil for a
// target of a kind that is watched itself.
func (o *Observer) replicasOf(namespace string, t target, h *hpa) (replicas, error) {
	if w, watched := o.workloads[t.GroupKind]; watched {
		found, ok := find[workload](w, namespace, t.name)
		if !ok {
			return replicas{}, w.unobserved(namespace, t.name)
		}
		return found.replicas, nil
	}
	if !h.known {
		return replicas{}, fmt.Errorf("replicas of %s: %w: %s %s/%s has not read them yet", t, scaling.ErrUnobserved, kindHPA, h.Namespace, h.Name)
	}
	return replicas{h.current, h.current, revisionOf(h)}, nil
}
