package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// podMetrics is the resource that metrics-server serves.
var podMetrics = metricsv1beta1.SchemeGroupVersion.WithResource("pods")

// PodsOptions configure Pods.
type PodsOptions struct {
	// Patience is how long Measure waits for a namespace whose pods it has not seen; 2 s
	// if zero.
	Patience time.Duration
	// Idle is after what time without a Measure the pods of a namespace are watched no
	// longer; 10 minutes if zero, twice the longest interval that a policy may have.
	Idle time.Duration
}

// Pods measures pods by metrics.k8s.io, which metrics-server serves. It watches the pods of
// those namespaces alone that it is asked about. It is safe for concurrent use.
type Pods struct {
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	observer *Observer
	scales   *scales
	patience time.Duration
	idle     time.Duration
	// wanted has a token while there is a namespace that Run has to watch.
	wanted  chan struct{}
	changed bell

	mu         sync.Mutex
	namespaces map[string]*podsOf
}

// podsOf are the pods of one namespace.
type podsOf struct {
	*watch

	used time.Time
	// stop ends the watch; nil before Run has started it.
	stop context.CancelFunc
}

// NewPods returns what measures nothing until it runs. The observer knows the scale
// targets.
func NewPods(c Clients, observer *Observer, options PodsOptions) *Pods {
	return &Pods{
		client: c.Kubernetes, dynamic: c.Dynamic, observer: observer, scales: newScales(c),
		patience: cmp.Or(options.Patience, 2*time.Second),
		idle:     cmp.Or(options.Idle, 10*time.Minute),
		wanted:   make(chan struct{}, 1), namespaces: map[string]*podsOf{},
	}
}

// Run watches until the context ends, and returns nil once every watch has ended. It may
// be called once.
func (p *Pods) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	tidy := time.NewTicker(p.idle / 4)
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wanted:
			p.startWanted(ctx, &running)
		case <-tidy.C:
			p.stopUnused()
		}
	}
}

func (p *Pods) startWanted(ctx context.Context, running *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.namespaces {
		if of.stop == nil {
			var watching context.Context
			watching, of.stop = context.WithCancel(ctx)
			running.Go(func() { of.run(watching, p.changed.ring) })
		}
	}
}

func (p *Pods) stopUnused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, of := range p.namespaces {
		if of.stop != nil && time.Since(of.used) >= p.idle {
			of.stop()
			delete(p.namespaces, namespace)
		}
	}
}

// want returns the watch of a namespace's pods, which Run starts if it does not run yet.
func (p *Pods) want(namespace string) (*watch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.namespaces[namespace]
	if !ok {
		factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(namespace))
		// Nobody waits for a pod, but for the first list.
		w, err := newWatch("Pod", factory.Core().V1().Pods().Informer(), converter(newPod), cache.ResourceEventHandlerFuncs{})
		if err != nil {
			return nil, err
		}
		of = &podsOf{watch: w}
		p.namespaces[namespace] = of
		select {
		case p.wanted <- struct{}{}:
		default: // Run starts all there are
		}
	}
	of.used = time.Now()
	return of.watch, nil
}

// Measure returns the pods that a label selector finds in the workload's namespace, or
// those of its scale target if the selector is empty, sorted by name, and what they use:
// one reading for each of the metrics, which are of cpu or memory. Times are on a clock that
// counts from 1970, and the workload's Scale is left empty. Selected pods that have no
// metrics are missing in a reading, and if none has any, the reading's error wraps
// algorithm.ErrNoData. Pods that have not been seen within the patience and the context are
// scaling.ErrUnobserved; none at all are no error.
func (p *Pods) Measure(ctx context.Context, of scaling.Scope, selector string, metrics []algorithm.Metric) (algorithm.Workload, []algorithm.Reading, error) {
	w, err := p.want(of.Namespace)
	if err != nil {
		return algorithm.Workload{}, nil, err
	}
	chosen, err := p.selector(ctx, of, selector)
	if err != nil {
		return algorithm.Workload{}, nil, err
	}
	// The usage first, as the HPA does: a pod that has come since is without one, and one
	// that has gone would be one too many.
	used, err := p.usage(ctx, of.Namespace, chosen)
	if err != nil {
		return algorithm.Workload{}, nil, err
	}
	pods, err := await(ctx, p.patience, &p.changed, func() ([]algorithm.Pod, error) { return selected(w, of.Namespace, chosen) })
	if err != nil {
		return algorithm.Workload{}, nil, err
	}
	readings := make([]algorithm.Reading, len(metrics))
	for i, m := range metrics {
		if len(used) == 0 {
			readings[i].Err = fmt.Errorf("%w: metrics.k8s.io has nothing of pods %s in %s yet: they may be too young, or metrics-server cannot reach their nodes",
				algorithm.ErrNoData, chosen, of.Namespace)
			continue
		}
		readings[i] = readingOf(m, used)
	}
	return algorithm.Workload{Pods: pods, Now: moment(metav1.Now())}, readings, nil
}

// selector is the one given, or that of the scale target.
func (p *Pods) selector(ctx context.Context, of scaling.Scope, given string) (labels.Selector, error) {
	if given == "" {
		t, err := parseTarget(of.Target)
		if err != nil {
			return nil, err
		}
		own, watched, err := p.observer.selectorOf(ctx, of.Namespace, t)
		if !watched {
			own, err = p.scales.selector(ctx, of.Namespace, t)
		}
		if err != nil {
			return nil, err
		}
		given = own
	}
	parsed, err := labels.Parse(given)
	if err != nil {
		return nil, fmt.Errorf("selector %q of the pods in %s: %w", given, of.Namespace, err)
	}
	return parsed, nil
}

// selected are the pods that a selector finds.
func selected(w *watch, namespace string, selector labels.Selector) ([]algorithm.Pod, error) {
	if !w.isListed() {
		return nil, fmt.Errorf("pods of %s: %w: %w", namespace, scaling.ErrUnobserved, w.unlisted())
	}
	var pods []algorithm.Pod
	for _, obj := range w.informer.GetStore().List() {
		if kept, ok := obj.(*pod); ok && selector.Matches(labels.Set(kept.Labels)) {
			pods = append(pods, kept.seen)
		}
	}
	slices.SortFunc(pods, func(a, b algorithm.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// usage asks metrics.k8s.io.
func (p *Pods) usage(ctx context.Context, namespace string, selector labels.Selector) ([]metricsv1beta1.PodMetrics, error) {
	list, err := p.dynamic.Resource(podMetrics).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("grant Dashpot's service account list on pods of metrics.k8s.io in %s: %w", namespace, err)
	case apierrors.IsNotFound(err), apierrors.IsServiceUnavailable(err):
		return nil, fmt.Errorf("metrics.k8s.io does not answer, is metrics-server installed and well? %w", err)
	case err != nil:
		return nil, fmt.Errorf("list the metrics of pods in %s: %w", namespace, err)
	}
	pods := make([]metricsv1beta1.PodMetrics, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pods[i]); err != nil {
			return nil, fmt.Errorf("read the metrics of pod %s/%s: %w", namespace, list.Items[i].GetName(), err)
		}
	}
	return pods, nil
}
