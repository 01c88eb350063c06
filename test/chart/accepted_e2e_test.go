//go:build e2e

package chart

import (
	"strings"
	"testing"
)

// TestAPIServerAccepts: the API server takes every object of every rendering, and knows each
// of its fields.
func TestAPIServerAccepts(t *testing.T) {
	for _, set := range sets() {
		t.Run(set, func(t *testing.T) {
			r := renderSet(t, set)
			accepts(t, r.Manifest)
			if example := exampleOf(r.Info.Notes); example != "" {
				accepts(t, example)
			} else if set != "native" {
				t.Error("no ScaledObject in the notes")
			}
		})
	}
}

// dryRun applies a manifest as `kubectl apply --server-side` does, without keeping it. The
// place of KEDA's APIService is taken by force here; TestAPIService asks for it.
func dryRun(t *testing.T, manifest string) (string, error) {
	t.Helper()
	return kubectl(t, manifest, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "--filename=-")
}

// accepts wants that every object of a manifest is accepted.
func accepts(t *testing.T, manifest string) {
	t.Helper()
	out, err := dryRun(t, manifest)
	if err != nil {
		t.Error(err)
	}
	if got, want := strings.Count(out, "serverside-applied"), len(objects(t, manifest)); got != want {
		t.Errorf("%d objects accepted; want %d", got, want)
	}
	t.Log(strings.ReplaceAll(out, " serverside-applied (server dry run)", ""))
}

// TestAPIServerRefuses what the chart does not render: else the other test says nothing.
func TestAPIServerRefuses(t *testing.T) {
	manifest := renderSet(t, "monitored").Manifest
	for _, test := range []struct{ was, is, want string }{
		{"readinessProbe:", "readinesProbe:", "readinesProbe"},
		{"honorLabels: true", "honourLabels: true", "honourLabels"},
		{"dnsNames:", "dnsName:", "dnsName"},
		{"alert: DashpotSlow", "alarm: DashpotSlow", "alarm"},
		{"maxUnavailable: 1\n", "maxUnavailable: [1]\n", "PodDisruptionBudget"},
		{"versionPriority:", "versionsPriority:", "versionsPriority"},
	} {
		broken := strings.Replace(manifest, test.was, test.is, 1)
		if broken == manifest {
			t.Fatalf("no %q in the rendering", test.was)
		}
		if _, err := dryRun(t, broken); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v; want one about %s", test.is, err, test.want)
		}
	}
}
