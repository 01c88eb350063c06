package cluster

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// FuzzStabilizedMetric has arbitrary objects made into policies: each either has the spec
// that it says, or is invalid and says so, and always in the same words.
func FuzzStabilizedMetric(f *testing.F) {
	for _, text := range []string{
		plainMetric, withSecret, "{}", "triggers: none", "triggers: [{}]", "triggers: [null, 3]",
		"minReplicaCount: 4294967297", "minReplicaCount: 1e30", "cooldownPeriod: 1.5",
		"behavior: {scaleUp: {tolerance: 1e400, policies: [{type: Pods, value: 1, periodSeconds: 1}]}}",
		"behavior: {scaleDown: {tolerance: 9m}}", "fallback: {after: 90, replicas: 3, behavior: static}", "shadow: 1",
	} {
		spec, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"apiVersion":"dashpot.dev/v1alpha1","kind":"StabilizedMetric","metadata":{"name":"jobs"},"spec":`+string(spec)+`}`), []byte("hunter2"))
	}
	f.Add([]byte(`{"metadata":{"labels":5,"generation":"x"},"spec":null}`), []byte{})
	f.Add([]byte(`{"spec":[]}`), []byte("\xff"))
	f.Fuzz(func(t *testing.T, text, secret []byte) {
		object := map[string]any{}
		if json.Unmarshal(text, &object) != nil {
			return
		}
		found := secrets{entries: map[string]map[string][]byte{"redis-auth": {"address": secret}}, missing: map[string]string{"gone": "there is no Secret gone"}}
		read := func() (*stabilizedMetric, recipe) {
			m := newStabilizedMetric(&unstructured.Unstructured{Object: object})
			return m, recipeOf(m, found)
		}
		m, r := read()
		policy := r.policy(&parserFake{}, "jobs")
		if m.problem != nil && !errors.Is(policy.Invalid, scaling.ErrBadPolicy) {
			t.Errorf("problem %v, and the policy says %v", m.problem, policy.Invalid)
		}
		if policy.Invalid != nil && strings.Contains(policy.Invalid.Error(), "\n") {
			t.Errorf("more than one line: %q", policy.Invalid)
		}
		again, same := read()
		if !m.same(again) || r.digest() != same.digest() {
			t.Errorf("%s is another the second time", text)
		}
	})
}

// Recipes that differ in anything differ in their digest, whatever is in the texts.
func TestDigest(t *testing.T) {
	recipes := map[string]recipe{
		"empty":              {},
		"a key":              {own: map[string]string{"a": "b"}},
		"a key in a trigger": {triggers: []map[string]string{{"a": "b"}}},
		"two triggers":       {triggers: []map[string]string{{"a": "b"}, {}}},
		"the other way":      {triggers: []map[string]string{{}, {"a": "b"}}},
		"a value of quotes":  {triggers: []map[string]string{{"a": `b" "c":"d`}}},
		"two keys":           {triggers: []map[string]string{{"a": "b", "c": "d"}}},
		"no text":            {triggers: []map[string]string{{"a": "\xff"}}},
		"its spelling":       {triggers: []map[string]string{{"a": `\xff`}}},
		"no text either":     {triggers: []map[string]string{{"a": "\xfe"}}},
		"a problem":          {problems: []string{"a"}},
	}
	seen := map[[32]byte]string{}
	for name, r := range recipes {
		if other, ok := seen[r.digest()]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[r.digest()] = name
	}
}

// The former name of a cpu's metricType is told of, although the trigger's own type
// stands under that name behind it.
func TestFormerNameOfMetricType(t *testing.T) {
	for name, test := range map[string]struct{ triggers, want string }{
		"cpu":          {"{type: cpu, metadata: {type: AverageValue, value: '512'}}", "triggers[0].metadata.type: no longer a key, in KEDA either; set metricType"},
		"memory":       {"{type: redis, metadata: {}}, {type: memory, metadata: {type: Utilization}}", "triggers[1].metadata.type: no longer a key, in KEDA either; set metricType"},
		"redis":        {"{type: redis, metadata: {type: AverageValue}}", ""},
		"by its name":  {"{type: cpu, metadata: {metricType: AverageValue, value: 100m}}", ""},
		"without both": {"{type: cpu, metadata: {value: '80'}}", ""},
	} {
		r := recipeOf(newStabilizedMetric(aMetric(t, "load", "triggers: ["+test.triggers+"]")), secrets{})
		if got := strings.Join(r.problems, "; "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
