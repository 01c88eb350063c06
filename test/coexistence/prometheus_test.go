//go:build e2e

package coexistence_test

import (
	"testing"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// TestBesidePrometheusAdapter: an HPA on a metric of prometheus-adapter, whose external
// rule gives it, scales as it would without Dashpot in between; and so does one on a
// StabilizedMetric that reads the same metric.
func TestBesidePrometheusAdapter(t *testing.T) {
	env.prometheus.Set("shop_orders", 37)
	s := newSide(t, "prometheus-adapter's metric", ordersManifest)
	s.second("steady")
	for _, step := range []struct {
		orders   float64
		replicas int32
	}{{37, 8}, {62, 13}, {10, 2}} {
		env.prometheus.Set("shop_orders", step.orders)
		s.await(scenario.Worker, step.replicas)
		s.await("steady", step.replicas)
	}
}

// ordersManifest scales the Deployment worker by the metric itself, and steady by a
// StabilizedMetric on it, 5 orders per replica each.
var ordersManifest = hpaOn("worker", "shop_orders", "5") + `---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: steady}
spec:
  interval: 2
  triggers:
  - type: external-metric
    metadata: {delegate: prometheus, externalMetricName: shop_orders, targetValue: "5"}
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 1}]}
` + hpaOn("steady", "steady", "1")
