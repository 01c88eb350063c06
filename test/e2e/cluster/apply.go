package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// fieldManager is who the harness is in server-side apply.
const fieldManager = "dashpot-e2e"

// Apply applies all documents of a manifest, server-side. Objects without a
// namespace get the one given.
func (c *Cluster) Apply(ctx context.Context, namespace, manifest string) error {
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("read a manifest: %w\n%s", err, bytes.TrimSpace(document))
		}
		if len(object.Object) == 0 {
			continue // nothing but comments
		}
		if err := c.applyObject(ctx, namespace, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// ApplyTemplate applies the manifest that a text template gives for data.
func (c *Cluster) ApplyTemplate(ctx context.Context, namespace, text string, data any) error {
	parsed, err := template.New("manifest").Option("missingkey=error").Parse(text)
	if err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	var manifest strings.Builder
	if err := parsed.Execute(&manifest, data); err != nil {
		return fmt.Errorf("fill in a manifest: %w", err)
	}
	return c.Apply(ctx, namespace, manifest.String())
}

func (c *Cluster) applyObject(ctx context.Context, namespace string, object *unstructured.Unstructured) error {
	client, err := c.clientFor(namespace, object)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	_, err = client.Apply(ctx, object.GetName(), object, options)
	return err
}

// clientFor finds the resource of an object. A kind that is not known may
// have been installed since the API was discovered.
func (c *Cluster) clientFor(namespace string, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("find the resource: %w", err)
	}
	resource := c.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return resource.Namespace(object.GetNamespace()), nil
}
