package cluster

import (
	"context"
	"fmt"
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
// changed is told every object that comes or changes, as convert made it.
func newWatch(kind string, informer cache.SharedIndexInformer, convert func(any) any, changed func(any)) (*watch, error) {
	w := &watch{kind: kind, informer: informer}
	transform := func(obj any) (any, error) { return convert(obj), nil }
	if err := informer.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	onError := func(_ context.Context, _ *cache.Reflector, err error) { w.failure.Store(&err) }
	if err := informer.SetWatchErrorHandlerWithContext(onError); err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("informer of %ss: %w", kind, err)
	}
	w.listed = handler.HasSyncedChecker()
	return w, nil
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

// find returns the struct of an object, false if none has been seen.
func find[T any](w *watch, namespace, name string) (*T, bool) {
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
