package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var (
	crdResource = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceResource = schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// InstallCRDs applies custom resource definitions and returns when the API
// server serves them.
func (c *Cluster) InstallCRDs(ctx context.Context, manifests string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.Apply(ctx, "", manifests); err != nil {
		return err
	}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var crd metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
			return fmt.Errorf("read the CRDs: %w", err)
		}
		if err := eventually(ctx, func(ctx context.Context) error {
			return c.condition(ctx, crdResource, crd.Name, "Established")
		}); err != nil {
			return err
		}
	}
	return nil
}

// condition returns an error unless a condition of a cluster-wide object is
// true.
func (c *Cluster) condition(ctx context.Context, kind schema.GroupVersionResource, name, condition string) error {
	object, err := c.Dynamic.Resource(kind).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read the status of %s: %w", name, err)
	}
	failure := errors.New("no such condition yet")
	for _, entry := range conditions {
		fields, _ := entry.(map[string]any)
		if fields["type"] != condition {
			continue
		}
		if fields["status"] == "True" {
			return nil
		}
		failure = fmt.Errorf("%v: %v", fields["reason"], fields["message"])
	}
	return fmt.Errorf("%s is not %s: %w", name, condition, failure)
}
