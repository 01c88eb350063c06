package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// selectorMemory is how long a selector that was read serves. It hardly ever changes: the
// API server lets no Deployment change its own.
const selectorMemory = time.Minute

// scales reads the selectors of scale targets of any kind that has a scale subresource.
type scales struct {
	dynamic dynamic.Interface
	// discovering has room for one: the mapper belongs to who has put a token in it.
	discovering chan struct{}
	mapper      meta.ResettableRESTMapper

	mu    sync.Mutex
	known map[string]knownSelector
}

type knownSelector struct {
	text string
	read time.Time
}

func newScales(c Clients) *scales {
	return &scales{
		dynamic: c.Dynamic, discovering: make(chan struct{}, 1), known: map[string]knownSelector{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Kubernetes.Discovery())),
	}
}

// selector is status.selector of the target's scale subresource. A target without one is an
// error that says what to do.
func (s *scales) selector(ctx context.Context, namespace string, t target) (string, error) {
	key := namespace + "/" + t.String()
	if text, ok := s.remembered(key); ok {
		return text, nil
	}
	resource, err := s.resource(ctx, t.GroupKind)
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", t, err)
	}
	scale, err := s.dynamic.Resource(resource).Namespace(namespace).Get(ctx, t.name, metav1.GetOptions{}, "scale")
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%s in %s does not exist, or has no scale subresource; set podSelector: %w", t, namespace, err)
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("grant Dashpot's service account get on %s/scale, or set podSelector: %w", resource.Resource, err)
	case err != nil:
		return "", fmt.Errorf("get the scale of %s in %s: %w", t, namespace, err)
	}
	text, _, err := unstructured.NestedString(scale.Object, "status", "selector")
	if err != nil || text == "" {
		return "", fmt.Errorf("the scale of %s in %s has no status.selector: give its CRD a labelSelectorPath, or set podSelector", t, namespace)
	}
	s.remember(key, text)
	return text, nil
}

func (s *scales) remembered(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[key]
	return known.text, ok && time.Since(known.read) < selectorMemory
}

func (s *scales) remember(key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.known, func(_ string, k knownSelector) bool { return now.Sub(k.read) >= selectorMemory })
	s.known[key] = knownSelector{text, now}
}

// resource finds the resource of a kind in the version that the API server prefers.
// Discovery takes no context, so that what outlasts this one goes on alone, and nobody
// starts another beside it.
func (s *scales) resource(ctx context.Context, kind schema.GroupKind) (schema.GroupVersionResource, error) {
	select {
	case s.discovering <- struct{}{}:
	case <-ctx.Done():
		return schema.GroupVersionResource{}, ctx.Err()
	}
	type answer struct {
		mapping *meta.RESTMapping
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		defer func() { <-s.discovering }()
		mapping, err := s.mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) { // it may have been installed since
			s.mapper.Reset()
			mapping, err = s.mapper.RESTMapping(kind)
		}
		answered <- answer{mapping, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil {
			return schema.GroupVersionResource{}, a.err
		}
		return a.mapping.Resource, nil
	case <-ctx.Done():
		return schema.GroupVersionResource{}, ctx.Err()
	}
}
