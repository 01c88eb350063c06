package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is what is used of a scale target.
type workload struct {
	metav1.ObjectMeta
	replicas
}

// replicas are a scale target's spec.replicas and status.replicas.
type replicas struct{ spec, status int32 }

func newDeployment(d *appsv1.Deployment) *workload {
	return &workload{identity(d), replicas{valueOr(d.Spec.Replicas, 1), d.Status.Replicas}}
}

func newStatefulSet(s *appsv1.StatefulSet) *workload {
	return &workload{identity(s), replicas{valueOr(s.Spec.Replicas, 1), s.Status.Replicas}}
}

func newReplicaSet(r *appsv1.ReplicaSet) *workload {
	return &workload{identity(r), replicas{valueOr(r.Spec.Replicas, 1), r.Status.Replicas}}
}
