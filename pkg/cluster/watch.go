package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// watch is the informer of one kind, whose objects are plain structs.
type watch struct {
	// kind is the singular of the objects, for messages.
	kind     string
	informer cache.SharedIndexInformer
	// listed is done when every object of the first list has been told to the
	// handler.
	listed cache.DoneChecker
	// wanted: objects of the kind are used, so the informer is to run.
	wanted atomic.Bool
	// failure is why the API server last refused to list or watch.
	failure atomic.Pointer[error]
}

// newWatch prepares an informer. convert makes a plain struct of an API object;
// handler is told what comes, changes and goes, as convert made it.
func newWatch(kind string, informer cache.SharedIndexInformer, convert func(any) any, handler cache.ResourceEventHandler) (*watch, error) {
	w := &watch{kind: kind, informer: informer}
	transform := func(obj any) (any, error) { return convert(obj), nil }
	if err := informer.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	onError := func(_ context.Context, _ *cache.Reflector, err error) { w.failure.Store(&err) }
	if err := informer.SetWatchErrorHandlerWithContext(onError); err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	w.listed = registration.HasSyncedChecker()
	return w, nil
}

// arrivals is a handler that hands on what comes or changes.
func arrivals(changed func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
	}
}

// converter makes a transform of a function from API object to plain struct. The
// client passes objects that were streamed at the start through it twice, so what
// is converted already is left as it is.
func converter[A, T any](convert func(A) T) func(any) any {
	return func(obj any) any {
		if object, ok := obj.(A); ok {
			return convert(object)
		}
		return obj
	}
}

// run watches until the context ends. It calls listed when the first list is known.
func (w *watch) run(ctx context.Context, listed func()) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { w.informer.RunWithContext(ctx) })
	select {
	case <-w.listed.Done():
		listed()
	case <-ctx.Done():
	}
}

// find returns the struct of an object, false if none has been seen. Of a kind that is
// not watched, which is nil, none ever is.
func find[T any](w *watch, namespace, name string) (*T, bool) {
	if w == nil {
		return nil, false
	}
	obj, ok, err := w.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil, false
	}
	kept, ok := obj.(*T)
	return kept, ok
}

// isListed reports whether an object that is not found does not exist.
func (w *watch) isListed() bool {
	select {
	case <-w.listed.Done():
		return true
	default:
		return false
	}
}

// unlisted says why nothing is known of the kind yet.
func (w *watch) unlisted() error {
	failure := w.failure.Load()
	switch {
	case failure == nil:
		return fmt.Errorf("%ss are not listed yet", w.kind)
	case apierrors.IsNotFound(*failure):
		return fmt.Errorf("%ss are not listed yet, the cluster does not serve them (is what defines them installed?): %w", w.kind, *failure)
	}
	return fmt.Errorf("%ss are not listed yet: %w", w.kind, *failure)
}

// unobserved is the error for an object that has not been found.
func (w *watch) unobserved(namespace, name string) error {
	if w.isListed() {
		return fmt.Errorf("%s %s/%s: %w", w.kind, namespace, name, scaling.ErrUnobserved)
	}
	return fmt.Errorf("%s %s/%s: %w: %w", w.kind, namespace, name, scaling.ErrUnobserved, w.unlisted())
}
