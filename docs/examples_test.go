package docs_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// Every trigger of Dashpot's in an example is a policy about which there is nothing to
// say.
func TestExamplesArePolicies(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table := source.New(source.Options{})
	defer table.Close()
	checked := 0
	for _, file := range files {
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Kind string
			Spec struct {
				Triggers []struct {
					Type     string
					Metadata map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(manifest, &object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, trigger := range object.Spec.Triggers {
			if object.Kind != "ScaledObject" || trigger.Metadata["source"] == "" {
				continue
			}
			checked++
			parsed := policy.Parser{Sources: table}.Parse(trigger.Metadata)
			if parsed.Invalid != nil || len(parsed.Warnings) > 0 {
				t.Errorf("%s: %v, warnings %q", file, parsed.Invalid, parsed.Warnings)
			}
		}
	}
	if checked < 8 {
		t.Errorf("%d triggers were checked; there are more", checked)
	}
}
