//go:build e2e

// Package coexistence_test runs Dashpot's adapter in the one place where the HPA
// controller asks for external metrics, with KEDA's adapter and prometheus-adapter behind
// it as delegates: the Kubernetes API server and HPA controller, KEDA's operator and
// adapter, Prometheus and its adapter, Redis, two scalers and two adapters.
package coexistence_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/dashpot-project/dashpot/internal/prometest"
	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/binaries"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// crds is the path of the StabilizedMetric's definition.
const crds = "../../charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

// environment is what all scenarios share.
type environment struct {
	cluster  *cluster.Cluster
	scalers  *cluster.Scalers
	adapters *cluster.Adapters
	// front stands between the adapters and KEDA's.
	front *front
	// prometheus is the server that prometheus-adapter asks.
	prometheus *prometest.Server
	// token is a bearer token of one who may read external metrics.
	token string
}

var env environment

func TestMain(m *testing.M) {
	scenario.Main(cluster.Options{}, []string{"scaler", "adapter"}, func(ctx context.Context, c *cluster.Cluster, dir string) (int, error) {
		env.cluster = c
		state, err := redistest.Launch() //nolint:contextcheck // a server's start is bounded by itself
		if err != nil {
			return 0, err
		}
		defer state.Close()
		if err := errors.Join(startScalers(ctx, dir, state.URL()), startAdapters(ctx, dir, state.URL())); err != nil {
			return 0, err
		}
		defer env.front.stop()
		defer env.prometheus.Close()
		return m.Run(), nil
	})
}

func startScalers(ctx context.Context, dir, state string) (err error) {
	env.scalers, err = env.cluster.StartScalers(ctx, filepath.Join(dir, "scaler"), 2, func(_ int, grpcAddr, httpAddr string) []string {
		return []string{
			"--grpc-address=" + grpcAddr, "--http-address=" + httpAddr, "--redis-url=" + state,
			"--kubeconfig=" + env.cluster.Kubeconfig(), "--observe=on",
		}
	})
	return err
}

// startAdapters starts adapters in the place of KEDA's, which they ask for all that has
// KEDA's label in its selector, as KEDA's own HPAs do.
func startAdapters(ctx context.Context, dir, state string) (err error) {
	if env.token, err = readerToken(ctx); err != nil {
		return err
	}
	if env.front, err = startFront(ctx); err != nil {
		return err
	}
	behindPrometheus, err := startPrometheusAdapter(ctx, dir)
	if err != nil {
		return err
	}
	_, _, authority := env.cluster.ServingFiles()
	tokenFile, file := filepath.Join(dir, "token"), filepath.Join(dir, "delegates.yaml")
	delegates := fmt.Sprintf(`delegates:
- name: keda
  url: https://%s
  caFile: %s
  tokenFile: %s
  match:
    labels: [scaledobject.keda.sh/name]
- name: prometheus
  url: https://%s
  caFile: %s
  tokenFile: %s
  match:
    metrics: [shop_*]
`, env.front.address, authority, tokenFile, behindPrometheus, authority, tokenFile)
	err = errors.Join(os.WriteFile(tokenFile, []byte(env.token), 0o600), os.WriteFile(file, []byte(delegates), 0o600))
	if err != nil {
		return err
	}
	env.adapters, err = env.cluster.StartAdapters(ctx, cluster.AdapterOptions{
		Program: filepath.Join(dir, "adapter"), Replicas: 2, CRDs: crds,
		Args: []string{"--redis-url=" + state, "--delegates-file=" + file},
	})
	return err
}

// rules serve the series shop_orders as an external metric of every namespace.
const rules = `externalRules:
- seriesQuery: '{__name__="shop_orders"}'
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
  resources: {namespaced: false}
`

func startPrometheusAdapter(ctx context.Context, dir string) (address string, err error) {
	program, err := binaries.PrometheusAdapter(ctx, log.Printf)
	if err != nil {
		return "", err
	}
	if env.prometheus, err = prometest.Launch(); err != nil { //nolint:contextcheck // a server's start is bounded by itself
		return "", err
	}
	config := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		return "", err
	}
	return env.cluster.StartPrometheusAdapter(ctx, cluster.PrometheusAdapterOptions{
		Program: program, Prometheus: env.prometheus.URL(), Config: config,
	})
}
