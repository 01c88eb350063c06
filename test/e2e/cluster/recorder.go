package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// Step is a Deployment's spec.replicas from a moment on, until the next Step.
// The moment is when the harness saw it, some milliseconds after it happened.
type Step struct {
	At       time.Time
	Replicas int32
}

// History is a sequence of Steps; neighbours differ.
type History []Step

// String shows the counts with the seconds since the first: 0@0.0s 8@1.9s.
func (h History) String() string {
	words := make([]string, len(h))
	for i, step := range h {
		words[i] = fmt.Sprintf("%d@%.1fs", step.Replicas, step.At.Sub(h[0].At).Seconds())
	}
	return strings.Join(words, " ")
}

// Replicas are the counts alone.
func (h History) Replicas() []int32 {
	counts := make([]int32, len(h))
	for i, step := range h {
		counts[i] = step.Replicas
	}
	return counts
}

// Recorder writes down every change of a Deployment's spec.replicas.
type Recorder struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	mu      sync.Mutex
	history History
}

// Record starts a recorder; it has seen the present count when it returns.
func (c *Cluster) Record(ctx context.Context, namespace, name string) (*Recorder, error) {
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &Recorder{cancel: cancel, done: make(chan struct{})}
	seen := make(chan struct{})
	first := sync.OnceFunc(func() { close(seen) })
	go func() {
		defer close(r.done)
		r.err = c.watchReplicas(watching, namespace, name, func(step Step) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.history = append(r.history, step)
			first()
			return false
		})
	}()
	select {
	case <-seen:
		return r, nil
	case <-r.done:
		cancel()
		return nil, r.err
	case <-ctx.Done():
		cancel()
		return nil, fmt.Errorf("record the replicas of %s: %w", name, ctx.Err())
	}
}

// History returns what has been seen so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history)
}

// Stop ends the recorder and returns all it has seen. The error says when it
// had to stop earlier by itself.
func (r *Recorder) Stop() (History, error) {
	r.cancel()
	<-r.done
	if !errors.Is(r.err, context.Canceled) {
		return r.History(), r.err
	}
	return r.History(), nil
}

// WaitReplicas waits until a Deployment's spec.replicas is the wanted number,
// and returns when that was seen.
func (c *Cluster) WaitReplicas(ctx context.Context, namespace, name string, want int32) (time.Time, error) {
	var last Step
	err := c.watchReplicas(ctx, namespace, name, func(step Step) bool {
		last = step
		return step.Replicas == want
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("%s has %d replicas, not %d: %w", name, last.Replicas, want, err)
	}
	return last.At, nil
}

// watchReplicas calls visit with the present count and with every change,
// until visit returns true or the context ends.
func (c *Cluster) watchReplicas(ctx context.Context, namespace, name string, visit func(Step) bool) error {
	last := int32(-1)
	changed := func(deployment *appsv1.Deployment) bool {
		count := *deployment.Spec.Replicas
		if count == last {
			return false
		}
		last = count
		return visit(Step{At: time.Now(), Replicas: count})
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	// The API server ends watches now and then; the next begins with the
	// object's present state.
	for {
		watcher, err := c.Client.AppsV1().Deployments(namespace).Watch(ctx, options)
		if err != nil {
			return fmt.Errorf("watch the Deployment %s: %w", name, err)
		}
		for event := range watcher.ResultChan() {
			if deployment, ok := event.Object.(*appsv1.Deployment); ok && changed(deployment) {
				watcher.Stop()
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("watch the Deployment %s: %w", name, ctx.Err())
		}
	}
}
