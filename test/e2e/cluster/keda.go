package cluster

import (
	"context"
	"fmt"
	"os"
)

// The names of KEDA's own installation.
const (
	kedaNamespace = "keda"
	kedaService   = "keda-metrics-apiserver"
)

// startKeda installs KEDA's objects and starts its operator and its metrics
// adapter, with the flags of KEDA's own Deployments where a process outside a
// pod has no reason to differ.
func (c *Cluster) startKeda(ctx context.Context) error {
	if err := c.installKeda(ctx); err != nil {
		return err
	}
	env := []string{
		"KUBECONFIG=" + c.Kubeconfig(),
		"WATCH_NAMESPACE=", // has to be there; empty is all namespaces
		"POD_NAMESPACE=" + kedaNamespace, "KEDA_CLUSTER_OBJECT_NAMESPACE=" + kedaNamespace,
	}
	grpc := local(c.ports.operatorGRPC)
	operator, err := c.launch("keda-operator", c.Binaries.KedaOperator, []string{
		"--cert-dir=" + c.pki(""), "--enable-cert-rotation=false", "--leader-elect=false",
		"--metrics-service-bind-address=" + grpc,
		"--metrics-bind-address=" + local(c.ports.operatorMetrics),
		"--health-probe-bind-address=" + local(c.ports.operatorHealth),
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--zap-log-level=info", "--zap-encoder=console", "--zap-time-encoding=rfc3339nano",
	}, env...)
	if err != nil {
		return err
	}
	kubeconfig := c.Kubeconfig()
	adapter, err := c.launch("keda-adapter", c.Binaries.KedaAdapter, []string{
		"--lister-kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.adapter),
		fmt.Sprintf("--port=%d", c.ports.adapterMetrics),
		"--cert-dir=" + c.pki(""),
		"--tls-cert-file=" + c.pki("tls.crt"), "--tls-private-key-file=" + c.pki("tls.key"),
		"--metrics-service-address=" + grpc, "--zap-log-level=info",
	}, env...)
	if err != nil {
		return err
	}
	if err := operator.await(ctx, c.healthy("http://"+local(c.ports.operatorHealth)+"/readyz", "ok")); err != nil {
		return err
	}
	if err := operator.await(ctx, accepts(grpc)); err != nil {
		return err
	}
	c.kedaAdapter = adapter
	return adapter.await(ctx, c.registered(c.kedaMetrics()))
}

// installKeda creates what KEDA's processes find in the API server. Without
// any one of the CRDs the operator ends.
func (c *Cluster) installKeda(ctx context.Context) error {
	crds, err := os.ReadFile(c.Binaries.KedaCRDs)
	if err != nil {
		return fmt.Errorf("read KEDA's CRDs: %w", err)
	}
	if err := c.InstallCRDs(ctx, string(crds)); err != nil {
		return err
	}
	return c.register(ctx, c.kedaMetrics())
}

func (c *Cluster) kedaMetrics() metricsAPI {
	return metricsAPI{Group: ExternalMetricsGroup, Namespace: kedaNamespace, Service: kedaService, Port: c.ports.adapter}
}

// KedaAdapter is KEDA's metrics adapter, for a test that ill-treats it.
type KedaAdapter struct {
	daemon *daemon
	// Address is where it serves metrics, with TLS and the cluster's authority.
	Address string
}

// KedaAdapter is the one that runs.
func (c *Cluster) KedaAdapter() KedaAdapter {
	return KedaAdapter{c.kedaAdapter, local(c.ports.adapter)}
}

// Kill ends it by SIGKILL.
func (a KedaAdapter) Kill() { a.daemon.kill() }

// Restart starts it again, and returns when it listens.
func (a KedaAdapter) Restart(ctx context.Context) error {
	a.daemon.kill()
	if err := a.daemon.start(); err != nil {
		return err
	}
	return a.daemon.await(ctx, accepts(a.Address))
}

// Suspend stops it without closing its connections.
func (a KedaAdapter) Suspend() error { return a.daemon.suspend() }

// Resume lets it go on.
func (a KedaAdapter) Resume() error { return a.daemon.resume() }
