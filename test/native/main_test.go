//go:build e2e

// Package native_test runs the second door on real parts and without KEDA: the
// Kubernetes API server and HPA controller, Redis, and two replicas of the adapter
// behind one address.
//
// Scenarios run side by side, each in a namespace of its own with a Redis of its own
// for its queue. Their waiting is what they test, so they take minutes.
package native_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// crds is the path of the StabilizedMetric's definition.
const crds = "../../charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

// environment is what all scenarios share. There can be only one API of external
// metrics in a cluster, and so there is one pair of adapters.
type environment struct {
	cluster  *cluster.Cluster
	program  string // path of the adapter's binary
	adapters *cluster.Adapters
	state    *redistest.Server // the adapters' own
}

var env environment

func TestMain(m *testing.M) {
	scenario.Main(cluster.Options{WithoutKEDA: true}, []string{"adapter"}, func(ctx context.Context, c *cluster.Cluster, dir string) (int, error) {
		state, err := redistest.Launch() //nolint:contextcheck // a server's start is bounded by itself
		if err != nil {
			return 0, err
		}
		defer state.Close()
		env = environment{cluster: c, program: filepath.Join(dir, "adapter"), state: state}
		env.adapters, err = c.StartAdapters(ctx, cluster.AdapterOptions{
			Program: env.program, Replicas: 2, CRDs: crds, Args: []string{"--redis-url=" + state.URL()},
		})
		if err != nil {
			return 0, fmt.Errorf("start two adapters: %w", err)
		}
		return m.Run(), checkPermissions()
	})
}

// checkPermissions wants that the adapters were never refused anything: what they may
// do is what they need.
func checkPermissions() error {
	for i := range env.adapters.Count() {
		name := env.adapters.LogName(i)
		text, err := env.cluster.Logs(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, "forbidden") {
				return fmt.Errorf("%s lacks a permission: %s", name, line)
			}
		}
	}
	return nil
}

// TestSync2s runs the scenarios that need a quick HPA controller, TestSync15s those
// that claim Kubernetes' default. Each first sets the controller's period.
func TestSync2s(t *testing.T) {
	runAll(t, 2*time.Second, map[string]func(*testing.T){
		"0 to 8 to 0":                  testGlide,
		"a person scales to zero":      testZeroByHand,
		"the HPA forgets its zero":     testConditionLost,
		"percent-only HPA cannot wake": testCannotWake,
		"two targets on one metric":    testAmbiguousTarget,
		"unknown metric":               testUnknownMetric,
		"garbage beside a good metric": testGarbage,
		"JSON and protobuf":            testEncodings,
		"no data is an error":          testNoData,
		"status is written in time":    testStatusRate,
		"objects made again":           testObjectsMadeAgain,
		"examples apply":               testExamplesApply,
		"the Redis example runs":       testExampleRuns,
	})
}

// TestDisturbed runs the scenarios that ill-treat the adapters and their Redis, which
// everybody shares.
func TestDisturbed(t *testing.T) {
	runAll(t, 2*time.Second, map[string]func(*testing.T){
		"0 to 8 to 0, everything restarted":   testGlideDisturbed,
		"objects made again, adapters killed": testObjectsMadeAgainKilled,
	})
	t.Run("leader killed", testLeaderKilled)
	t.Run("HPA controller may not read", testForbidden)
}

func TestSync15s(t *testing.T) {
	runAll(t, 15*time.Second, map[string]func(*testing.T){
		"0 to 8 to 0":                        testGlide,
		"a person scales to zero":            testZeroByHand,
		"the HPA forgets its zero":           testConditionLost,
		"200 random HPAs land where decided": testLanding,
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
