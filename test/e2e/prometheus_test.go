//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testPrometheusAsKEDA asks KEDA's adapter for what KEDA's own prometheus trigger and ours
// report of one server's state, for every key of the type, and whether KEDA finds each
// active. They are equal, or the table says why not.
func testPrometheusAsKEDA(t *testing.T) {
	servers := startPromServers(t)
	namespace, err := env.cluster.CreateNamespace(t.Context(), "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeScaledObjects(t, namespace) })
	t.Run("cases", func(t *testing.T) {
		for _, c := range promCases(servers) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if (c.differs == "") != (c.reason == "") || c.differs == c.value {
					t.Fatalf("a difference has a reason, and nothing else has one: %q, %q", c.differs, c.reason)
				}
				p := &promPair{T: t, namespace: namespace, promCase: c}
				p.apply()
				p.check()
			})
		}
		t.Run("C28 e: two triggers", func(t *testing.T) {
			t.Parallel()
			testTwoPromTriggers(t, namespace, servers)
		})
	})
}

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

// promPair is the two ScaledObjects of a case, over two Deployments that sleep, because
// an error shows as such only at 0 replicas.
type promPair struct {
	*testing.T
	promCase

	namespace string
}

func (p *promPair) theirs() string { return p.name + "-theirs" }
func (p *promPair) ours() string   { return p.name + "-ours" }

// apply applies both.
func (p *promPair) apply() {
	p.Helper()
	var parameters []any
	environment, fromEnv := []any{}, map[string]string{}
	for key, value := range p.secret {
		parameters = append(parameters, map[string]any{"parameter": key, "name": p.name, "key": key})
		environment = append(environment, map[string]any{"name": "SECRET_" + strings.ToUpper(key), "value": value})
		fromEnv[key+"FromEnv"] = "SECRET_" + strings.ToUpper(key)
	}
	theirs := map[string]any{"type": "prometheus", "metadata": merged(p.metadata, p.keda)}
	if len(p.secret) > 0 {
		p.applyObject("v1", "Secret", p.name, map[string]any{"stringData": p.secret})
		p.applyObject("keda.sh/v1alpha1", "TriggerAuthentication", p.name, map[string]any{
			"spec": map[string]any{"secretTargetRef": parameters},
		})
		theirs["authenticationRef"] = map[string]any{"name": p.name}
	}
	p.applyScaled(p.theirs(), nil, theirs)
	p.applyScaled(p.ours(), environment, ourPrometheus(merged(p.metadata, p.promCase.ours, fromEnv)))
}

func ourPrometheus(metadata map[string]string) map[string]any {
	return map[string]any{"type": "external", "metadata": merged(metadata, map[string]string{
		"scalerAddress": env.pair.Target(), "source": "prometheus", "interval": "1",
	})}
}

func merged(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

// applyScaled applies a Deployment and its ScaledObject.
func (p *promPair) applyScaled(name string, environment []any, triggers ...map[string]any) {
	p.Helper()
	p.applyObject("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": 0, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec": map[string]any{
				"nodeName":   cluster.NodeName,
				"containers": []any{map[string]any{"name": "worker", "image": "worker", "env": environment}},
			},
		},
	}})
	p.applyObject("keda.sh/v1alpha1", "ScaledObject", name, map[string]any{"spec": map[string]any{
		"scaleTargetRef": map[string]any{"name": name}, "minReplicaCount": 0, "maxReplicaCount": 3,
		"pollingInterval": 10, "triggers": triggers,
	}})
}

func (p *promPair) applyObject(version, kind, name string, content map[string]any) {
	p.Helper()
	content["apiVersion"], content["kind"], content["metadata"] = version, kind, map[string]any{"name": name}
	manifest, err := yaml.Marshal(content)
	if err != nil {
		p.Fatal(err)
	}
	if err := env.cluster.Apply(p.Context(), p.namespace, string(manifest)); err != nil {
		p.Fatal(err)
	}
}

// check waits until both report what they should.
func (p *promPair) check() {
	p.Helper()
	want := p.value
	if p.differs != "" {
		want = p.differs
	}
	p.await(p.theirs(), "s0-prometheus", p.value)
	p.await(p.ours(), "s0-prometheus", want)
	p.awaitActive(p.theirs(), p.active(p.value))
	p.awaitActive(p.ours(), p.active(want))
	if p.says != "" {
		p.awaitExplanation(p.says)
	}
	if p.value != failure && want != failure {
		if theirs, ours := p.target(p.theirs()), p.target(p.ours()); theirs != ours {
			p.Errorf("the HPA of KEDA's has target %s, of ours %s", theirs, ours)
		}
	}
}

// await asks for a metric until it is the wanted one three times in a row: before KEDA
// knows an object everything about it is an error.
func (p *promPair) await(object, metric, want string) {
	p.Helper()
	got, times := "", 0
	for deadline := time.Now().Add(90 * time.Second); times < 3 && time.Now().Before(deadline); time.Sleep(time.Second) {
		if !p.known(object) {
			continue
		}
		times++
		if got = p.metric(object, metric); got != want && (want != failure || !strings.HasPrefix(got, failure)) {
			times = 0
		}
	}
	if times < 3 {
		p.Errorf("%s of %s is %q, want %s\n%s", metric, object, got, want, p.explanation())
	}
}

// awaitActive waits until KEDA has found a ScaledObject active, or not, when it polled.
func (p *promPair) awaitActive(object string, want bool) {
	p.Helper()
	wanted, got := metav1.ConditionFalse, metav1.ConditionStatus("")
	if want {
		wanted = metav1.ConditionTrue
	}
	for deadline := time.Now().Add(45 * time.Second); time.Now().Before(deadline); time.Sleep(time.Second) {
		got = p.condition(object, "Active")
		rejected := got == metav1.ConditionUnknown && p.condition(object, "Ready") == metav1.ConditionFalse
		if got == wanted || !want && rejected { // KEDA polls nothing that it can make no scaler of
			return
		}
	}
	p.Errorf("the condition Active of %s is %q, want %s\n%s", object, got, wanted, p.explanation())
}

// condition is the status of a ScaledObject's condition; empty if it has none of the kind.
func (p *promPair) condition(object, kind string) metav1.ConditionStatus {
	p.Helper()
	found, err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(p.namespace).Get(p.Context(), object, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(found.Object, "status", "conditions")
	if err != nil {
		p.Fatal(err)
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
func (p *promPair) known(object string) bool {
	p.Helper()
	_, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(p.namespace).Get(p.Context(), "keda-hpa-"+object, metav1.GetOptions{})
	if err == nil {
		return true
	}
	if !apierrors.IsNotFound(err) {
		p.Fatal(err)
	}
	found, err := env.cluster.Dynamic.Resource(scaledObjects).Namespace(p.namespace).Get(p.Context(), object, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	text, err := json.Marshal(found.Object["status"])
	return err == nil && strings.Contains(string(text), "ScaledObjectCheckFailed")
}

// metric is the value that KEDA's adapter serves, or failure and why.
func (p *promPair) metric(object, metric string) string {
	body, err := env.cluster.Client.Discovery().RESTClient().Get().
		AbsPath("/apis/external.metrics.k8s.io/v1beta1/namespaces", p.namespace, metric).
		Param("labelSelector", "scaledobject.keda.sh/name="+object).DoRaw(p.Context())
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

// target is the HPA's target for its first metric.
func (p *promPair) target(object string) string {
	p.Helper()
	hpa, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(p.namespace).Get(p.Context(), "keda-hpa-"+object, metav1.GetOptions{})
	if err != nil || len(hpa.Spec.Metrics) != 1 || hpa.Spec.Metrics[0].External == nil {
		p.Fatalf("the HPA of %s: %v, %v", object, hpa.Spec.Metrics, err)
	}
	return hpa.Spec.Metrics[0].External.Target.AverageValue.String()
}

// awaitExplanation waits until one of the replicas has the reason for the error.
func (p *promPair) awaitExplanation(reason string) {
	p.Helper()
	for range 20 {
		if strings.Contains(p.explanation(), reason) {
			return
		}
		p.metric(p.ours(), "s0-prometheus")
		time.Sleep(time.Second)
	}
	p.Errorf("no replica explains %q:\n%s", reason, p.explanation())
}

func (p *promPair) explanation() string {
	var text strings.Builder
	for i := range 2 {
		answer, err := scenario.Get(p.Context(), fmt.Sprintf("http://%s/v1/policies/%s/%s", env.pair.HTTPAddr(i), p.namespace, p.ours()))
		fmt.Fprintf(&text, "replica %d: %s %v\n", i, answer, err)
	}
	return text.String()
}

// testTwoPromTriggers: two queries of one object are two metrics with their own values.
func testTwoPromTriggers(t *testing.T, namespace string, servers promServers) {
	p := &promPair{T: t, namespace: namespace, promCase: promCase{name: "two"}}
	p.applyScaled(p.ours(), nil,
		ourPrometheus(promMetadata(servers.plain.URL(), "jobs")), ourPrometheus(promMetadata(servers.plain.URL(), `queue{name="b"}`)))
	p.await(p.ours(), "s0-prometheus", "41500m")
	p.await(p.ours(), "s1-prometheus", "2")
}
