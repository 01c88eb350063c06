//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// workload is a Deployment, a ScaledObject of the same name, and a Redis with their
// queue.
type workload struct {
	*scenario.Workload

	pair *pair
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
	w := &workload{Workload: scenario.New(t, env.cluster, replicas), pair: p}
	w.Explain = w.explain
	t.Cleanup(func() { removeScaledObjects(t, w.Namespace) })
	return w
}

var scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// dashpot is a trigger of ours on a list of the workload's Redis.
func (w *workload) dashpot(list string, metadata map[string]string) trigger {
	all := map[string]string{
		"scalerAddress": w.pair.Target(), "source": "redis", "address": w.Redis.Addr(),
		"listName": list, "listLength": "5", "interval": "1",
	}
	for k, v := range metadata {
		all[k] = v
	}
	return trigger{"external-push", all}
}

// keda is KEDA's own trigger on the same list.
func (w *workload) keda(list string) trigger {
	return trigger{"redis", map[string]string{"address": w.Redis.Addr(), "listName": list, "listLength": "5"}}
}

// apply applies a ScaledObject.
func (w *workload) apply(o object) {
	w.T.Helper()
	spec := map[string]any{
		"scaleTargetRef":  map[string]any{"name": scenario.Worker},
		"minReplicaCount": o.min, "maxReplicaCount": o.max,
		"pollingInterval": o.polling, "cooldownPeriod": o.cooldown,
	}
	if o.behavior != "" {
		config := map[string]any{}
		if err := yaml.Unmarshal([]byte(o.behavior), &config); err != nil {
			w.T.Fatal(err)
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
		"metadata": map[string]any{"name": scenario.Worker}, "spec": spec,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	if err := env.cluster.Apply(w.T.Context(), w.Namespace, string(manifest)); err != nil {
		w.T.Fatal(err)
	}
}

// explain asks both replicas why, for the log of a failed scenario.
func (w *workload) explain() string {
	var b strings.Builder
	for i := range 2 {
		answer, err := scenario.Get(context.WithoutCancel(w.T.Context()), fmt.Sprintf("http://%s/v1/policies/%s/%s", w.pair.HTTPAddr(i), w.Namespace, scenario.Worker))
		fmt.Fprintf(&b, "replica %d: %s %v\n", i, answer, err)
	}
	return b.String()
}
