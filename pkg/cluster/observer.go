package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Options configure an Observer.
type Options struct {
	// Patience is how long Observe waits for an object that it has not seen; 500 ms
	// if zero.
	Patience time.Duration
}

// Observer is the scaling.Observer over informers. It is safe for concurrent use.
type Observer struct {
	patience      time.Duration
	scaledObjects *watch
	scaledJobs    *watch
	hpas          *watch
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
	o := &Observer{patience: options.Patience}
	if o.patience == 0 {
		o.patience = 500 * time.Millisecond
	}
	var problems []error
	prepare := func(kind string, informer cache.SharedIndexInformer, convert func(any) any, changed func(any)) *watch {
		w, err := newWatch(kind, informer, convert, changed)
		problems = append(problems, err)
		return w
	}
	ring := func(any) { o.changed.ring() }

	version := schema.GroupVersion{Group: kedaGroup, Version: kedaVersion}
	keda := dynamicinformer.NewDynamicSharedInformerFactory(c.Dynamic, 0)
	o.scaledObjects = prepare(scaling.KindScaledObject, keda.ForResource(version.WithResource("scaledobjects")).Informer(), converter(newScaledObject), o.noteScaledObject)
	o.scaledJobs = prepare(kindScaledJob, keda.ForResource(version.WithResource("scaledjobs")).Informer(), converter(newScaledJob), ring)

	// Not only the HPAs that carry KEDA's label: KEDA lets the labels of a
	// ScaledObject, such as Helm's managed-by, replace its own.
	core := informers.NewSharedInformerFactory(c.Kubernetes, 0)
	o.hpas = prepare("HorizontalPodAutoscaler", core.Autoscaling().V2().HorizontalPodAutoscalers().Informer(), converter(newHPA), ring)

	apps := core.Apps().V1()
	o.workloads = map[schema.GroupKind]*watch{
		{Group: appsv1.GroupName, Kind: "Deployment"}:  prepare("Deployment", apps.Deployments().Informer(), converter(newDeployment), ring),
		{Group: appsv1.GroupName, Kind: "StatefulSet"}: prepare("StatefulSet", apps.StatefulSets().Informer(), converter(newStatefulSet), ring),
		{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  prepare("ReplicaSet", apps.ReplicaSets().Informer(), converter(newReplicaSet), ring),
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("observe the cluster: %w", err)
	}
	o.wanted = make(chan *watch, 3+len(o.workloads))
	o.want(o.scaledObjects)
	o.want(o.scaledJobs)
	o.want(o.hpas)
	return o, nil
}

// want has a watch run, if it does not yet.
func (o *Observer) want(w *watch) {
	if w.wanted.CompareAndSwap(false, true) {
		o.wanted <- w
	}
}

// noteScaledObject has the kind that a ScaledObject scales watched, so that what
// nobody scales is not.
func (o *Observer) noteScaledObject(obj any) {
	if so, ok := obj.(*scaledObject); ok {
		if w, watched := o.workloads[so.target.GroupKind]; watched {
			o.want(w)
		}
	}
	o.changed.ring()
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
			running.Go(func() { w.informer.RunWithContext(ctx) })
			running.Go(func() {
				select {
				case <-w.listed.Done():
					o.changed.ring()
				case <-ctx.Done():
				}
			})
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
	check(o.scaledObjects)
	check(o.scaledJobs)
	check(o.hpas)
	for _, w := range o.workloads {
		check(w)
	}
	return errors.Join(missing...)
}

// Observe returns what the cluster shows of a ScaledObject's workload and of the
// HPA that asks for the metric. What has not been seen is waited for, as long as
// the patience and the context last; then the error wraps scaling.ErrUnobserved
// and names it. The observation that comes with an error has its Target set if the
// ScaledObject at least is known, and nothing else.
func (o *Observer) Observe(ctx context.Context, ref scaling.Ref, metric string) (scaling.Observation, error) {
	if ref.Kind != scaling.KindScaledObject {
		return scaling.Observation{}, fmt.Errorf("observe %s/%s: kind is %q, want %s", ref.Namespace, ref.Name, ref.Kind, scaling.KindScaledObject)
	}
	obs, err := o.look(ref, metric)
	if !errors.Is(err, scaling.ErrUnobserved) {
		return obs, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	for {
		changed := o.changed.listen()
		obs, err = o.look(ref, metric)
		if !errors.Is(err, scaling.ErrUnobserved) {
			return obs, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return obs, err
		}
	}
}

// jobObservation is that of a ScaledJob, whose bounds are KEDA's own business.
var jobObservation = scaling.Observation{Job: true, Bounds: algorithm.Bounds{Min: 1, Max: math.MaxInt32}}

// look is Observe without the waiting.
func (o *Observer) look(ref scaling.Ref, metric string) (scaling.Observation, error) {
	so, ok := find[scaledObject](o.scaledObjects, ref.Namespace, ref.Name)
	if !ok {
		if _, isJob := find[scaledJob](o.scaledJobs, ref.Namespace, ref.Name); isJob && o.scaledObjects.isListed() {
			return jobObservation, nil
		}
		return scaling.Observation{}, o.scaledObjects.unobserved(ref.Namespace, ref.Name)
	}
	if so.problem != nil {
		return scaling.Observation{}, so.problem
	}
	known := scaling.Observation{Target: so.target.String()}
	// An HPA that does not exist is no reason to wait: KEDA writes it only after the
	// metric's name is known, and deletes it while it is paused.
	h, ok := find[hpa](o.hpas, so.Namespace, so.hpaName)
	if !ok && !o.hpas.isListed() {
		return known, o.hpas.unobserved(so.Namespace, so.hpaName)
	}
	counts, err := o.replicasOf(so, h)
	if err != nil {
		return known, err
	}
	return observation(so, h, counts, metric), nil
}

// replicasOf finds the replicas of a scale target; h is nil if there is no HPA.
func (o *Observer) replicasOf(so *scaledObject, h *hpa) (replicas, error) {
	w, watched := o.workloads[so.target.GroupKind]
	switch {
	case watched:
		found, ok := find[workload](w, so.Namespace, so.target.name)
		if !ok {
			return replicas{}, w.unobserved(so.Namespace, so.target.name)
		}
		return found.replicas, nil
	case h == nil:
		return replicas{}, fmt.Errorf("replicas of %s: %w", so.target, o.hpas.unobserved(so.Namespace, so.hpaName))
	case !h.known:
		return replicas{}, fmt.Errorf("replicas of %s: %w: HorizontalPodAutoscaler %s/%s has not read them yet", so.target, scaling.ErrUnobserved, h.Namespace, h.Name)
	}
	return replicas{h.current, h.current}, nil
}

// observation puts together what is seen; h is nil if there is no HPA.
func observation(so *scaledObject, h *hpa, counts replicas, metric string) scaling.Observation {
	obs := scaling.Observation{
		Target: so.target.String(),
		Spec:   counts.spec, Status: counts.status,
		Bounds: so.bounds, ToZero: so.toZero, Cooldown: so.cooldown,
	}
	if counts.spec == 0 {
		obs.ZeroReason = so.paused
	}
	trigger := -1
	if h != nil {
		m, asked := h.metric(metric)
		if asked {
			trigger = m.trigger
		}
		obs.HPA = h.observed(m)
		obs.ValueType = m.value
	}
	obs.ValueType = obs.ValueType || so.servesValue(trigger)
	return obs
}

// Reference names the object of a request for an Event: the ScaledObject, or the
// ScaledJob if it is one. Its UID is empty if the object has not been seen.
func (o *Observer) Reference(ref scaling.Ref) corev1.ObjectReference {
	about := corev1.ObjectReference{APIVersion: kedaGroup + "/" + kedaVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if so, ok := find[scaledObject](o.scaledObjects, ref.Namespace, ref.Name); ok {
		about.UID = so.UID
	} else if job, ok := find[scaledJob](o.scaledJobs, ref.Namespace, ref.Name); ok {
		about.Kind, about.UID = kindScaledJob, job.UID
	}
	return about
}
