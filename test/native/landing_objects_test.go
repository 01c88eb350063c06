//go:build e2e

package native_test

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// settle gives every landing its place: those with a quota a namespace each, because a
// quota is counted anew, from pods seen a moment ago, whenever a pod of its namespace goes.
func (w *workload) settle(list []landing) {
	w.T.Helper()
	for i, l := range list {
		list[i].place = w
		if l.quota == 0 {
			continue
		}
		namespace, err := env.cluster.CreateNamespace(w.T.Context(), l.name)
		if err != nil {
			w.T.Fatal(err)
		}
		within := *w.Workload
		within.Namespace = namespace
		list[i].place = &workload{&within}
		w.T.Cleanup(list[i].place.remove)
		list[i].place.manifest(quotaManifest, l.quota)
	}
	for _, l := range list {
		if l.quota > 0 {
			l.place.awaitQuota()
		}
	}
}

const quotaManifest = `
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods}
spec:
  hard: {pods: {{.}}}
`

func (w *workload) awaitQuota() {
	w.T.Helper()
	w.until(landingTime, func() string {
		quota, err := env.cluster.Client.CoreV1().ResourceQuotas(w.Namespace).Get(w.T.Context(), "pods", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if _, ok := quota.Status.Hard[corev1.ResourcePods]; !ok {
			return "the quota of " + w.Namespace + " is not in force"
		}
		return ""
	})
}

// createTarget creates the scale target; one that is to be asleep begins with one
// replica. Its pods are never bound to a node: the HPA counts them all the same.
func (w *workload) createTarget(l landing) {
	w.T.Helper()
	replicas, labels := max(1, l.before), map[string]string{"app": l.name}
	object := metav1.ObjectMeta{Name: l.name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "worker"}}},
	}
	apps, ctx, options := env.cluster.Client.AppsV1(), w.T.Context(), metav1.CreateOptions{}
	var err error
	switch l.kind {
	case "ReplicaSet":
		_, err = apps.ReplicaSets(w.Namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: object, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template},
		}, options)
	case "StatefulSet":
		_, err = apps.StatefulSets(w.Namespace).Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: object, Spec: appsv1.StatefulSetSpec{
				Replicas: &replicas, Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement,
			},
		}, options)
	default:
		_, err = apps.Deployments(w.Namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: object, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template},
		}, options)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// targetReplicas is what the scale target has: spec.replicas and status.replicas.
func (w *workload) targetReplicas(l landing) (spec, status int32) {
	w.T.Helper()
	kind := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(l.kind) + "s"}
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	scale, err := env.cluster.Dynamic.Resource(kind).Namespace(w.Namespace).Get(ctx, l.name, metav1.GetOptions{}, "scale")
	if err != nil {
		w.T.Fatal(err)
	}
	return int32(nested(scale.Object, "spec", "replicas")), int32(nested(scale.Object, "status", "replicas"))
}

// nested is a number in an object, 0 if it is not there, as the API server leaves out
// zeros.
func nested(object map[string]any, section, field string) int64 {
	inner, _ := object[section].(map[string]any)
	number, _ := inner[field].(int64)
	return number
}

// applyLanding applies the StabilizedMetric and the HPA of a landing.
func (w *workload) applyLanding(l landing) {
	w.T.Helper()
	w.manifest(landingManifest, map[string]any{
		"Name": l.name, "Kind": l.kind, "Address": w.Redis.Addr(), "PerReplica": l.perReplica, "Passes": l.passes, "Target": l.target,
		"Up": rules(l.up, l.opaque, "scaleUp"), "Down": rules(l.down, l.opaque, "scaleDown"),
	})
}

const landingManifest = `
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: {{.Name}}}
spec:
  interval: 1
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: {{.Name}}, listLength: "{{.PerReplica}}"}
  {{- if not .Passes}}
  cooldownPeriod: 0
  behavior:
    ` + jumpUp + `
    ` + jumpDown + `
  {{- end}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: {{.Kind}}, name: {{.Name}}}
  minReplicas: 0
  maxReplicas: 100
  metrics:
  - type: External
    external:
      metric: {name: {{.Name}}}
      target: {type: AverageValue, averageValue: "{{.Target}}"}
  behavior:
    {{.Up}}
    {{.Down}}
`
