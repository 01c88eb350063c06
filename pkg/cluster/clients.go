package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Clients are the two ways in which this package talks to the API server.
type Clients struct {
	Kubernetes kubernetes.Interface
	// Dynamic reads KEDA's objects and StabilizedMetrics. KEDA's own Go types would
	// bring in controller-runtime and an expression language for the few fields used
	// here.
	Dynamic dynamic.Interface
}

// Connect makes the clients for a configuration. It does not talk to the server.
//
// Unless the configuration has a limit of requests per second of its own, there is none:
// the client's default of 5 would take 200 s to get the Secrets of 1,000
// StabilizedMetrics. Who asks much here asks one after the other, and the server has
// its priority and fairness.
func Connect(config *rest.Config) (Clients, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1
	}
	typed := rest.CopyConfig(config)
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return Clients{}, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return Clients{}, fmt.Errorf("client for custom objects on %s: %w", config.Host, err)
	}
	return Clients{Kubernetes: client, Dynamic: custom}, nil
}

// InstanceID identifies the cluster: the UID of its namespace kube-system, which
// lives as long as the cluster does.
func (c Clients) InstanceID(ctx context.Context) (string, error) {
	namespace, err := c.Kubernetes.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	if namespace.UID == "" {
		return "", fmt.Errorf("identify the cluster: namespace %s has no UID", metav1.NamespaceSystem)
	}
	return string(namespace.UID), nil
}
