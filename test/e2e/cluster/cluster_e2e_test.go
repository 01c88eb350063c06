//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
)

// shared is the one cluster of this package's tests.
var shared *Cluster

func init() { runTests = runOnCluster }

func runOnCluster(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	shared, err = Start(ctx, Options{Logf: func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return m.Run()
}

// transparent is an HPA behaviour that follows its metric at once.
const transparent = `
    horizontalPodAutoscalerConfig:
      behavior:
        scaleUp:
          tolerance: "0"
          stabilizationWindowSeconds: 0
          policies: [{type: Pods, value: 100000, periodSeconds: 1}]
        scaleDown:
          tolerance: "0"
          stabilizationWindowSeconds: 0
          policies: [{type: Pods, value: 100000, periodSeconds: 1}]`

func scaledObject(trigger string) string {
	return `apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: workers
spec:
  scaleTargetRef: {name: workers}
  pollingInterval: 1
  cooldownPeriod: 2
  minReplicaCount: 0
  maxReplicaCount: 100
  advanced:` + transparent + `
  triggers:
` + trigger
}

// workers creates the Deployment of a test, records it, and applies the
// ScaledObject.
func workers(ctx context.Context, t *testing.T, trigger string) (namespace string, recorder *Recorder) {
	t.Helper()
	namespace, err := shared.CreateNamespace(ctx, "harness")
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.CreateDeployment(ctx, namespace, "workers", 0); err != nil {
		t.Fatal(err)
	}
	if recorder, err = shared.Record(ctx, namespace, "workers"); err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(ctx, namespace, scaledObject(trigger)); err != nil {
		t.Fatal(err)
	}
	return namespace, recorder
}

func TestKedaScalesOnRedis(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server := redistest.Start(t)
	namespace, recorder := workers(ctx, t, fmt.Sprintf(`  - type: redis
    metadata: {address: "%s", listName: jobs, listLength: "5"}
`, server.Addr()))
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	begin := time.Now()
	for range 37 {
		if err := client.RPush(ctx, "jobs", "job").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shared.WaitReplicas(ctx, namespace, "workers", 8); err != nil {
		t.Fatal(err)
	}
	t.Logf("8 replicas after %s", time.Since(begin))
	if err := client.Del(ctx, "jobs").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.WaitReplicas(ctx, namespace, "workers", 0); err != nil {
		t.Fatal(err)
	}
	history, err := recorder.Stop()
	if err != nil {
		t.Error(err)
	}
	t.Logf("replicas: %s", history)
	events, err := shared.Events(ctx, namespace, "ScaledObject", "workers")
	if err != nil || len(events) == 0 {
		t.Errorf("events: %v, %v", events, err)
	}
}

func TestSetHPASync(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, period := range []time.Duration{15 * time.Second, 2 * time.Second} {
		if err := shared.SetHPASync(ctx, period); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScalerReplicas proves that KEDA resolves the harness's name to every
// replica, and goes on with the one that is left.
func TestScalerReplicas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	scalers := startFakeScalers(ctx, t, shared)
	defer scalers.Stop()
	namespace, _ := workers(ctx, t, fmt.Sprintf(`  - type: external
    metadata: {scalerAddress: "%s"}
`, scalers.Target()))
	if _, err := shared.WaitReplicas(ctx, namespace, "workers", fakeScalerValue); err != nil {
		t.Fatal(err)
	}
	checkFaults(ctx, t, scalers)
}
