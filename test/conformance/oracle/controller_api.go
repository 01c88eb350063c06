package oracle

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	informersv2 "k8s.io/client-go/informers/autoscaling/v2"
	informersv1 "k8s.io/client-go/informers/core/v1"
	clientv2 "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listersv2 "k8s.io/client-go/listers/autoscaling/v2"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
)

// The answers of an API server that refuses.
var (
	errNoScale = errors.New("the scale cannot be read")
	errRefused = errors.New("the write is refused")
)

// api is an API server with the few things that the controller reads and writes, and at
// the same time the controller's informers: it hears of a change at once. Unlike
// client-go's fake it writes a status without the spec. It has no lock: whoever sets up a
// reconcile and whoever looks at what it did waits until the controller is idle.
//
// The types below embed the interfaces that they stand for. What upstream's controller
// calls is implemented; anything else would panic.
type api struct {
	hpas   cache.Indexer
	pods   cache.Indexer
	scales map[string]*autoscalingv1.Scale
	// handler is that of the running process; nil while there is none.
	handler cache.ResourceEventHandler

	noScale, refuseScale, refuseStatus bool

	// arranged counts how often something was set up. The controller loads it first, which
	// tells the race detector of the order that the bubble's clock keeps.
	arranged atomic.Int64

	// reconciles are the moments at which the HPA under test was looked up, which
	// upstream does once in each reconcile.
	reconciles []time.Time
	// written is whether the scale was, status the last status that was sent.
	written bool
	status  *autoscalingv2.HorizontalPodAutoscalerStatus
}

func newAPI() *api {
	return &api{
		hpas: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		scales: map[string]*autoscalingv1.Scale{},
	}
}

func (a *api) hpa(name string) *autoscalingv2.HorizontalPodAutoscaler {
	object, found, err := a.hpas.GetByKey(hpaNamespace + "/" + name)
	if err != nil || !found {
		return nil
	}
	return object.(*autoscalingv2.HorizontalPodAutoscaler) //nolint:errcheck // the store has no others
}

// put creates or replaces an HPA, and tells the process.
func (a *api) put(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	old := a.hpa(hpa.Name)
	if err := a.hpas.Update(hpa); err != nil {
		return err
	}
	switch {
	case a.handler == nil:
	case old == nil:
		a.handler.OnAdd(hpa, false)
	default:
		a.handler.OnUpdate(old, hpa)
	}
	return nil
}

func (a *api) remove(name string) error {
	old := a.hpa(name)
	if old == nil {
		return nil
	}
	delete(a.scales, name)
	if a.handler != nil {
		defer a.handler.OnDelete(old)
	}
	return a.hpas.Delete(old)
}

// The HPAs.

type hpaClient struct {
	clientv2.HorizontalPodAutoscalerInterface
	*api
}

func (c hpaClient) HorizontalPodAutoscalers(string) clientv2.HorizontalPodAutoscalerInterface {
	return c
}

func (c hpaClient) UpdateStatus(_ context.Context, sent *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	if sent.Name == hpaName {
		c.status = &sent.Status
		if c.refuseStatus {
			return nil, errRefused
		}
	}
	kept := *c.hpa(sent.Name)
	kept.Status = sent.Status
	return &kept, c.put(&kept)
}

type hpaInformer struct {
	cache.SharedIndexInformer
	*api
}

func (i hpaInformer) Informer() cache.SharedIndexInformer { return i }
func (i hpaInformer) HasSynced() bool                     { return true }
func (i hpaInformer) GetStore() cache.Store               { return i.hpas }
func (i hpaInformer) Lister() listersv2.HorizontalPodAutoscalerLister {
	return hpaLister{api: i.api}
}

func (i hpaInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = handler
	return nil, nil
}

type hpaLister struct {
	listersv2.HorizontalPodAutoscalerLister
	*api
}

func (l hpaLister) HorizontalPodAutoscalers(namespace string) listersv2.HorizontalPodAutoscalerNamespaceLister {
	return namespaceLister{listersv2.NewHorizontalPodAutoscalerLister(l.hpas).HorizontalPodAutoscalers(namespace), l.api}
}

type namespaceLister struct {
	listersv2.HorizontalPodAutoscalerNamespaceLister
	*api
}

func (l namespaceLister) Get(asked string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	l.arranged.Load()
	if asked == hpaName {
		l.reconciles = append(l.reconciles, time.Now())
	}
	return l.HorizontalPodAutoscalerNamespaceLister.Get(asked)
}

// The scale target.

type scaleClient struct {
	scale.ScaleInterface
	*api
}

func (c scaleClient) Scales(string) scale.ScaleInterface { return c }

func (c scaleClient) Get(_ context.Context, _ schema.GroupResource, asked string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if asked == hpaName && c.noScale {
		return nil, errNoScale
	}
	return c.scales[asked].DeepCopy(), nil
}

func (c scaleClient) Update(_ context.Context, _ schema.GroupResource, sent *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	if sent.Name == hpaName {
		if c.refuseScale {
			return nil, errRefused
		}
		c.written = true
	}
	c.scales[sent.Name].Spec = sent.Spec
	return sent, nil
}

// The pods.

type podInformer struct {
	cache.SharedIndexInformer
	*api
}

func (i podInformer) Informer() cache.SharedIndexInformer { return i }
func (i podInformer) HasSynced() bool                     { return true }
func (i podInformer) Lister() listersv1.PodLister         { return listersv1.NewPodLister(i.pods) }

// eventClient holds on to the first event until the process has ended, so that upstream
// drops the others: comparing an event to those before it takes as long as a reconcile,
// and all of them go with a condition.
type eventClient struct {
	clientv1.EventInterface
	ended <-chan struct{}
}

func (c eventClient) Events(string) clientv1.EventInterface { return c }

func (c eventClient) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) {
	<-c.ended
	return event, nil
}

func (c eventClient) PatchWithEventNamespace(event *v1.Event, _ []byte) (*v1.Event, error) {
	return event, nil
}

// deployments maps the one kind of scale target there is.
type deployments struct{ meta.RESTMapper }

func (deployments) RESTMappings(gk schema.GroupKind, _ ...string) ([]*meta.RESTMapping, error) {
	resource := schema.GroupVersionResource{Group: gk.Group, Version: "v1", Resource: "deployments"}
	return []*meta.RESTMapping{{Resource: resource, GroupVersionKind: gk.WithVersion("v1"), Scope: meta.RESTScopeNamespace}}, nil
}

var (
	_ clientv2.HorizontalPodAutoscalersGetter     = hpaClient{}
	_ informersv2.HorizontalPodAutoscalerInformer = hpaInformer{}
	_ listersv2.HorizontalPodAutoscalerLister     = hpaLister{}
	_ scale.ScalesGetter                          = scaleClient{}
	_ informersv1.PodInformer                     = podInformer{}
	_ clientv1.EventsGetter                       = eventClient{}
)
