package chart

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// exampleOf is the ScaledObject that the notes print; empty if they have none.
func exampleOf(notes string) string {
	_, rest, found := strings.Cut(notes, "\n  apiVersion: keda.sh/")
	if !found {
		return ""
	}
	text, _, _ := strings.Cut("  apiVersion: keda.sh/"+rest, "\n\n")
	return strings.ReplaceAll("\n"+text, "\n  ", "\n")
}

// TestNotesExample: the ScaledObject that an operator is told to copy calls this release's
// Service, and its metadata is a policy without a problem.
func TestNotesExample(t *testing.T) {
	r := renderSet(t, "defaults")
	example := objects(t, exampleOf(r.Info.Notes))
	if len(example) != 1 || example[0].GetKind() != "ScaledObject" {
		t.Fatalf("the notes have %v", example)
	}
	triggers, _, _ := unstructured.NestedSlice(example[0].Object, "spec", "triggers")
	metadata, _, err := unstructured.NestedStringMap(triggers[0].(map[string]any), "metadata")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(metadata["scalerAddress"], ":")
	service := find(objects(t, r.Manifest), "Service", strings.TrimSuffix(host, "."+namespace))
	if service == nil || port != "9090" {
		t.Errorf("scalerAddress %s is no Service of the chart", metadata["scalerAddress"])
	}
	types := source.New(source.Options{})
	t.Cleanup(types.Close)
	if parsed := (policy.Parser{Sources: types}).Parse(metadata); parsed.Invalid != nil || len(parsed.Warnings) > 0 {
		t.Errorf("the trigger: %v, warnings %q", parsed.Invalid, parsed.Warnings)
	}
}
