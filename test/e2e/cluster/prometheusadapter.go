package cluster

import (
	"context"
	"fmt"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// PrometheusAdapterOptions say how a prometheus-adapter is run.
type PrometheusAdapterOptions struct {
	// Program is the path of its binary.
	Program string
	// Prometheus is the URL of the server that it asks.
	Prometheus string
	// Config is the path of its rules.
	Config string
}

// StartPrometheusAdapter runs one until the cluster stops, and returns where it serves,
// with TLS and the cluster's authority. The API server is told nothing of it.
func (c *Cluster) StartPrometheusAdapter(ctx context.Context, o PrometheusAdapterOptions) (address string, err error) {
	port, err := child.FreePort()
	if err != nil {
		return "", err
	}
	kubeconfig := c.Kubeconfig()
	adapter, err := c.launch("prometheus-adapter", o.Program, []string{
		"--prometheus-url=" + o.Prometheus, "--config=" + o.Config, "--metrics-relist-interval=2s",
		"--lister-kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.pki("tls.crt"), "--tls-private-key-file=" + c.pki("tls.key"),
	})
	if err != nil {
		return "", err
	}
	return local(port), adapter.await(ctx, accepts(local(port)))
}
