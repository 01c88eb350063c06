package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// stage is what all cells share: programs, and an API server in which each has a
// namespace of its own.
type stage struct {
	programs
	*cluster.Cluster

	dir string
}

// The Deployments of a cell: one that KEDA scales, one that an HPA scales by itself.
const (
	kedaWorker   = "worker"
	nativeWorker = "native"
	metricName   = "jobs"
)

// scalerCount is the number of scaler replicas; beside them runs one adapter.
const scalerCount = 2

// interval is that of the policies.
const interval = time.Second

// world is one cell's processes, ways and workloads.
type world struct {
	*stage

	dir       string
	namespace string
	begun     atomic.Pointer[time.Time] // nil until the client starts
	load      script
	stores    *stores
	source    *jobServer
	jobs      *link // the way to the source
	scalers   []*replica
	adapter   *replica
	worker    *moves
	native    *moves
	closers   []func()
}

// newWorld starts a cell. Its clock starts with the client.
func newWorld(ctx context.Context, s *stage, setup string, load script) (*world, error) {
	w := &world{stage: s, load: load, worker: &moves{}, native: &moves{}}
	if err := w.start(ctx, setup); err != nil {
		w.close() //nolint:contextcheck // it ends what was cancelled too
		return nil, err
	}
	return w, nil
}

func (w *world) start(ctx context.Context, setup string) error {
	var err error
	if w.dir, err = os.MkdirTemp(w.stage.dir, "cell-"); err != nil {
		return err
	}
	if w.namespace, err = w.CreateNamespace(ctx, "chaos"); err != nil {
		return err
	}
	w.source = newJobServer(w.load, w.now)
	w.closers = append(w.closers, w.source.close)
	if w.jobs, err = w.link(w.source.addr()); err != nil {
		return err
	}
	if w.stores, err = startStores(setup, w.dir, scalerCount+1); err != nil {
		return err
	}
	w.closers = append(w.closers, w.stores.close)
	if err := w.ApplyTemplate(ctx, w.namespace, manifests, map[string]any{
		"URL": w.url(nativeWorker), "Behavior": strings.ReplaceAll(behavior, "\n", "\n    "), "Max": maxReplicas,
		"Transparent": strings.ReplaceAll(scaling.TransparentBehavior, "\n", "\n  "),
	}); err != nil {
		return err
	}
	return w.startReplicas(ctx)
}

// link opens a link that is closed with the world.
func (w *world) link(to string) (*link, error) {
	l, err := newLink(to)
	if err == nil {
		w.closers = append(w.closers, l.close)
	}
	return l, err
}

func (w *world) startReplicas(ctx context.Context) error {
	started := make(chan error)
	for i := range scalerCount + 1 {
		r, err := w.newReplica(i)
		if err != nil {
			return err
		}
		w.closers = append(w.closers, r.kill)
		if i < scalerCount {
			w.scalers = append(w.scalers, r)
		} else {
			w.adapter = r
		}
		go func() { started <- r.start(ctx) }()
	}
	var problems []error
	for range scalerCount + 1 {
		problems = append(problems, <-started)
	}
	return errors.Join(problems...)
}

// newReplica prepares scaler i, or the adapter if i is the number of scalers.
func (w *world) newReplica(i int) (*replica, error) {
	r := &replica{name: fmt.Sprintf("scaler-%d", i), dir: w.dir, program: w.scaler}
	var ports [2]int
	for p := range ports {
		var err error
		if ports[p], err = child.FreePort(); err != nil {
			return nil, err
		}
	}
	r.addr = fmt.Sprintf("127.0.0.1:%d", ports[0])
	var err error
	if r.door, err = w.link(r.addr); err != nil {
		return nil, err
	}
	kubeconfig, err := w.kubeconfig(i, r)
	if err != nil {
		return nil, err
	}
	r.args = []string{
		fmt.Sprintf("--http-address=127.0.0.1:%d", ports[1]), "--redis-url=" + w.stores.url(i),
		"--kubeconfig=" + kubeconfig, "--log-level=debug", "--allow-address=127.0.0.0/8", // where the source is
	}
	if i < scalerCount {
		r.args = append(r.args, "--grpc-address="+r.addr, "--observe=on")
		return r, nil
	}
	cert, key, _ := w.ServingFiles()
	r.name, r.program = "adapter", w.stage.adapter
	r.args = append(r.args, "--https-address="+r.addr, "--tls-cert="+cert, "--tls-key="+key, "--namespace="+w.namespace)
	return r, nil
}

// kubeconfig writes the one of a replica, whose way to the API server can be disturbed.
func (w *world) kubeconfig(i int, r *replica) (string, error) {
	host := strings.TrimPrefix(w.Config.Host, "https://")
	var err error
	if r.kubernetes, err = w.link(host); err != nil {
		return "", err
	}
	content, err := os.ReadFile(w.Kubeconfig())
	if err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, fmt.Sprintf("kubeconfig-%d", i))
	return path, os.WriteFile(path, []byte(strings.ReplaceAll(string(content), host, r.kubernetes.addr)), 0o600)
}

// replicas are all processes of ours.
func (w *world) replicas() []*replica {
	return append(w.scalers[:len(w.scalers):len(w.scalers)], w.adapter)
}

// now is the time since the client started; 0 before that.
func (w *world) now() time.Duration {
	if begun := w.begun.Load(); begun != nil {
		return time.Since(*begun)
	}
	return 0
}

// url is where a workload's number is read.
func (w *world) url(workload string) string { return "http://" + w.jobs.addr + "/" + workload }

// close ends everything, in the reverse order.
func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
	if w.namespace != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = w.deleteNamespace(ctx) // the API server is thrown away anyway
	}
}
