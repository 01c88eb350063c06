//go:build e2e

// Package resource_test runs the triggers cpu and memory on real parts: the Kubernetes API
// server and HPA controller, the adapter, and pods. What the pods use is told by a
// metrics.k8s.io of its own.
package resource_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// crds is the path of the StabilizedMetric's definition.
const crds = "../../charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

// env is what all scenarios share: there can be only one API of external metrics in a
// cluster, and one of resource metrics.
var env struct {
	cluster *cluster.Cluster
	usage   *usage
}

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, m)
	stop()
	if err != nil {
		log.Print(err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "dashpot-resource-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "adapter")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/dashpot-project/dashpot/cmd/adapter")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the adapter: %w\n%s", err, out)
	}
	env.cluster, err = cluster.Start(ctx, cluster.Options{WithoutKEDA: true, Logf: log.Printf, Dir: os.Getenv("E2E_DIR")})
	if err != nil {
		return 0, err
	}
	defer env.cluster.Stop()
	env.usage, err = serveUsage(ctx, env.cluster)
	if err != nil {
		return 0, err
	}
	defer env.usage.close()
	adapters, err := env.cluster.StartAdapters(ctx, cluster.AdapterOptions{Program: program, Replicas: 1, CRDs: crds})
	if err != nil {
		return 0, fmt.Errorf("start the adapter: %w", err)
	}
	defer adapters.Stop()
	return m.Run(), nil
}
