package cluster

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed keda.yaml
var kedaManifests string

var (
	crdResource = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceResource = schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// externalMetrics is the API that KEDA's adapter serves.
const externalMetrics = "v1beta1.external.metrics.k8s.io"

// startKeda installs KEDA's objects and starts its operator and its metrics
// adapter, with the flags of KEDA's own Deployments where a process outside a
// pod has no reason to differ.
func (c *Cluster) startKeda(ctx context.Context) error {
	if err := c.installKeda(ctx); err != nil {
		return err
	}
	env := []string{
		"KUBECONFIG=" + c.Kubeconfig(),
		"WATCH_NAMESPACE=", // has to be there; empty is all namespaces
		"POD_NAMESPACE=keda", "KEDA_CLUSTER_OBJECT_NAMESPACE=keda",
	}
	grpc := local(c.ports.operatorGRPC)
	operator, err := c.launch("keda-operator", c.Binaries.KedaOperator, []string{
		"--cert-dir=" + c.pki(""), "--enable-cert-rotation=false", "--leader-elect=false",
		"--metrics-service-bind-address=" + grpc,
		"--metrics-bind-address=" + local(c.ports.operatorMetrics),
		"--health-probe-bind-address=" + local(c.ports.operatorHealth),
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--zap-log-level=info", "--zap-encoder=console", "--zap-time-encoding=rfc3339nano",
	}, env...)
	if err != nil {
		return err
	}
	kubeconfig := c.Kubeconfig()
	adapter, err := c.launch("keda-adapter", c.Binaries.KedaAdapter, []string{
		"--lister-kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.adapter),
		fmt.Sprintf("--port=%d", c.ports.adapterMetrics),
		"--cert-dir=" + c.pki(""),
		"--tls-cert-file=" + c.pki("tls.crt"), "--tls-private-key-file=" + c.pki("tls.key"),
		"--metrics-service-address=" + grpc, "--zap-log-level=info",
	}, env...)
	if err != nil {
		return err
	}
	if err := operator.await(ctx, c.healthy("http://"+local(c.ports.operatorHealth)+"/readyz", "ok")); err != nil {
		return err
	}
	if err := operator.await(ctx, accepts(grpc)); err != nil {
		return err
	}
	return adapter.await(ctx, func(ctx context.Context) error {
		return c.condition(ctx, apiServiceResource, externalMetrics, "Available")
	})
}

// installKeda creates what KEDA's processes find in the API server. Without
// any one of the CRDs the operator ends.
func (c *Cluster) installKeda(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	crds, err := os.ReadFile(c.Binaries.KedaCRDs)
	if err != nil {
		return fmt.Errorf("read KEDA's CRDs: %w", err)
	}
	if err := c.Apply(ctx, "", string(crds)); err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(crds), "\n---\n") {
		var crd metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
			return fmt.Errorf("read KEDA's CRDs: %w", err)
		}
		if err := eventually(ctx, func(ctx context.Context) error {
			return c.condition(ctx, crdResource, crd.Name, "Established")
		}); err != nil {
			return err
		}
	}
	manifests, err := c.kedaObjects()
	if err != nil {
		return err
	}
	return c.Apply(ctx, "", manifests)
}

func (c *Cluster) kedaObjects() (string, error) {
	parsed, err := template.New("keda.yaml").Parse(kedaManifests)
	if err != nil {
		return "", fmt.Errorf("read KEDA's objects: %w", err)
	}
	var result strings.Builder
	if err := parsed.Execute(&result, map[string]any{
		"Port":     c.ports.adapter,
		"CABundle": base64.StdEncoding.EncodeToString(c.authority.pem),
	}); err != nil {
		return "", fmt.Errorf("fill in KEDA's objects: %w", err)
	}
	return result.String(), nil
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
