package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// pod is what is used of a Pod: its name and labels, and what the algorithm looks at.
type pod struct {
	metav1.ObjectMeta
	seen algorithm.Pod
}

// measured are the resources that a reading can be of. Of all others, nothing is kept.
var measured = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func newPod(p *corev1.Pod) *pod {
	kept := &pod{ObjectMeta: identity(p)}
	kept.Labels = p.Labels
	kept.seen = algorithm.Pod{
		Name: p.Name, Phase: algorithm.PodPhase(p.Status.Phase), Deleting: p.DeletionTimestamp != nil,
		Requests: podRequests(&p.Spec),
	}
	if p.Status.StartTime != nil {
		kept.seen.HasStarted, kept.seen.Started = true, moment(*p.Status.StartTime)
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			kept.seen.Ready, kept.seen.ReadySince = algorithm.Status(c.Status), moment(c.LastTransitionTime)
		}
	}
	for i := range p.Spec.Containers {
		kept.seen.Containers = append(kept.seen.Containers, container(&p.Spec.Containers[i]))
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; staysOn(c) {
			kept.seen.Containers = append(kept.seen.Containers, container(c))
		}
	}
	return kept
}

// moment is a time on the clock of measurements, which counts from 1970. A time that is
// not set is its beginning, long before all others.
func moment(t metav1.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return time.Duration(t.UnixNano())
}

// staysOn: the init container is a sidecar, which runs for as long as the pod.
func staysOn(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func container(c *corev1.Container) algorithm.Container {
	kept := algorithm.Container{Name: c.Name, Requests: make(map[string]algorithm.Milli, len(measured))}
	for _, resource := range measured {
		if of, ok := milli(c.Resources.Requests, resource); ok {
			kept.Requests[string(resource)] = of
		}
	}
	return kept
}

// podRequests are those of the whole pod, nil if it sets none for all of its containers.
// What it does not set itself is what its containers request together.
//
// Source: component-helpers, resource.PodRequests.
func podRequests(spec *corev1.PodSpec) map[string]algorithm.Milli {
	if spec.Resources == nil || !setsForAll(spec.Resources.Requests) {
		return nil
	}
	requests := make(map[string]algorithm.Milli, len(measured))
	for _, resource := range measured {
		of, requested := milli(spec.Resources.Requests, resource)
		if !requested {
			of, requested = containersRequest(spec, resource)
		}
		overhead, also := milli(spec.Overhead, resource)
		if requested || also {
			requests[string(resource)] = of + overhead
		}
	}
	return requests
}

// setsForAll reports whether there is anything among a pod's own requests that Kubernetes
// takes from there.
func setsForAll(requests corev1.ResourceList) bool {
	for resource := range requests {
		if slices.Contains(measured[:], resource) || strings.HasPrefix(string(resource), corev1.ResourceHugePagesPrefix) {
			return true
		}
	}
	return false
}

// containersRequest is what a pod has to have for its containers: all together with the
// sidecars, or more while an init container runs beside the sidecars that were started
// before it. With 300m for the container, 100m for a sidecar and 500m for an init container
// after it, it is 600m.
func containersRequest(spec *corev1.PodSpec, resource corev1.ResourceName) (sum algorithm.Milli, requested bool) {
	for i := range spec.Containers {
		of, ok := milli(spec.Containers[i].Resources.Requests, resource)
		sum, requested = sum+of, requested || ok
	}
	var sidecars, peak algorithm.Milli
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		of, ok := milli(c.Resources.Requests, resource)
		requested = requested || ok
		peak = max(peak, sidecars+of)
		if staysOn(c) {
			sum, sidecars = sum+of, sidecars+of
		}
	}
	return max(sum, peak), requested
}

func milli(list corev1.ResourceList, resource corev1.ResourceName) (algorithm.Milli, bool) {
	of, ok := list[resource]
	return algorithm.Milli(of.MilliValue()), ok
}

// readingOf is what pods use of the metric's resource. A pod that has a container without
// a value has none itself, unless it is another container that is asked for.
//
// Source: metrics/client.go, getPodMetrics and getContainerMetrics.
func readingOf(m algorithm.Metric, pods []metricsv1beta1.PodMetrics) algorithm.Reading {
	reading := algorithm.Reading{Pods: make(map[string]algorithm.PodReading, len(pods))}
	for i := range pods {
		p := &pods[i]
		if used, ok := usage(p.Containers, m); ok {
			reading.Pods[p.Name] = algorithm.PodReading{Value: used, At: moment(p.Timestamp), Window: p.Window.Duration}
		}
	}
	return reading
}

func usage(containers []metricsv1beta1.ContainerMetrics, m algorithm.Metric) (sum algorithm.Milli, complete bool) {
	for i := range containers {
		c := &containers[i]
		if m.Container != "" && m.Container != c.Name {
			continue
		}
		used, ok := milli(c.Usage, corev1.ResourceName(m.Resource))
		if !ok {
			return 0, false
		}
		sum, complete = sum+used, true
	}
	return sum, complete
}
