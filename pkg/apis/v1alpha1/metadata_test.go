package v1alpha1_test

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
)

func TestOwn(t *testing.T) {
	tests := []struct {
		name, spec string
		want       map[string]string
	}{
		{"nothing", "{}", map[string]string{}},
		{"zeros are given", "{cooldownPeriod: 0, interval: 0, minReplicaCount: 0, maxReplicaCount: 0}", map[string]string{
			"cooldownPeriod": "0", "interval": "0", "minReplicaCount": "0", "maxReplicaCount": "0",
		}},
		{"flags", "{shadow: true}", map[string]string{"shadow": "true"}},
		{"no flag", "{shadow: false}", map[string]string{}},
		{"empty behavior is given", "{behavior: {}}", map[string]string{"behavior": "{}"}},
		{"null is not", "{behavior: null, fallback: null, interval: null}", map[string]string{}},
		{"empty direction", "{behavior: {scaleUp: {}}}", map[string]string{"behavior": `{"scaleUp":{}}`}},
		{
			"behavior", "{behavior: {scaleUp: {tolerance: 1, selectPolicy: Min}, scaleDown: {tolerance: '0.57', stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1, periodSeconds: 15}]}}}",
			map[string]string{"behavior": `{"scaleUp":{"selectPolicy":"Min","tolerance":1},"scaleDown":{"stabilizationWindowSeconds":0,"policies":[{"type":"Pods","value":1,"periodSeconds":15}],"tolerance":"0.57"}}`},
		},
		{"fallback", "{fallback: {after: 90, replicas: 0, behavior: static}}", map[string]string{"fallback": `{"after":90,"replicas":0,"behavior":"static"}`}},
		{"triggers are not", "{triggers: [{type: redis}]}", map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var spec v1alpha1.Spec
			if err := yaml.UnmarshalStrict([]byte(tt.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if got := spec.Own(); !maps.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	trigger := v1alpha1.Trigger{Type: "redis", Metadata: map[string]string{"listName": " jobs\n", "type": "prometheus"}}
	if got, want := trigger.Values(), map[string]string{"type": "redis", "listName": " jobs\n"}; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if trigger.Metadata["type"] != "prometheus" {
		t.Error("the trigger's own metadata was changed")
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.Kind, v1alpha1.Kind + "List", "ListOptions"} {
		if !scheme.Recognizes(v1alpha1.GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}
