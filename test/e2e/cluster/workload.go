package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// CreateNamespace creates a namespace for one scenario; its name begins with
// the prefix.
func (c *Cluster) CreateNamespace(ctx context.Context, prefix string) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	created, err := c.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return created.Name, nil
}

// CreateDeployment creates a Deployment whose pods become Ready at once and
// do nothing.
func (c *Cluster) CreateDeployment(ctx context.Context, namespace, name string, replicas int32) error {
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName:   NodeName,
					Containers: []corev1.Container{{Name: "worker", Image: "worker"}},
				},
			},
		},
	}
	if _, err := c.Client.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the Deployment %s: %w", name, err)
	}
	return nil
}

// SetReplicas scales a Deployment by hand.
func (c *Cluster) SetReplicas(ctx context.Context, namespace, name string, replicas int32) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": replicas}})
	if err != nil {
		return fmt.Errorf("scale the Deployment %s: %w", name, err)
	}
	_, err = c.Client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}, "scale")
	if err != nil {
		return fmt.Errorf("scale the Deployment %s: %w", name, err)
	}
	return nil
}

// Events returns the events of one object, the oldest first.
func (c *Cluster) Events(ctx context.Context, namespace, kind, name string) ([]corev1.Event, error) {
	selector := fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}
	list, err := c.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: selector.AsSelector().String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the events of %s %s: %w", kind, name, err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return list.Items, nil
}
