package cluster

import (
	"context"
	_ "embed"
	"encoding/base64"
)

//go:embed externalmetrics.yaml
var externalMetricsManifests string

// ExternalMetricsGroup is the API group that HPAs read external metrics from.
const ExternalMetricsGroup = "external.metrics.k8s.io"

// metricsAPI is a server of external metrics on a loopback port, and the
// Service that the API server takes it for.
type metricsAPI struct {
	Group, Namespace, Service string
	Port                      int
}

// register makes the API server pass the API's requests on to its port, and
// lets the HPA controller read.
func (c *Cluster) register(ctx context.Context, api metricsAPI) error {
	return c.ApplyTemplate(ctx, "", externalMetricsManifests, struct {
		metricsAPI

		CABundle string
	}{api, base64.StdEncoding.EncodeToString(c.authority.pem)})
}

// registered is a check for daemon.await: the API server can reach the API.
func (c *Cluster) registered(api metricsAPI) func(context.Context) error {
	return func(ctx context.Context) error {
		return c.condition(ctx, apiServiceResource, "v1beta1."+api.Group, "Available")
	}
}
