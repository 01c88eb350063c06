package cluster

import (
	"strconv"

	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workload is what is used of a scale target.
type workload struct {
	metav1.ObjectMeta
	replicas

	// selector finds the workload's pods, written as in a query; empty if it finds none.
	selector string
}

// replicas are a scale target's spec.replicas and status.replicas, as of a revision of the
// API server's.
type replicas struct {
	spec, status int32
	revision     uint64
}

// revisionOf is an object's resource version, which is a number that only grows, over all
// objects of a cluster; 0 if it is something else.
func revisionOf(o metav1.Object) uint64 {
	revision, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

func newDeployment(d *appsv1.Deployment) *workload {
	return &workload{identity(d), replicas{valueOr(d.Spec.Replicas, 1), d.Status.Replicas, revisionOf(d)}, selectorText(d.Spec.Selector)}
}

func newStatefulSet(s *appsv1.StatefulSet) *workload {
	return &workload{identity(s), replicas{valueOr(s.Spec.Replicas, 1), s.Status.Replicas, revisionOf(s)}, selectorText(s.Spec.Selector)}
}

func newReplicaSet(r *appsv1.ReplicaSet) *workload {
	return &workload{identity(r), replicas{valueOr(r.Spec.Replicas, 1), r.Status.Replicas, revisionOf(r)}, selectorText(r.Spec.Selector)}
}

// selectorText is a selector as the scale subresource writes it. One that finds nothing,
// or everything, which the API server accepts of no workload, is empty.
func selectorText(s *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return ""
	}
	return parsed.String()
}

// selectorOf is the selector of a scale target's pods. watched is false of a kind that is
// not watched itself. What has not been seen is waited for, as in Observe.
func (o *Observer) selectorOf(ctx context.Context, namespace string, t target) (selector string, watched bool, err error) {
	w, watched := o.workloads[t.GroupKind]
	if !watched {
		return "", false, nil
	}
	o.want(w)
	found, err := await(ctx, o.patience, &o.changed, func() (*workload, error) {
		if found, ok := find[workload](w, namespace, t.name); ok {
			return found, nil
		}
		return nil, w.unobserved(namespace, t.name)
	})
	if err != nil {
		return "", true, err
	}
	if found.selector == "" {
		return "", true, fmt.Errorf("%s %s/%s has no spec.selector: set podSelector", w.kind, namespace, t.name)
	}
	return found.selector, true, nil
}

// parseTarget reads what target.String writes.
func parseTarget(text string) (target, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return target{}, fmt.Errorf("scale target %q: want group/Kind/name, as apps/Deployment/worker", text)
	}
	group := parts[0]
	if group == "core" {
		group = ""
	}
	return target{GroupKind: schema.GroupKind{Group: group, Kind: parts[1]}, name: parts[2]}, nil
}
