//go:build e2e

package native_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

var stabilizedMetrics = v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)

// jobs is the name of most metrics, and of their list.
const jobs = "jobs"

// workload is a Deployment, a queue, and what scales the one by the other.
type workload struct {
	*scenario.Workload
}

// newWorkload makes a Deployment with a number of replicas and an empty queue.
func newWorkload(t *testing.T, replicas int32) *workload {
	t.Helper()
	w := &workload{scenario.New(t, env.cluster, replicas)}
	w.Explain = w.explain
	t.Cleanup(w.remove)
	return w
}

// remove deletes what loads the scenarios after it.
func (w *workload) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	none, all := metav1.DeleteOptions{}, metav1.ListOptions{}
	if err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).DeleteCollection(ctx, none, all); err != nil {
		w.T.Errorf("remove the HPAs: %v", err)
	}
	if err := env.cluster.Dynamic.Resource(stabilizedMetrics).Namespace(w.Namespace).DeleteCollection(ctx, none, all); err != nil {
		w.T.Errorf("remove the StabilizedMetrics: %v", err)
	}
}

// jumpUp and noWindow let a policy go anywhere at once.
const (
	jumpUp   = `scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}`
	jumpDown = `scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}`
)

// metric is a StabilizedMetric on a list of the workload's Redis, 5 jobs per replica.
type metric struct {
	name     string
	cooldown int
	// up and down are the entries of its behavior.
	up, down string
}

// apply applies a StabilizedMetric.
func (w *workload) apply(m metric) {
	w.T.Helper()
	w.manifest(metricManifest, map[string]any{
		"Name": m.name, "Cooldown": m.cooldown, "Up": m.up, "Down": m.down, "Address": w.Redis.Addr(),
	})
}

const metricManifest = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: {{.Name}}}
spec:
  interval: 1
  cooldownPeriod: {{.Cooldown}}
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: {{.Name}}, listLength: "5"}
  behavior:
    {{.Up}}
    {{.Down}}
`

// hpa is a HorizontalPodAutoscaler of a Deployment.
type hpa struct {
	name, deployment, metric string
	// target is its averageValue.
	target string
	// behavior is its spec.behavior, as YAML.
	behavior string
}

// transparent is the HPA that passes counts of the metric jobs on untouched.
func transparent() hpa {
	return hpa{name: scenario.Worker, deployment: scenario.Worker, metric: jobs, target: "1", behavior: scaling.TransparentBehavior}
}

// scale applies an HPA with minReplicas 0 and maxReplicas 20.
func (w *workload) scale(h hpa) {
	w.T.Helper()
	w.manifest(hpaManifest, map[string]any{
		"Name": h.name, "Deployment": h.deployment, "Metric": h.metric, "Target": h.target,
		"Behavior": strings.ReplaceAll(h.behavior, "\n", "\n  "),
	})
}

const hpaManifest = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{.Deployment}}}
  minReplicas: 0
  maxReplicas: 20
  metrics:
  - type: External
    external:
      metric: {name: {{.Metric}}}
      target: {type: AverageValue, averageValue: "{{.Target}}"}
  {{.Behavior}}
`

// manifest applies what a template gives for data.
func (w *workload) manifest(text string, data any) {
	w.T.Helper()
	if err := env.cluster.ApplyTemplate(w.T.Context(), w.Namespace, text, data); err != nil {
		w.T.Fatal(err)
	}
}

// status reads the status of a StabilizedMetric.
func (w *workload) status(name string) v1alpha1.Status {
	w.T.Helper()
	object, err := env.cluster.Dynamic.Resource(stabilizedMetrics).Namespace(w.Namespace).Get(w.T.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	var m v1alpha1.StabilizedMetric
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m); err != nil {
		w.T.Fatal(err)
	}
	return m.Status
}

// statusLimit is how long a change of condition may take to show: what is not asked
// for is looked at every 15 s at the latest.
const statusLimit = 20 * time.Second

// awaitCondition waits until a StabilizedMetric has a condition that is true, with a
// reason and a text in its message.
func (w *workload) awaitCondition(name, kind, reason, text string) {
	w.T.Helper()
	w.until(statusLimit, func() string {
		status := w.status(name)
		found := slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool {
			return c.Type == kind && c.Reason == reason && c.Status == metav1.ConditionTrue && strings.Contains(c.Message, text)
		})
		if found {
			return ""
		}
		return fmt.Sprintf("the status of %s has no true %s/%s with %q:\n%s", name, kind, reason, text, conditions(status))
	})
}

// awaitNoCondition waits until a condition is gone or false.
func (w *workload) awaitNoCondition(name, kind string) {
	w.T.Helper()
	w.until(statusLimit, func() string {
		status := w.status(name)
		if slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool {
			return c.Type == kind && c.Status == metav1.ConditionTrue
		}) {
			return fmt.Sprintf("the status of %s still has %s:\n%s", name, kind, conditions(status))
		}
		return ""
	})
}

// awaitDecided waits until the status of a StabilizedMetric shows a decided count.
func (w *workload) awaitDecided(name string, replicas int32) {
	w.T.Helper()
	w.awaitDecidedWithin(statusLimit, name, replicas)
}

func (w *workload) awaitDecidedWithin(limit time.Duration, name string, replicas int32) {
	w.T.Helper()
	w.until(limit, func() string {
		last := w.status(name).LastDecision
		if last != nil && last.Replicas != nil && *last.Replicas == replicas {
			return ""
		}
		return fmt.Sprintf("the status of %s shows %+v, want %d replicas", name, last, replicas)
	})
}

// awaitEvent waits for an Event about a StabilizedMetric that contains a text.
func (w *workload) awaitEvent(name, text string) {
	w.T.Helper()
	w.until(statusLimit, func() string {
		events, err := env.cluster.Events(w.T.Context(), w.Namespace, v1alpha1.Kind, name)
		if err != nil {
			return err.Error()
		}
		if slices.ContainsFunc(events, func(e corev1.Event) bool { return strings.Contains(e.Message, text) }) {
			return ""
		}
		var seen strings.Builder
		for _, e := range events {
			fmt.Fprintf(&seen, "%s: %s\n", e.Reason, e.Message)
		}
		return fmt.Sprintf("no Event about %s with %q; seen:\n%s", name, text, seen.String())
	})
}

// hpaNow reads an HPA.
func (w *workload) hpaNow(name string) *autoscalingv2.HorizontalPodAutoscaler {
	w.T.Helper()
	h, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).Get(w.T.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return h
}

// awaitHPA waits until an HPA has a condition of a status, with a text in its message.
func (w *workload) awaitHPA(name string, kind autoscalingv2.HorizontalPodAutoscalerConditionType, is corev1.ConditionStatus, reason, text string) {
	w.T.Helper()
	w.until(time.Minute, func() string {
		h := w.hpaNow(name)
		for _, c := range h.Status.Conditions {
			if c.Type == kind && c.Status == is && c.Reason == reason && strings.Contains(c.Message, text) {
				return ""
			}
		}
		return fmt.Sprintf("HPA %s has no condition %s=%s/%s with %q: %+v", name, kind, is, reason, text, h.Status.Conditions)
	})
}

// until repeats a check until it has nothing to complain of.
func (w *workload) until(limit time.Duration, check func() string) {
	w.T.Helper()
	deadline := time.Now().Add(limit)
	complaint := check()
	for ; complaint != "" && time.Now().Before(deadline); complaint = check() {
		time.Sleep(200 * time.Millisecond)
	}
	if complaint != "" {
		w.T.Fatalf("after %v: %s", limit, complaint)
	}
}

func conditions(s v1alpha1.Status) string {
	var b strings.Builder
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "  %s=%s/%s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// explain asks everybody why, for the log of a failed scenario.
func (w *workload) explain() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.T.Context()), 10*time.Second)
	defer cancel()
	var b strings.Builder
	for i := range env.adapters.Count() {
		answer, err := scenario.Get(ctx, fmt.Sprintf("http://%s/v1/policies/%s/%s", env.adapters.HTTPAddr(i), w.Namespace, jobs))
		fmt.Fprintf(&b, "adapter %d: %s %v\n", i, answer, err)
	}
	list, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return b.String() + err.Error()
	}
	for _, h := range list.Items {
		fmt.Fprintf(&b, "HPA %s: %+v\n", h.Name, h.Status)
	}
	return b.String()
}

// decisions asks both adapters for their last decisions about a metric; one that has
// made none yet has none.
func (w *workload) decisions(name string) []scaling.Explanation {
	var list []scaling.Explanation
	for i := range env.adapters.Count() {
		list = append(list, decisionsOf(w.T, i, "/"+w.Namespace+"/"+name)...)
	}
	return list
}
