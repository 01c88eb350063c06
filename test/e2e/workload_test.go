//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

const worker = "worker"

// workload is a Deployment called worker, a ScaledObject of the same name, and a
// Redis with their queue.
type workload struct {
	t         *testing.T
	namespace string
	pair      *pair
	redis     *redistest.Server
	client    *redis.Client
}

// object is the ScaledObject of a workload.
type object struct {
	min, max          int
	polling, cooldown int
	// behavior is the HPA's, as YAML; empty for the cluster's default.
	behavior string
	triggers []trigger
}

type trigger struct {
	kind     string
	metadata map[string]string
}

// transparent is the behavior of an HPA that passes counts on untouched.
var transparent = scaling.TransparentBehavior

// newWorkload makes a Deployment with a number of replicas and an empty queue.
func newWorkload(t *testing.T, p *pair, replicas int32) *workload {
	t.Helper()
	namespace, err := env.cluster.CreateNamespace(t.Context(), "scenario")
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{t: t, namespace: namespace, pair: p, redis: redistest.Start(t)}
	w.client = redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	t.Cleanup(func() { _ = w.client.Close() })
	if err := env.cluster.CreateDeployment(t.Context(), namespace, worker, replicas); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.remove)
	return w
}

var scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// remove deletes the ScaledObject, so that it does not load the scenarios after it.
func (w *workload) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(w.namespace).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		w.t.Errorf("remove the ScaledObjects: %v", err)
	}
}

// dashpot is a trigger of ours on a list of the workload's Redis.
func (w *workload) dashpot(list string, metadata map[string]string) trigger {
	all := map[string]string{
		"scalerAddress": w.pair.Target(), "source": "redis", "address": w.redis.Addr(),
		"listName": list, "listLength": "5", "interval": "1",
	}
	for k, v := range metadata {
		all[k] = v
	}
	return trigger{"external-push", all}
}

// keda is KEDA's own trigger on the same list.
func (w *workload) keda(list string) trigger {
	return trigger{"redis", map[string]string{"address": w.redis.Addr(), "listName": list, "listLength": "5"}}
}

// apply applies a ScaledObject.
func (w *workload) apply(o object) {
	w.t.Helper()
	spec := map[string]any{
		"scaleTargetRef":  map[string]any{"name": worker},
		"minReplicaCount": o.min, "maxReplicaCount": o.max,
		"pollingInterval": o.polling, "cooldownPeriod": o.cooldown,
	}
	if o.behavior != "" {
		config := map[string]any{}
		if err := yaml.Unmarshal([]byte(o.behavior), &config); err != nil {
			w.t.Fatal(err)
		}
		spec["advanced"] = map[string]any{"horizontalPodAutoscalerConfig": config}
	}
	var triggers []any
	for _, t := range o.triggers {
		triggers = append(triggers, map[string]any{"type": t.kind, "metadata": t.metadata})
	}
	spec["triggers"] = triggers
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"name": worker}, "spec": spec,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := env.cluster.Apply(w.t.Context(), w.namespace, string(manifest)); err != nil {
		w.t.Fatal(err)
	}
}

// queue makes a list exactly n long.
func (w *workload) queue(list string, n int) {
	w.t.Helper()
	jobs := make([]any, n)
	for i := range jobs {
		jobs[i] = "job-" + strconv.Itoa(i)
	}
	_, err := w.client.TxPipelined(w.t.Context(), func(p redis.Pipeliner) error {
		p.Del(w.t.Context(), list)
		if n > 0 {
			p.RPush(w.t.Context(), list, jobs...)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits until the Deployment has n replicas.
func (w *workload) await(n int32, limit time.Duration) time.Time {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	at, err := env.cluster.WaitReplicas(ctx, w.namespace, worker, n)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.explain())
	}
	return at
}

// record starts to write down the replica counts.
func (w *workload) record() *cluster.Recorder {
	w.t.Helper()
	r, err := env.cluster.Record(w.t.Context(), w.namespace, worker)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _, _ = r.Stop() })
	return r
}

// expect checks that the recorded counts are the wanted ones, in order. The recorder
// may be some milliseconds behind what the scenario has seen otherwise.
func (w *workload) expect(r *cluster.Recorder, want ...int32) cluster.History {
	w.t.Helper()
	history := r.History()
	for tries := 0; tries < 20 && len(history) < len(want); tries++ {
		time.Sleep(100 * time.Millisecond)
		history = r.History()
	}
	w.t.Logf("replicas: %s", history)
	if !slices.Equal(history.Replicas(), want) {
		w.t.Errorf("replicas went %s, want %v\n%s", history, want, w.explain())
	}
	return history
}

// steady waits, and checks that the count has not changed since the recorder began.
func (w *workload) steady(r *cluster.Recorder, n int32, d time.Duration) {
	w.t.Helper()
	select {
	case <-w.t.Context().Done():
	case <-time.After(d):
	}
	w.expect(r, n)
}

// explain asks both replicas why, for the log of a failed scenario.
func (w *workload) explain() string {
	var b strings.Builder
	for i := range 2 {
		answer, err := get(w.t.Context(), fmt.Sprintf("http://%s/v1/policies/%s/%s", w.pair.HTTPAddr(i), w.namespace, worker))
		fmt.Fprintf(&b, "replica %d: %s %v\n", i, answer, err)
	}
	return b.String()
}
