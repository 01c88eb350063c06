package v1alpha1_test

import (
	"maps"
	"strings"
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
	tests := []struct {
		name             string
		metadata, secret map[string]string
		want             map[string]string
		problem          string
	}{
		{"nothing", nil, nil, map[string]string{"source": "redis"}, ""},
		{"metadata as it is", map[string]string{"listName": " jobs\n"}, nil, map[string]string{"source": "redis", "listName": " jobs\n"}, ""},
		{"Secret", map[string]string{"listName": "jobs"}, map[string]string{"password": "abc"}, map[string]string{"source": "redis", "listName": "jobs", "password": "abc"}, ""},
		{
			"line feeds at the end", nil, map[string]string{"bearerToken": "abc\n", "password": "a b \r\n", "cert": "-----\nMII\n-----\n"}, // C44 d
			map[string]string{"source": "redis", "bearerToken": "abc", "password": "a b ", "cert": "-----\nMII\n-----"}, "",
		},
		{
			"keys in both, even if equal", map[string]string{"password": "x", "username": "me", "listName": "jobs"}, map[string]string{"username": "me", "password": "y"},
			map[string]string{"source": "redis", "password": "x", "username": "me", "listName": "jobs"},
			"metadata: password, username must stand either here or in the Secret auth, not in both",
		},
		{
			"type in metadata", map[string]string{"source": "prometheus"}, nil, map[string]string{"source": "redis"},
			"metadata.source: must not be given, as type says what to read",
		},
		{
			"everything at once", map[string]string{"source": "a", "password": "x"}, map[string]string{"source": "b", "password": "y"},
			map[string]string{"source": "redis", "password": "x"},
			"metadata.source: must not be given, as type says what to read; " +
				"secretRef: the Secret auth must not have an entry source, as type says what to read; " +
				"metadata: password must stand either here or in the Secret auth, not in both",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			secret := map[string][]byte{}
			for key, value := range tt.secret {
				secret[key] = []byte(value)
			}
			before := maps.Clone(tt.metadata)
			trigger := v1alpha1.Trigger{Type: "redis", Metadata: tt.metadata, SecretRef: &v1alpha1.SecretReference{Name: "auth"}}
			got, err := trigger.Values(secret)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if !maps.Equal(got, tt.want) || problem != tt.problem {
				t.Errorf("got %q and %q, want %q and %q", got, problem, tt.want, tt.problem)
			}
			if !maps.Equal(tt.metadata, before) {
				t.Error("the trigger's own metadata was changed")
			}
		})
	}
}

// A Secret that nothing refers to has no name, which is no reason to panic.
func TestValuesWithoutReference(t *testing.T) {
	trigger := v1alpha1.Trigger{Metadata: map[string]string{"a": "1"}}
	_, err := trigger.Values(map[string][]byte{"a": nil})
	if err == nil || !strings.Contains(err.Error(), "a must stand either here") {
		t.Errorf("got %v", err)
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
