package v1alpha1_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

const (
	root    = "../../.."
	crdFile = "charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"
)

// schema is as much of the CRD's as is compared.
type schema struct {
	Type          string            `json:"type"`
	Description   string            `json:"description"`
	Properties    map[string]schema `json:"properties"`
	Items         *schema           `json:"items"`
	Required      []string          `json:"required"`
	Enum          []string          `json:"enum"`
	Default       any               `json:"default"`
	Minimum       *float64          `json:"minimum"`
	Maximum       *float64          `json:"maximum"`
	MaxItems      *int              `json:"maxItems"`
	MinItems      *int              `json:"minItems"`
	MaxProperties *int              `json:"maxProperties"`
	Validations   []struct {
		Rule    string `json:"rule"`
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// specSchema is the schema of a StabilizedMetric's spec.
func specSchema(t *testing.T) schema {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, crdFile))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &crd); err != nil || len(crd.Spec.Versions) != 1 {
		t.Fatalf("%d versions, %v", len(crd.Spec.Versions), err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPI.Properties["spec"]
}

// TestSchemaHasThePolicysKeys: the fields of the spec are the keys of a policy, with the
// ranges, choices and defaults of pkg/policy, in the schema and in the words.
func TestSchemaHasThePolicysKeys(t *testing.T) {
	spec := specSchema(t)
	delete(spec.Properties, "triggers")
	spec.Required = nil // which was triggers
	checkKeys(t, "spec", spec, slices.DeleteFunc(policy.Keys(), func(k metadata.Key) bool {
		return slices.Contains([]string{"source", "metricName", "metric"}, k.Name)
	}))
}

func checkKeys(t *testing.T, path string, s schema, keys []metadata.Key) {
	t.Helper()
	var names, required []string
	for _, k := range keys {
		names = append(names, k.Name)
		if k.Required {
			required = append(required, k.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(required)
	if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, names) {
		t.Errorf("%s has the fields %v, the policy the keys %v", path, got, names)
	}
	if !slices.Equal(s.Required, required) {
		t.Errorf("%s requires %v, the policy %v", path, s.Required, required)
	}
	for _, k := range keys {
		checkKey(t, path+"."+k.Name, s.Properties[k.Name], k)
	}
}

func checkKey(t *testing.T, path string, s schema, k metadata.Key) {
	t.Helper()
	switch k.Kind {
	case metadata.Whole, metadata.Seconds:
		if s.Minimum == nil || s.Maximum == nil || *s.Minimum != k.Range.Min || *s.Maximum != k.Range.Max {
			t.Errorf("%s: the limits are not the policy's, %s", path, k.Range)
		}
		wantWords(t, path, s.Description, k.Range.String())
	case metadata.Mapping:
		checkKeys(t, path, s, k.Fields)
	case metadata.List:
		checkKeys(t, path, *s.Items, k.Fields)
	case metadata.Text, metadata.Number, metadata.Flag:
		if !slices.Equal(s.Enum, k.Choices) {
			t.Errorf("%s: one of %v, the policy has %v", path, s.Enum, k.Choices)
		}
		wantWords(t, path, s.Description, k.Choices...)
	}
	if k.Name == "tolerance" { // its range is in words and in a rule
		const limits = "from 0 to 1000000"
		wantWords(t, path, s.Description, limits)
		wantWords(t, path, k.Format, limits)
		wantWords(t, path, s.Validations[0].Message, limits)
		wantWords(t, path, s.Validations[0].Rule, "quantity('0')", "quantity('1000000')")
	}
	// A mapping fills its fields in, one by one.
	if want := k.Default; k.Kind != metadata.Mapping && asYAML(t, s.Default) != asYAML(t, parsedYAML(t, want, s.Type)) {
		t.Errorf("%s: default %v, the policy has %q", path, s.Default, want)
	}
}

func wantWords(t *testing.T, path, text string, words ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q is not in %q", path, word, text)
		}
	}
}

// parsedYAML is a default as the policy has it: a text, unless the schema has a type for
// it that is none.
func parsedYAML(t *testing.T, text, kind string) any {
	t.Helper()
	if text == "" || kind == "" || kind == "string" {
		if text == "" {
			return nil
		}
		return text
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMetadataRefusesThePolicysKeys: what stands in the spec must not stand in a trigger's
// metadata, where nothing would come of it; metricName, which KEDA once had for itself,
// may. And no trigger type has a key that is refused.
func TestMetadataRefusesThePolicysKeys(t *testing.T) {
	entries := specSchema(t).Properties["triggers"].Items.Properties["metadata"]
	refused := map[string]string{}
	for _, v := range entries.Validations {
		if name, ok := strings.CutPrefix(v.Rule, "!('"); ok {
			name, _, _ = strings.Cut(name, "'")
			refused[name] = v.Message
		}
	}
	for _, k := range policy.Keys() {
		if message, ok := refused[k.Name]; ok == (k.Name == "metricName") || ok && !strings.HasPrefix(message, k.Name+" must not be here: ") {
			t.Errorf("%s: refused %t, with the message %q", k.Name, ok, message)
		}
		delete(refused, k.Name)
	}
	if refused["type"] != "type must not be here: it stands beside metadata" {
		t.Errorf("type: refused with the message %q", refused["type"])
	}
	delete(refused, "type")
	if len(refused) > 0 {
		t.Errorf("no keys of a policy: %v", refused)
	}
	sources := source.New(source.Options{})
	defer sources.Close()
	for _, name := range sources.Types() {
		for _, k := range sources.Keys(name) {
			if slices.ContainsFunc(policy.Keys(), func(own metadata.Key) bool { return own.Name == k.Name && k.Name != "metricName" }) {
				t.Errorf("%s has the key %s, which metadata may not have", name, k.Name)
			}
		}
	}
}

// TestSchemaIsBounded: every list and map of the spec has a largest size, on which the API
// server's estimates of what its rules cost depend.
func TestSchemaIsBounded(t *testing.T) {
	walk("spec", specSchema(t), func(path string, s schema) {
		if s.Type == "array" && (s.MaxItems == nil || s.MinItems == nil || *s.MinItems != 1) {
			t.Errorf("%s: needs minItems 1 and maxItems", path)
		}
		if s.Type == "object" && s.Properties == nil && s.MaxProperties == nil {
			t.Errorf("%s: needs maxProperties", path)
		}
	})
}

// TestExplainReadsWell: kubectl explain breaks lines at 80 characters, four of them
// indentation, and keeps our own breaks too.
func TestExplainReadsWell(t *testing.T) {
	walk("spec", specSchema(t), func(path string, s schema) {
		if s.Description == "" {
			t.Errorf("%s: not described", path)
		}
		for line := range strings.Lines(s.Description) {
			if line = strings.TrimRight(line, "\n"); len(line) > 76 && strings.Contains(s.Description, "\n") {
				t.Errorf("%s: %d characters, at most 76: %s", path, len(line), line)
			}
		}
	})
}

// walk visits a schema and all below it.
func walk(path string, s schema, visit func(path string, s schema)) {
	visit(path, s)
	for name, property := range s.Properties {
		walk(path+"."+name, property, visit)
	}
	if s.Items != nil {
		walk(path+"[]", *s.Items, visit)
	}
}

// TestGeneratedIsCurrent generates again what make generate does, into another place.
func TestGeneratedIsCurrent(t *testing.T) {
	dir := t.TempDir()
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "controller-gen", "object", "crd",
		"paths=./pkg/apis/...", "output:object:dir="+dir, "output:crd:dir="+dir)
	generate.Dir = root
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, output)
	}
	for _, file := range []string{crdFile, "pkg/apis/v1alpha1/zz_generated.deepcopy.go"} {
		want, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what make generate makes of the types", file)
		}
	}
}
