package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// ports are those of the processes, all on loopback.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, kwok                     int
	operatorGRPC, operatorMetrics, operatorHealth, adapter, adapterMetrics int
}

func (c *Cluster) choosePorts(context.Context) error {
	p := &c.ports
	for _, port := range []*int{
		&p.etcd, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.kwok,
		&p.operatorGRPC, &p.operatorMetrics, &p.operatorHealth, &p.adapter, &p.adapterMetrics,
	} {
		var err error
		if *port, err = child.FreePort(); err != nil {
			return err
		}
	}
	return nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// connect makes the clients; nothing is sent yet.
func (c *Cluster) connect(context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	c.Config = config
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	c.Client = client
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	return nil
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	client, peer := "http://"+local(c.ports.etcd), "http://"+local(c.ports.etcdPeer)
	etcd, err := c.launch("etcd", c.Binaries.Etcd, []string{
		"--data-dir=" + filepath.Join(c.dir, "etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--unsafe-no-fsync",
	})
	if err != nil {
		return err
	}
	return etcd.await(ctx, c.healthy(client+"/health", "true"))
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	audit, err := c.auditArgs()
	if err != nil {
		return err
	}
	server, err := c.launch("kube-apiserver", c.Binaries.KubeAPIServer, append([]string{
		"--etcd-servers=http://" + local(c.ports.etcd),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.apiServer),
		// A loopback address cannot be advertised, and nothing here needs the
		// Endpoints of the kubernetes Service.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.pki("tls.crt"), "--tls-private-key-file=" + c.pki("tls.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--service-account-key-file=" + c.pki("service-accounts.key"),
		"--service-account-signing-key-file=" + c.pki("service-accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount",
		// Aggregation, through which servers of external metrics are reached.
		"--requestheader-client-ca-file=" + c.pki("ca.crt"),
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + c.pki("front-proxy.crt"),
		"--proxy-client-key-file=" + c.pki("front-proxy.key"),
	}, audit...))
	if err != nil {
		return err
	}
	return server.await(ctx, func(ctx context.Context) error {
		return c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// startControllerManager does not wait: KEDA can start at the same time.
func (c *Cluster) startControllerManager(context.Context) error {
	var err error
	c.controllerManager, err = c.launch("kube-controller-manager",
		c.Binaries.KubeControllerManager, c.controllerManagerArgs())
	return err
}

func (c *Cluster) controllerManagerArgs() []string {
	kubeconfig := c.controllerManagerKubeconfig()
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.controllerManager),
		"--tls-cert-file=" + c.pki("tls.crt"), "--tls-private-key-file=" + c.pki("tls.key"),
		"--service-account-private-key-file=" + c.pki("service-accounts.key"),
		"--root-ca-file=" + c.pki("ca.crt"),
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		// Nobody is a kubelet here: a node that misses its heartbeat because
		// the machine is busy must not make its pods unready.
		"--controllers=*,-node-lifecycle-controller",
		"--horizontal-pod-autoscaler-sync-period=" + c.options.HPASync.String(),
		// Hundreds of HPAs, and thousands of their pods, must not wait for each other.
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
}

func (c *Cluster) controllerManagerKubeconfig() string {
	return filepath.Join(c.dir, "controller-manager.kubeconfig")
}

// awaitControllerManager waits for the HPA controller itself: the process is
// healthy seconds before it has controllers.
func (c *Cluster) awaitControllerManager(ctx context.Context) error {
	url := "https://" + local(c.ports.controllerManager) + "/healthz?verbose"
	return c.controllerManager.await(ctx, c.healthy(url, "[+]horizontal-pod-autoscaler-controller ok"))
}

// healthy is a check for daemon.await: the URL answers with 200 and the text.
func (c *Cluster) healthy(url, text string) func(context.Context) error {
	roots := x509.NewCertPool()
	roots.AddCert(c.authority.cert)
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
	}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("check health: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("check health: %w", err)
		}
		defer response.Body.Close() //nolint:errcheck // only read
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), text) {
			return fmt.Errorf("check health: %s: %s", response.Status, body)
		}
		return nil
	}
}
