package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeName is the one node of the cluster. Pods name it themselves
// (spec.nodeName): there is no scheduler.
const NodeName = "kwok-node-0"

// startKwok starts the stand-in for kubelets, which makes the pods of its
// node Ready at once.
func (c *Cluster) startKwok(ctx context.Context) error {
	args := []string{
		"--kubeconfig=" + c.Kubeconfig(), "--manage-all-nodes=true",
		"--server-address=" + local(c.ports.kwok),
	}
	for _, stage := range c.Binaries.KwokStages {
		args = append(args, "--config="+stage)
	}
	kwok, err := c.launch("kwok", c.Binaries.Kwok, args)
	if err != nil {
		return err
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("10000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        NodeName,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{corev1.LabelHostname: NodeName},
		},
		Status: corev1.NodeStatus{Allocatable: capacity, Capacity: capacity},
	}
	if _, err := c.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the node: %w", err)
	}
	return kwok.await(ctx, c.nodeReady)
}

func (c *Cluster) nodeReady(ctx context.Context) error {
	node, err := c.Client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the node: %w", err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the node is not Ready")
}
