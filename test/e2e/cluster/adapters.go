package cluster

import (
	"context"
	"crypto/x509/pkix"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed adapter.yaml
var adapterManifests string

// The names of the adapter's installation: its namespace and Service, its Lease,
// the ClusterRole by which the HPA controller may read it, and the user that it is
// to the API server.
const (
	AdapterNamespace  = "dashpot"
	AdapterLease      = "dashpot-adapter"
	AdapterReaderRole = adapterService + "-reader"

	adapterService = "dashpot-adapter"
	adapterUser    = "dashpot-adapter"
)

// AdapterServerName is the name that the adapters' certificate is for, as the
// API server asks for it.
const AdapterServerName = adapterService + "." + AdapterNamespace + ".svc"

// AdapterOptions say how adapters are run.
type AdapterOptions struct {
	// Program is the path of cmd/adapter's binary.
	Program string
	// Replicas is how many are run.
	Replicas int
	// CRDs is the path of the custom resource definitions that they need.
	CRDs string
	// Group is the API group to serve; that of HPAs if it is empty, which is then taken
	// from KEDA's adapter in a cluster with KEDA.
	Group string
	// Args are added to the command line of each, such as --redis-url.
	Args []string
}

// Adapters are replicas of the external-metrics adapter, which the API server
// finds by the one address of their Service. They run with the permissions of
// adapter.yaml and no others.
type Adapters struct {
	*Replicas

	service *balancer
}

// StartAdapters installs what adapters need in the cluster, runs them until the
// cluster stops, and returns when the API server reaches their API.
func (c *Cluster) StartAdapters(ctx context.Context, o AdapterOptions) (*Adapters, error) {
	if o.Group == "" {
		o.Group = ExternalMetricsGroup
	}
	service, err := startBalancer()
	if err != nil {
		return nil, err
	}
	c.whenStopped(service.stop)
	api := metricsAPI{Group: o.Group, Namespace: AdapterNamespace, Service: adapterService, Port: service.port()}
	a := &Adapters{service: service}
	if a.Replicas, err = c.runAdapters(ctx, o, api, service); err != nil {
		service.stop()
		return nil, err
	}
	if err := a.daemons[0].await(ctx, c.registered(api)); err != nil {
		a.Stop()
		return nil, err
	}
	return a, nil
}

func (c *Cluster) runAdapters(ctx context.Context, o AdapterOptions, api metricsAPI, service *balancer) (*Replicas, error) {
	if err := c.register(ctx, api); err != nil {
		return nil, err
	}
	if err := c.installAdapter(ctx, o.CRDs); err != nil {
		return nil, err
	}
	return c.startReplicas(ctx, "adapter", o.Program, o.Replicas, service.set, func(_ int, addr, httpAddr string) []string {
		return append([]string{
			"--https-address=" + addr, "--http-address=" + httpAddr,
			"--tls-cert=" + c.pki("tls.crt"), "--tls-key=" + c.pki("tls.key"),
			"--kubeconfig=" + c.AdapterKubeconfig(), "--namespace=" + AdapterNamespace,
			"--api-group=" + o.Group,
		}, o.Args...)
	})
}

// HTTPSAddr is where replica i serves the metrics API. Its certificate is for
// [AdapterServerName].
func (a *Adapters) HTTPSAddr(i int) string { return a.addr(i) }

// Stop kills all replicas and ends their Service.
func (a *Adapters) Stop() {
	a.kill()
	a.service.stop()
}

// AdapterKubeconfig is the path of the adapters' kubeconfig. It is there once
// they were started.
func (c *Cluster) AdapterKubeconfig() string { return filepath.Join(c.dir, "adapter.kubeconfig") }

// installAdapter makes the adapter's resource, user and permissions.
func (c *Cluster) installAdapter(ctx context.Context, path string) error {
	crds, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the adapter's CRDs: %w", err)
	}
	if err := c.InstallCRDs(ctx, string(crds)); err != nil {
		return err
	}
	if err := c.writeKubeconfig(c.AdapterKubeconfig(), pkix.Name{CommonName: adapterUser}); err != nil {
		return err
	}
	return c.ApplyTemplate(ctx, "", adapterManifests, struct{ Namespace, User, Lease string }{
		AdapterNamespace, adapterUser, AdapterLease,
	})
}
