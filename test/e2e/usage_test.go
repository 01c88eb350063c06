//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
)

// usageCase is one trigger of what pods use, once as KEDA's own, which is a Resource metric
// of its HPA, and once as ours, which is an External one.
type usageCase struct {
	name, kind string
	// metricType stands beside KEDA's metadata and in ours.
	metricType string
	metadata   map[string]string
	// cron is another trigger's, if there is one.
	cron map[string]string
	// from is how many replicas there are at first; min is minReplicaCount.
	from, min int32
	// bare: the second container requests nothing.
	bare  bool
	steps []usageStep
	// differs is our last count where it is another one, because of reason.
	differs int32
	reason  string
	// says is in the error that Dashpot explains.
	says string
}

// usageStep is what the pods of both have to do, and how many replicas there are then.
type usageStep struct {
	podusage.Load
	want int32
}

// testUsageAsKEDA gives two Deployments the same to do, for every key of cpu and memory.
// One is scaled by KEDA's own trigger and one by ours. Both land on the same count, or the
// table says why not.
func testUsageAsKEDA(t *testing.T) {
	t.Run("cases", func(t *testing.T) {
		for _, c := range usageCases() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if (c.differs == 0) != (c.reason == "") {
					t.Fatalf("a difference has a reason, and nothing else has one: %d, %q", c.differs, c.reason)
				}
				w := &usageTwins{newKedaSide(t, "usage"), c}
				w.keepReadiness()
				w.run()
			})
		}
	})
}

// usageTwins is the Deployments and ScaledObjects theirs and ours of a case, in a namespace
// of their own.
type usageTwins struct {
	kedaSide
	usageCase
}

func (w *usageTwins) run() {
	for i, step := range w.steps {
		ours := step.want
		if w.differs > 0 && i == len(w.steps)-1 {
			ours = w.differs
		}
		for _, name := range []string{"theirs", "ours"} {
			env.usage.Set(w.namespace, name, step.Load)
		}
		if i == 0 {
			w.apply()
		}
		w.settle(step.want, ours)
		w.Logf("%+v: KEDA's has %d, ours %d", step.Load, step.want, ours)
	}
	if w.says != "" {
		w.awaitWords("ours", w.says)
	}
}

// apply applies both, and waits until KEDA knows what to make of them.
func (w *usageTwins) apply() {
	theirs := map[string]any{"type": w.kind, "metadata": w.metadata}
	ours := map[string]string{"interval": "2"}
	if w.metricType != "" {
		theirs["metricType"], ours["metricType"] = w.metricType, w.metricType
	}
	triggers := map[string][]any{"theirs": {theirs}, "ours": {externalTrigger(w.kind, merged(w.metadata, ours))}}
	if w.cron != nil {
		triggers["theirs"] = append(triggers["theirs"], map[string]any{"type": "cron", "metadata": w.cron})
		triggers["ours"] = append(triggers["ours"], externalTrigger("cron", w.cron))
	}
	for name, list := range triggers {
		w.applyDeployment(name)
		w.applyObject("keda.sh/v1alpha1", "ScaledObject", name, map[string]any{"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": name}, "minReplicaCount": w.min, "maxReplicaCount": 20,
			"pollingInterval": polling, "cooldownPeriod": kedaCooldown, "triggers": list,
			"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": jumps()}},
		}})
	}
	w.awaitKnown("theirs")
	w.awaitKnown("ours")
}

// jumps is a behavior that lets a count go anywhere at once, inside the default tolerance
// of 0.1.
func jumps() map[string]any {
	far := []any{map[string]any{"type": "Pods", "value": 1000, "periodSeconds": 1}}
	return map[string]any{
		"scaleUp":   map[string]any{"policies": far},
		"scaleDown": map[string]any{"stabilizationWindowSeconds": 0, "policies": far},
	}
}

// applyDeployment applies one whose pods have two containers that request 100m and 100Mi
// each.
func (w *usageTwins) applyDeployment(name string) {
	some := map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "100Mi"}}
	worker, sidecar := map[string]any{"name": "worker", "image": "worker", "resources": some}, map[string]any{"name": "log", "image": "log"}
	if !w.bare {
		sidecar["resources"] = some
	}
	w.applyObject("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": w.from, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec":     map[string]any{"nodeName": cluster.NodeName, "terminationGracePeriodSeconds": 0, "containers": []any{worker, sidecar}},
		},
	}})
}

// keepReadiness makes pods unready as the steps say.
func (w *usageTwins) keepReadiness() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	done := make(chan error, 1)
	go func() { done <- env.usage.KeepReadiness(ctx, w.namespace) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
}

// settle waits until the two have so many replicas, and keep them for longer than three
// looks of the HPA controller take.
func (w *usageTwins) settle(theirs, ours int32) {
	w.Helper()
	began, since := time.Now(), time.Now()
	for {
		gotTheirs, gotOurs := w.replicas("theirs"), w.replicas("ours")
		if gotTheirs != theirs || gotOurs != ours {
			since = time.Now()
		}
		if time.Since(since) >= 4*hpaSync {
			return
		}
		if time.Since(began) > kedaLimit {
			w.Fatalf("after %v KEDA's has %d replicas, want %d, and ours %d, want %d\n%s\n%s",
				kedaLimit, gotTheirs, theirs, gotOurs, ours, w.hpaConditions("theirs"), w.explanation("ours"))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// replicas is how many a Deployment is to have.
func (w *usageTwins) replicas(name string) int32 {
	w.Helper()
	d, err := env.cluster.Client.AppsV1().Deployments(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return *d.Spec.Replicas
}

// hpaConditions is what KEDA's HPA of an object says, for the log of a failed case.
func (w *usageTwins) hpaConditions(object string) string {
	if hpa := w.hpa(object); hpa != nil {
		return fmt.Sprintf("%+v", hpa.Status.Conditions)
	}
	return object + " has no HPA"
}
