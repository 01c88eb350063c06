package chart

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// objects are those of a manifest.
func objects(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// find returns the object of a kind and name; nil if there is none.
func find(all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// podTemplate is that of a workload; false if the object is none.
func podTemplate(t *testing.T, o *unstructured.Unstructured) (corev1.PodTemplateSpec, bool) {
	t.Helper()
	content, found, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	var template corev1.PodTemplateSpec
	if found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &template, true); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return template, found
}
