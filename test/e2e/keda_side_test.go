//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// kedaSide is a namespace with ScaledObjects, and what KEDA makes of them.
type kedaSide struct {
	*testing.T

	namespace string
}

// kedaLimit is how long KEDA may take to come to anything, with a hundred objects at once
// and on a busy machine.
const kedaLimit = 5 * time.Minute

// newKedaSide makes a namespace, whose ScaledObjects go when the test ends.
func newKedaSide(t *testing.T, prefix string) kedaSide {
	t.Helper()
	namespace, err := env.cluster.CreateNamespace(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeScaledObjects(t, namespace) })
	return kedaSide{t, namespace}
}

// removeScaledObjects removes those of a namespace, so that they do not load the scenarios
// after it.
func removeScaledObjects(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(namespace).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Errorf("remove the ScaledObjects: %v", err)
	}
}

// applyScaled applies a Deployment and its ScaledObject.
func (k kedaSide) applyScaled(name string, environment []any, triggers ...map[string]any) {
	k.Helper()
	k.applyObject("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": 0, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec": map[string]any{
				"nodeName":   cluster.NodeName,
				"containers": []any{map[string]any{"name": "worker", "image": "worker", "env": environment}},
			},
		},
	}})
	k.applyObject("keda.sh/v1alpha1", "ScaledObject", name, map[string]any{"spec": map[string]any{
		"scaleTargetRef": map[string]any{"name": name}, "minReplicaCount": 0, "maxReplicaCount": 3,
		"pollingInterval": 10, "triggers": triggers,
	}})
}

func (k kedaSide) applyObject(version, kind, name string, content map[string]any) {
	k.Helper()
	content["apiVersion"], content["kind"], content["metadata"] = version, kind, map[string]any{"name": name}
	manifest, err := yaml.Marshal(content)
	if err != nil {
		k.Fatal(err)
	}
	if err := env.cluster.Apply(k.Context(), k.namespace, string(manifest)); err != nil {
		k.Fatal(err)
	}
}

// await asks for a metric until it is the wanted one three times in a row: before KEDA
// knows an object everything about it is an error.
func (k kedaSide) await(object, metric, want string) {
	k.Helper()
	got, times := "", 0
	for deadline := time.Now().Add(kedaLimit); times < 3 && time.Now().Before(deadline); time.Sleep(time.Second) {
		if !k.known(object) {
			continue
		}
		times++
		if got = k.metric(object, metric); got != want && (want != failure || !strings.HasPrefix(got, failure)) {
			times = 0
		}
	}
	if times < 3 {
		k.Errorf("%s of %s is %q, want %s\n%s", metric, object, got, want, k.explanation(object))
	}
}

// awaitActive waits until KEDA has found a ScaledObject active, or not, when it polled.
func (k kedaSide) awaitActive(object string, want bool) {
	k.Helper()
	wanted, got := metav1.ConditionFalse, metav1.ConditionStatus("")
	if want {
		wanted = metav1.ConditionTrue
	}
	for deadline := time.Now().Add(kedaLimit); time.Now().Before(deadline); time.Sleep(time.Second) {
		got = k.condition(object, "Active")
		rejected := got == metav1.ConditionUnknown && k.condition(object, "Ready") == metav1.ConditionFalse
		if got == wanted || !want && rejected { // KEDA polls nothing that it can make no scaler of
			return
		}
	}
	k.Errorf("the condition Active of %s is %q, want %s\n%s", object, got, wanted, k.explanation(object))
}

// condition is the status of a ScaledObject's condition; empty if it has none of the kind.
func (k kedaSide) condition(object, kind string) metav1.ConditionStatus {
	k.Helper()
	found, err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(k.namespace).Get(k.Context(), object, metav1.GetOptions{})
	if err != nil {
		k.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(found.Object, "status", "conditions")
	if err != nil {
		k.Fatal(err)
	}
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return metav1.ConditionStatus(status)
		}
	}
	return ""
}

// known reports whether KEDA has made up its mind about a ScaledObject: it has an HPA, or
// a condition that says why it has none.
func (k kedaSide) known(object string) bool {
	k.Helper()
	if k.hpa(object) != nil {
		return true
	}
	found, err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(k.namespace).Get(k.Context(), object, metav1.GetOptions{})
	if err != nil {
		k.Fatal(err)
	}
	text, err := json.Marshal(found.Object["status"])
	return err == nil && strings.Contains(string(text), "ScaledObjectCheckFailed")
}

// metric is the value that KEDA's adapter serves, or failure and why.
func (k kedaSide) metric(object, metric string) string {
	body, err := env.cluster.Client.Discovery().RESTClient().Get().
		AbsPath("/apis/external.metrics.k8s.io/v1beta1/namespaces", k.namespace, metric).
		Param("labelSelector", "scaledobject.keda.sh/name="+object).DoRaw(k.Context())
	if err != nil {
		return failure + ": " + err.Error() + string(body)
	}
	var list struct {
		Items []struct {
			Value resource.Quantity `json:"value"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Items) != 1 {
		return fmt.Sprintf("no metric: %s %v", body, err)
	}
	// KEDA writes 41.500, and 42 as 42.000.
	return resource.NewMilliQuantity(list.Items[0].Value.MilliValue(), resource.DecimalSI).String()
}

// hpa is the HPA that KEDA has made for a ScaledObject; nil if there is none.
func (k kedaSide) hpa(object string) *autoscalingv2.HorizontalPodAutoscaler {
	k.Helper()
	hpa, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(k.namespace).Get(k.Context(), "keda-hpa-"+object, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		k.Fatal(err)
	}
	return hpa
}

// external waits until KEDA has made up its mind about an object, and returns the name
// and the target of the metric that its HPA asks for; some other name, if it has no HPA.
func (k kedaSide) external(object string) (name, target string) {
	k.Helper()
	k.awaitKnown(object)
	hpa := k.hpa(object)
	if hpa == nil || len(hpa.Spec.Metrics) != 1 || hpa.Spec.Metrics[0].External == nil {
		return "s0-none", ""
	}
	m := hpa.Spec.Metrics[0].External
	return m.Metric.Name, m.Target.AverageValue.String()
}

// awaitKnown waits until KEDA has made up its mind about an object.
func (k kedaSide) awaitKnown(object string) {
	k.Helper()
	for deadline := time.Now().Add(kedaLimit); !k.known(object); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			k.Fatalf("KEDA has made up its mind about %s neither way", object)
		}
	}
}

// explanation is why Dashpot answers about an object as it does.
func (k kedaSide) explanation(object string) string {
	var text strings.Builder
	for i := range 2 {
		answer, err := scenario.Get(k.Context(), fmt.Sprintf("http://%s/v1/policies/%s/%s", env.pair.HTTPAddr(i), k.namespace, object))
		fmt.Fprintf(&text, "replica %d: %s %v\n", i, answer, err)
	}
	return text.String()
}

// awaitWords waits until one of the replicas explains an answer by some words.
func (k kedaSide) awaitWords(object, words string) {
	k.Helper()
	for deadline := time.Now().Add(kedaLimit); !strings.Contains(k.explanation(object), words); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			k.Fatalf("no replica explains %q:\n%s", words, k.explanation(object))
		}
	}
}
