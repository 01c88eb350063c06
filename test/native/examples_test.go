//go:build e2e

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testExamplesApply applies every example for native HPAs to the real API server.
func testExamplesApply(t *testing.T) {
	directories, err := filepath.Glob("../../examples/native-*")
	if err != nil || len(directories) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, directory := range directories {
		w := bareWorkload(t)
		for file, manifest := range example(t, directory) {
			if err := env.cluster.Apply(t.Context(), w.Namespace, manifest); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// bareWorkload is a workload whose Deployment and Redis come from elsewhere.
func bareWorkload(t *testing.T) *workload {
	t.Helper()
	namespace, err := env.cluster.CreateNamespace(t.Context(), "example")
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{&scenario.Workload{T: t, Cluster: env.cluster, Namespace: namespace}}
	w.Explain = w.explain
	t.Cleanup(w.remove)
	return w
}

// example returns the manifests of a directory by their files.
func example(t *testing.T, directory string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no example in %s: %v", directory, err)
	}
	manifests := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		manifests[file] = string(content)
	}
	return manifests
}

// hurried are the times of the Redis example, and shorter ones in their place.
var hurried = strings.NewReplacer(
	"cooldownPeriod: 300", "cooldownPeriod: 15",
	"stabilizationWindowSeconds: 120", "stabilizationWindowSeconds: 5",
	"periodSeconds: 60", "periodSeconds: 6",
)

// testExampleRuns runs the Redis example against a Redis that wants the password of
// its Secret, with shorter times.
func testExampleRuns(t *testing.T) {
	server := redistest.Start(t, redistest.WithArgs("--requirepass", "change-me"))
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Password: "change-me"})
	defer func() { _ = client.Close() }()
	w := bareWorkload(t)
	for file, manifest := range example(t, "../../examples/native-redis") {
		changed := strings.ReplaceAll(hurried.Replace(manifest), "redis.shop:6379", server.Addr())
		if strings.HasSuffix(file, "metric.yaml") && changed == manifest {
			t.Fatalf("the example is not the one that this test knows:\n%s", changed)
		}
		if err := env.cluster.Apply(t.Context(), w.Namespace, changed); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	r := w.Record()
	for range 37 {
		if err := client.RPush(t.Context(), "jobs", "job").Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.Await(8, time.Minute)
	w.Steady(r, 8*time.Second, 1, 8) // a policy's period: what was added within it may go at once
	if err := client.Del(t.Context(), "jobs").Err(); err != nil {
		t.Fatal(err)
	}
	w.Await(0, 2*time.Minute)
	w.Expect(r, 1, 8, 6, 4, 3, 2, 1, 0) // 25 % at a time
}
