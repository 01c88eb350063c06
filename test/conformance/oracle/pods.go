package oracle

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// SidecarPrefix begins the name of a container that Pod makes a restartable init
// container. The algorithm does not tell it from the others; Kubernetes keeps it in
// another list.
const SidecarPrefix = "sidecar"

// Pod is a pod as the API server has it. Its times count from epoch.
//
// Requests of a pod that has some at pod level are to name every resource that its
// containers name: Kubernetes would add the containers' own sum.
func Pod(p algorithm.Pod, epoch time.Time) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Status:     v1.PodStatus{Phase: v1.PodPhase(p.Phase)},
	}
	if p.Deleting {
		pod.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	if p.HasStarted {
		pod.Status.StartTime = &metav1.Time{Time: epoch.Add(p.Started)}
	}
	if p.Ready != "" {
		pod.Status.Conditions = []v1.PodCondition{{
			Type:               v1.PodReady,
			Status:             v1.ConditionStatus(p.Ready),
			LastTransitionTime: metav1.Time{Time: epoch.Add(p.ReadySince)},
		}}
	}
	for _, c := range p.Containers {
		addContainer(&pod.Spec, c)
	}
	if p.Requests != nil {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: resourceList(p.Requests)}
	}
	return pod
}

func addContainer(spec *v1.PodSpec, c algorithm.Container) {
	container := v1.Container{Name: c.Name, Resources: v1.ResourceRequirements{Requests: resourceList(c.Requests)}}
	if !strings.HasPrefix(c.Name, SidecarPrefix) {
		spec.Containers = append(spec.Containers, container)
		return
	}
	always := v1.ContainerRestartPolicyAlways
	container.RestartPolicy = &always
	spec.InitContainers = append(spec.InitContainers, container)
}

func resourceList(requests map[string]algorithm.Milli) v1.ResourceList {
	if requests == nil {
		return nil
	}
	list := make(v1.ResourceList, len(requests))
	for name, value := range requests {
		list[v1.ResourceName(name)] = *resource.NewMilliQuantity(int64(value), resource.DecimalSI)
	}
	return list
}
