// Package cluster runs a real Kubernetes control plane, with KEDA or without, on
// one machine, as plain processes on loopback ports: etcd, kube-apiserver,
// kube-controller-manager with the real HPA controller, kwok in the place of
// kubelets, and KEDA's operator and metrics adapter. There are no containers;
// pods are objects that become Ready, which is all that scaling needs.
//
// Every process dies with the one that started the cluster, however it ends.
package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/dashpot-project/dashpot/test/e2e/binaries"
)

// startTimeout bounds the start of one process; a loaded machine with two
// cores needs a good part of it.
const startTimeout = 2 * time.Minute

// Options are what a scenario may choose.
type Options struct {
	// HPASync is how often the HPA controller looks: 2 s when it is zero.
	// Kubernetes' own default is 15 s.
	HPASync time.Duration
	// WithoutKEDA leaves KEDA out. The HPA controller then has nobody to ask for
	// external metrics, until StartAdapters.
	WithoutKEDA bool
	// Audit has the API server write down what service accounts ask it for, for
	// [Cluster.Requests].
	Audit bool
	// Dir receives logs and data and is kept. Without it a temporary
	// directory is used, which Stop removes.
	Dir string
	// Logf tells of progress; nil is silent.
	Logf binaries.Logf
}

// Cluster is a running control plane.
type Cluster struct {
	Binaries binaries.Set
	Config   *rest.Config // of an administrator, without client-side throttling
	Client   kubernetes.Interface
	Dynamic  dynamic.Interface

	options   Options
	dir       string
	ports     ports
	authority *authority
	mapper    *restmapper.DeferredDiscoveryRESTMapper

	mu      sync.Mutex
	daemons []*daemon // in the order of their start
	atStop  []func()

	controllerManager, kedaAdapter *daemon
}

// Start builds what has to be built, starts everything, and returns when the HPA
// controller runs and KEDA, if it is wanted, serves metrics to the API server.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.HPASync == 0 {
		options.HPASync = 2 * time.Second
	}
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	set, err := binaries.Ensure(ctx, options.Logf)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Binaries: set, options: options, dir: options.Dir}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "dashpot-cluster-"); err != nil {
			return nil, fmt.Errorf("make a directory for the cluster: %w", err)
		}
	}
	begin := time.Now()
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	options.Logf("control plane ready in %s", time.Since(begin).Round(100*time.Millisecond))
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	for _, dir := range []string{c.pki(""), c.logDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a directory for the cluster: %w", err)
		}
	}
	steps := []func(context.Context) error{
		c.choosePorts,
		c.writeCredentials,
		c.connect,
		c.startEtcd,
		c.startAPIServer,
		c.startKwok,
		c.startControllerManager,
	}
	if !c.options.WithoutKEDA {
		steps = append(steps, c.startKeda)
	}
	for _, step := range append(steps, c.awaitControllerManager) {
		if err := step(ctx); err != nil {
			return fmt.Errorf("start the cluster: %w", err)
		}
	}
	return nil
}

// Stop ends every process, scalers and adapters too. Nothing is shut down in an orderly
// way: the data is thrown away.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.daemons) - 1; i >= 0; i-- {
		c.daemons[i].kill()
	}
	for _, stop := range c.atStop {
		stop()
	}
	if c.options.Dir == "" {
		_ = os.RemoveAll(c.dir)
	}
}

// whenStopped lets Stop end what is no process.
func (c *Cluster) whenStopped(stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atStop = append(c.atStop, stop)
}

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "admin.kubeconfig") }

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.Binaries.Kubectl }

// ServingFiles are the paths of the certificate by which everything in the cluster is
// served, of its key, and of the authority.
func (c *Cluster) ServingFiles() (cert, key, authority string) {
	return c.pki("tls.crt"), c.pki("tls.key"), c.pki("ca.crt")
}

// LogDir is the directory of all logs.
func (c *Cluster) LogDir() string { return c.logDir() }

// Logs returns what a process has written: etcd, kube-apiserver,
// kube-controller-manager, kwok, keda-operator, keda-adapter, or what
// [Replicas.LogName] says.
func (c *Cluster) Logs(name string) (string, error) {
	content, err := os.ReadFile(c.logPath(name))
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", name, err)
	}
	return string(content), nil
}

// SetHPASync restarts the controller manager, and nothing else, with another
// period of the HPA controller.
func (c *Cluster) SetHPASync(ctx context.Context, period time.Duration) error {
	if period == c.options.HPASync {
		return nil
	}
	c.options.HPASync = period
	c.controllerManager.kill()
	c.controllerManager.args = c.controllerManagerArgs()
	if err := c.controllerManager.start(); err != nil {
		return err
	}
	return c.awaitControllerManager(ctx)
}

func (c *Cluster) logDir() string             { return filepath.Join(c.dir, "logs") }
func (c *Cluster) logPath(name string) string { return filepath.Join(c.logDir(), name+".log") }
func (c *Cluster) pki(file string) string     { return filepath.Join(c.dir, "pki", file) }
