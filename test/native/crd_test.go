//go:build e2e

package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
)

// metricsIn are the StabilizedMetrics of a namespace.
func metricsIn(namespace string) dynamic.ResourceInterface {
	return env.cluster.Dynamic.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Namespace(namespace)
}

// metricOf is a StabilizedMetric with the given spec, in YAML.
func metricOf(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n%s", v1alpha1.GroupVersion, v1alpha1.Kind, name, indented(spec))
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return object
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// admitted is the spec as the API server would store it, or all that it has against it,
// in the order of the alphabet.
func admitted(t *testing.T, namespace string, metric *unstructured.Unstructured) (spec string, refusals []string) {
	t.Helper()
	stored, err := metricsIn(namespace).Create(t.Context(), metric, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status) && apierrors.IsInvalid(err):
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "<nil>" { // which says of other lines what they are
				refusals = append(refusals, cause.Field+": "+cause.Message)
			}
		}
		slices.Sort(refusals)
		return "", refusals
	case err != nil:
		t.Fatal(err)
	}
	text, err := yaml.Marshal(stored.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// TestMetricsAdmitted: what the API server makes of a StabilizedMetric that it takes.
func TestMetricsAdmitted(t *testing.T) {
	const defaults = "cooldownPeriod: 300\nshadow: false\n"
	sixteen := "triggers:\n" + strings.Repeat("- type: redis\n", 16)
	tests := []struct{ name, spec, want string }{
		{"least, without a Secret", "triggers: [{type: redis}]", defaults + "triggers:\n- type: redis\n"},
		{"16 triggers", sixteen, defaults + sixteen},
		{"a type of a later release", "triggers: [{type: Kafka_2}]", defaults + "triggers:\n- type: Kafka_2\n"},
		{"unknown fields are pruned", "typo: 1\ntriggers: [{type: redis, autenticationRef: {name: x}}]", defaults + "triggers:\n- type: redis\n"},
		{
			"metadata is kept to the letter", "triggers: [{type: redis, metadata: {listLength: '5', listName: '', metricName: old, typo: ' x '}, secretRef: {name: auth}}]",
			defaults + "triggers:\n- metadata:\n    listLength: \"5\"\n    listName: \"\"\n    metricName: old\n    typo: ' x '\n  secretRef:\n    name: auth\n  type: redis\n",
		},
		{
			"behavior of defaults", "triggers: [{type: redis}]\nbehavior: {}",
			`behavior:
  scaleDown:
    policies:
    - periodSeconds: 15
      type: Percent
      value: 100
    selectPolicy: Max
    stabilizationWindowSeconds: 300
    tolerance: "0.1"
  scaleUp:
    policies:
    - periodSeconds: 15
      type: Pods
      value: 4
    - periodSeconds: 15
      type: Percent
      value: 100
    selectPolicy: Max
    stabilizationWindowSeconds: 0
    tolerance: "0.1"
` + defaults + "triggers:\n- type: redis\n",
		},
		{
			"everything at its limit", `
triggers: [{type: redis}]
behavior:
  scaleUp: {stabilizationWindowSeconds: 3600, selectPolicy: Disabled, tolerance: 1000000, policies: [{type: Pods, value: 1000000, periodSeconds: 1800}]}
  scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Min, tolerance: 57m, policies: [{type: Percent, value: 1, periodSeconds: 1}]}
cooldownPeriod: 2592000
interval: 1
minReplicaCount: 1000000
maxReplicaCount: 1000000
fallback: {after: 86400, replicas: 0}
shadow: true`,
			`behavior:
  scaleDown:
    policies:
    - periodSeconds: 1
      type: Percent
      value: 1
    selectPolicy: Min
    stabilizationWindowSeconds: 0
    tolerance: 57m
  scaleUp:
    policies:
    - periodSeconds: 1800
      type: Pods
      value: 1000000
    selectPolicy: Disabled
    stabilizationWindowSeconds: 3600
    tolerance: 1000000
cooldownPeriod: 2592000
fallback:
  after: 86400
  behavior: currentReplicasIfHigher
  replicas: 0
interval: 1
maxReplicaCount: 1000000
minReplicaCount: 1000000
shadow: true
triggers:
- type: redis
`,
		},
	}
	namespace := newNamespace(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec, refusals := admitted(t, namespace, metricOf(t, "jobs", tt.spec))
			if spec != tt.want || refusals != nil {
				t.Errorf("got\n%s%s\nwant\n%s", spec, strings.Join(refusals, "\n"), tt.want)
			}
		})
	}
}

// TestMetricsRefused: what the API server says of a StabilizedMetric that it does not take.
func TestMetricsRefused(t *testing.T) {
	const good = "triggers: [{type: redis}]\n"
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"no triggers", "{shadow: true}", []string{"spec.triggers: Required value"}},
		{"empty list of triggers", "triggers: []", []string{"spec.triggers: Invalid value: 0: spec.triggers in body should have at least 1 items"}},
		{"17 triggers", "triggers:\n" + strings.Repeat("- type: redis\n", 17), []string{"spec.triggers: Too many: 17: must have at most 16 items"}},
		{"no type", "triggers: [{metadata: {listName: jobs}}]", []string{"spec.triggers[0].type: Required value"}},
		{"empty texts", "triggers: [{type: '', secretRef: {name: ''}}]", []string{
			`spec.triggers[0].secretRef.name: Invalid value: "": spec.triggers[0].secretRef.name in body should be at least 1 chars long`,
			`spec.triggers[0].type: Invalid value: "": spec.triggers[0].type in body should be at least 1 chars long`,
		}},
		{"a number in metadata", "triggers: [{type: redis, metadata: {listLength: 5}}]", []string{`spec.triggers[0].metadata.listLength: Invalid value: "integer": spec.triggers[0].metadata.listLength in body must be of type string: "integer"`}},
		{"source, type and metric", "triggers: [{type: redis, metadata: {source: redis, type: redis, metric: jobs}}]", []string{
			"spec.triggers[0].metadata: Invalid value: metric must not be here: the object itself is the metric",
			"spec.triggers[0].metadata: Invalid value: source must not be here: type says what to read",
			"spec.triggers[0].metadata: Invalid value: type must not be here: it stands beside metadata",
		}},
		{"keys of the spec", "triggers: [{type: redis, metadata: {behavior: '{}', cooldownPeriod: '1', interval: '1', minReplicaCount: '1', maxReplicaCount: '1', fallback: '{}', shadow: 'true'}}]", []string{
			"spec.triggers[0].metadata: Invalid value: behavior must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: cooldownPeriod must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: fallback must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: interval must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: maxReplicaCount must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: minReplicaCount must not be here: it stands in spec, beside triggers",
			"spec.triggers[0].metadata: Invalid value: shadow must not be here: it stands in spec, beside triggers",
		}},
		{"a variable of the container", "triggers: [{type: redis, metadata: {passwordFromEnv: REDIS_PASSWORD}}]", []string{"spec.triggers[0].metadata: Invalid value: a key that ends in FromEnv must not be here: it names a variable of a workload's container, which only KEDA can read; put the value in a Secret and name it in secretRef"}},
		{"numbers too small", good + "cooldownPeriod: -1\ninterval: 0\nminReplicaCount: -1\nmaxReplicaCount: 0\nfallback: {after: 0, replicas: -1}", []string{
			"spec.cooldownPeriod: Invalid value: -1: spec.cooldownPeriod in body should be greater than or equal to 0",
			"spec.fallback.after: Invalid value: 0: spec.fallback.after in body should be greater than or equal to 1",
			"spec.fallback.replicas: Invalid value: -1: spec.fallback.replicas in body should be greater than or equal to 0",
			"spec.interval: Invalid value: 0: spec.interval in body should be greater than or equal to 1",
			"spec.maxReplicaCount: Invalid value: 0: spec.maxReplicaCount in body should be greater than or equal to 1",
			"spec.minReplicaCount: Invalid value: -1: spec.minReplicaCount in body should be greater than or equal to 0",
		}},
		{"numbers too large", good + "cooldownPeriod: 2592001\ninterval: 301\nminReplicaCount: 1000001\nmaxReplicaCount: 1000001\nfallback: {after: 86401, replicas: 1000001}", []string{
			"spec.cooldownPeriod: Invalid value: 2592001: spec.cooldownPeriod in body should be less than or equal to 2592000",
			"spec.fallback.after: Invalid value: 86401: spec.fallback.after in body should be less than or equal to 86400",
			"spec.fallback.replicas: Invalid value: 1000001: spec.fallback.replicas in body should be less than or equal to 1000000",
			"spec.interval: Invalid value: 301: spec.interval in body should be less than or equal to 300",
			"spec.maxReplicaCount: Invalid value: 1000001: spec.maxReplicaCount in body should be less than or equal to 1000000",
			"spec.minReplicaCount: Invalid value: 1000001: spec.minReplicaCount in body should be less than or equal to 1000000",
		}},
		{"min above max", good + "minReplicaCount: 9\nmaxReplicaCount: 8", []string{"spec.minReplicaCount: Invalid value: minReplicaCount 9: must not be above maxReplicaCount 8"}},
		{"half a fallback", good + "fallback: {behavior: triggerSuccess}", []string{
			"spec.fallback.after: Required value",
			`spec.fallback.behavior: Unsupported value: "triggerSuccess": supported values: "currentReplicasIfHigher", "static"`,
			"spec.fallback.replicas: Required value",
		}},
		{"rules", good + "behavior: {scaleUp: {stabilizationWindowSeconds: 3601, selectPolicy: max, policies: []}}", []string{
			"spec.behavior.scaleUp.policies: Invalid value: 0: spec.behavior.scaleUp.policies in body should have at least 1 items",
			`spec.behavior.scaleUp.selectPolicy: Unsupported value: "max": supported values: "Max", "Min", "Disabled"`,
			"spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: spec.behavior.scaleUp.stabilizationWindowSeconds in body should be less than or equal to 3600",
		}},
		{"policies", good + "behavior: {scaleDown: {policies: [{type: pods, value: 0, periodSeconds: 1801}, {}]}}", []string{
			"spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: spec.behavior.scaleDown.policies[0].periodSeconds in body should be less than or equal to 1800",
			`spec.behavior.scaleDown.policies[0].type: Unsupported value: "pods": supported values: "Pods", "Percent"`,
			"spec.behavior.scaleDown.policies[0].value: Invalid value: 0: spec.behavior.scaleDown.policies[0].value in body should be greater than or equal to 1",
			"spec.behavior.scaleDown.policies[1].periodSeconds: Required value",
			"spec.behavior.scaleDown.policies[1].type: Required value",
			"spec.behavior.scaleDown.policies[1].value: Required value",
		}},
		{"negative tolerance", good + "behavior: {scaleUp: {tolerance: '-0.1'}, scaleDown: {tolerance: -1}}", []string{
			`spec.behavior.scaleDown.tolerance: Invalid value: -1: must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
			`spec.behavior.scaleUp.tolerance: Invalid value: "-0.1": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
		}},
		{"large tolerance", good + "behavior: {scaleUp: {tolerance: '1000000.1'}, scaleDown: {tolerance: 1000001}}", []string{
			`spec.behavior.scaleDown.tolerance: Invalid value: 1000001: must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
			`spec.behavior.scaleUp.tolerance: Invalid value: "1000000.1": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
		}},
		{"tolerance that takes minutes to read", good + "behavior: {scaleUp: {tolerance: '1e-999999999'}, scaleDown: {tolerance: '9e999999999'}}", []string{
			`spec.behavior.scaleDown.tolerance: Invalid value: "9e999999999": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
			`spec.behavior.scaleUp.tolerance: Invalid value: "1e-999999999": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
		}},
		{"tolerance that is not quoted", good + "behavior: {scaleUp: {tolerance: 0.1}}", []string{
			`spec.behavior.scaleUp.tolerance: Invalid value: "number": spec.behavior.scaleUp.tolerance in body must be of type integer,string: "number"`,
			`spec.behavior.scaleUp.tolerance: Invalid value: "number": spec.behavior.scaleUp.tolerance in body must be of type integer: "number"`,
		}},
		{"tolerance that is no number", good + "behavior: {scaleUp: {tolerance: '.'}, scaleDown: {tolerance: ''}}", []string{
			`spec.behavior.scaleDown.tolerance: Invalid value: "": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
			`spec.behavior.scaleUp.tolerance: Invalid value: ".": must be a quoted number or quantity from 0 to 1000000, such as "0.1" or 100m`,
		}},
		{"durations", good + "cooldownPeriod: 5m", []string{`spec.cooldownPeriod: Invalid value: "string": spec.cooldownPeriod in body must be of type integer: "string"`}},
	}
	namespace := newNamespace(t)
	t.Run("a name that is a part of the namespace's path", func(t *testing.T) {
		_, err := metricsIn(namespace).Create(t.Context(), metricOf(t, "status", good), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "a metric cannot be called status or finalize") {
			t.Errorf("got %v", err)
		}
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, refusals := admitted(t, namespace, metricOf(t, "jobs", tt.spec))
			if !slices.Equal(refusals, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(refusals, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
	t.Run("name", func(t *testing.T) {
		long := strings.Repeat("n", 254)
		_, refusals := admitted(t, namespace, metricOf(t, long, good))
		if want := []string{`metadata.name: Invalid value: "` + long + `": must be no more than 253 characters`}; !slices.Equal(refusals, want) {
			t.Errorf("got %q, want %q", refusals, want)
		}
	})
}

// age is the last column of a table.
var age = regexp.MustCompile(`(?m)[0-9hms]+$`)

// TestMetricInKubectl compares what a person at a terminal sees with
// testdata/kubectl.txt.
func TestMetricInKubectl(t *testing.T) {
	namespace := newNamespace(t)
	for name, spec := range map[string]string{
		"jobs": "triggers: [{type: redis, metadata: {address: '127.0.0.1:1', listName: jobs}}]\nbehavior: {}",
		"new":  "triggers: [{type: prometheus}, {type: redis}]",
	} {
		if _, err := metricsIn(namespace).Create(t.Context(), metricOf(t, name, spec), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/kubectl.txt")
	if err != nil {
		t.Fatal(err)
	}
	// The adapters have their own view of the status. Between it and ours nobody comes
	// twice in a row.
	var got string
	for range 5 {
		setStatus(t, namespace, "jobs", `{"status": {
			"conditions": [{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "redis asks for 8", "lastTransitionTime": "2030-01-01T00:00:00Z"}],
			"lastDecision": {"time": "2030-01-01T00:00:00Z", "reading": "37", "currentReplicas": 3, "recommendedReplicas": 8, "replicas": 7, "active": true, "why": "8 for 37 jobs; ScaleUpLimit allows 7"}}}`)
		setStatus(t, namespace, "new", `{"status": null}`)
		if got = terminal(t, namespace); got == string(want) {
			return
		}
	}
	t.Errorf("got\n%s\nwant\n%s", got, want)
}

func setStatus(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := metricsIn(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// terminal shows commands and their answers.
func terminal(t *testing.T, namespace string) string {
	t.Helper()
	var b strings.Builder
	for _, command := range []string{
		"get smetric", "get dashpot -o wide", "explain smetric", "explain smetric.spec", "explain smetric.spec.triggers",
		"explain smetric.spec.behavior.scaleUp", "explain smetric.spec.behavior.scaleDown.policies", "explain smetric.spec.fallback",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		kubectl := exec.CommandContext(ctx, env.cluster.Kubectl(), append(strings.Fields(command), "--kubeconfig", env.cluster.Kubeconfig(), "--namespace", namespace)...)
		output, err := kubectl.CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", command, err, output)
		}
		text := string(output)
		if strings.HasPrefix(command, "get") {
			text = age.ReplaceAllString(text, "…")
		}
		fmt.Fprintf(&b, "$ kubectl %s\n", command)
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	return b.String()
}

func newNamespace(t *testing.T) string {
	t.Helper()
	namespace, err := env.cluster.CreateNamespace(t.Context(), "crd")
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}
