//go:build e2e

// Package e2e runs Dashpot's main job on real parts: the Kubernetes API server and
// HPA controller, KEDA's operator and metrics adapter, Redis, and two replicas of the
// scaler that KEDA's round robin reaches.
//
// Scenarios run side by side, each in a namespace of its own with a Redis of its own
// for its queue. Their waiting is what they test, so they take minutes.
package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// environment is what all scenarios share.
type environment struct {
	cluster *cluster.Cluster
	usage   *podusage.Server
	scaler  string // path of the scaler's binary
	pair    *pair
}

// pair is two replicas of the scaler over one Redis.
type pair struct {
	*cluster.Scalers
	state *redistest.Server
}

var env environment

func TestMain(m *testing.M) {
	scenario.Main(cluster.Options{}, []string{"scaler"}, func(ctx context.Context, c *cluster.Cluster, dir string) (int, error) {
		usage, err := podusage.Serve(ctx, c)
		if err != nil {
			return 0, err
		}
		defer usage.Close()
		env = environment{cluster: c, usage: usage, scaler: filepath.Join(dir, "scaler")}
		if env.pair, err = startPair(ctx); err != nil {
			return 0, err
		}
		defer env.pair.stop()
		return m.Run(), nil
	})
}

// startPair starts a Redis for the shared state and two scaler replicas.
func startPair(ctx context.Context) (*pair, error) {
	state, err := redistest.Launch() //nolint:contextcheck // a server's start is bounded by itself
	if err != nil {
		return nil, err
	}
	p := &pair{state: state}
	p.Scalers, err = env.cluster.StartScalers(ctx, env.scaler, 2, func(_ int, grpcAddr, httpAddr string) []string {
		return []string{
			"--grpc-address=" + grpcAddr, "--http-address=" + httpAddr, "--redis-url=" + state.URL(),
			"--kubeconfig=" + env.cluster.Kubeconfig(), "--observe=on",
		}
	})
	if err != nil {
		state.Stop()
		return nil, fmt.Errorf("start two scalers: %w", err)
	}
	return p, nil
}

func (p *pair) stop() {
	p.Stop()
	p.state.Stop()
}

// ownPair is a pair for a scenario that ill-treats it.
func ownPair(t *testing.T) *pair {
	t.Helper()
	p, err := startPair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// killBoth kills both replicas at once and starts them again a second later.
func (p *pair) killBoth(t *testing.T) {
	t.Helper()
	p.Kill(0)
	p.Kill(1)
	time.Sleep(time.Second)
	for i := range 2 {
		if err := p.Restart(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSync2s runs the scenarios that need a quick HPA controller, TestSync15s those
// that claim Kubernetes' default. Each first sets the controller's period.
func TestSync2s(t *testing.T) {
	runAll(t, 2*time.Second, map[string]func(*testing.T){
		"exact count and both cooldowns":     testExactCount,
		"one pod per 15s":                    testOnePodPer15s,
		"one pod per 15s, replicas killed":   testOnePodPer15sKilled,
		"dip inside the window":              testDip,
		"dip inside the window, killed":      testDipKilled,
		"source hangs, polled every second":  testSourceHangs,
		"bad metadata at 0":                  testBadMetadataAtZero,
		"bad metadata at 4":                  testBadMetadataAtFour,
		"two triggers, listLength edited":    testTwoTriggersEdited,
		"pass-through and stabilised":        testModesSwitched,
		"new object over running pods":       testAdopted,
		"FLUSHALL wakes nothing":             testFlushAll,
		"objects made again":                 testObjectsMadeAgain,
		"objects made again, scalers killed": testObjectsMadeAgainKilled,
		"examples apply":                     testExamplesApply,
		"prometheus as KEDA's own":           testPrometheusAsKEDA,
		"two prometheus queries":             testTwoPromQueries,
		"metrics-api as KEDA's own":          testMetricsAPIAsKEDA,
		"cron as KEDA's own":                 testCronAsKEDA,
		"cpu and memory as KEDA's own":       testUsageAsKEDA,
		"planted secrets":                    testPlantedSecrets,
		"mutual TLS":                         testMutualTLS,
		"certificates rotate":                testRotation,
	})
	t.Run("push to replica 1", testLatency)
}

func TestSync15s(t *testing.T) {
	runAll(t, 15*time.Second, map[string]func(*testing.T){
		"one pod per 15s":            testOnePodPer15s,
		"source hangs":               testSourceHangs,
		"pass-through as KEDA's own": testPassThroughAsKEDA,
	})
}

func runAll(t *testing.T, sync time.Duration, scenarios map[string]func(*testing.T)) {
	if err := env.cluster.SetHPASync(t.Context(), sync); err != nil {
		t.Fatal(err)
	}
	hpaSync = sync
	scenario.Together(t, scenarios)
}

// hpaSync is the period of the HPA controller of the running scenarios.
var hpaSync time.Duration
