//go:build e2e

// Package resource_test runs the triggers cpu and memory on real parts: the Kubernetes API
// server and HPA controller, the adapter, and pods. What the pods use is told by a
// metrics.k8s.io of its own.
package resource_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// crds is the path of the StabilizedMetric's definition.
const crds = "../../charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

// env is what all scenarios share: there can be only one API of external metrics in a
// cluster, and one of resource metrics.
var env struct {
	cluster *cluster.Cluster
	usage   *podusage.Server
}

func TestMain(m *testing.M) {
	scenario.Main(cluster.Options{WithoutKEDA: true}, []string{"adapter"}, func(ctx context.Context, c *cluster.Cluster, dir string) (int, error) {
		usage, err := podusage.Serve(ctx, c)
		if err != nil {
			return 0, err
		}
		defer usage.Close()
		env.cluster, env.usage = c, usage
		_, err = c.StartAdapters(ctx, cluster.AdapterOptions{Program: filepath.Join(dir, "adapter"), Replicas: 1, CRDs: crds})
		if err != nil {
			return 0, fmt.Errorf("start the adapter: %w", err)
		}
		return m.Run(), nil
	})
}
