//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testMetricsAPIAsKEDA asks KEDA's adapter for what KEDA's own metrics-api trigger and ours
// report of one server's answer, for every key and format of the type.
func testMetricsAPIAsKEDA(t *testing.T) {
	testTwins(t, "metrics-api", metricsAPICases(t), "yaml-infinite")
}

// twins is a trigger as KEDA's own and as ours, of any type. It borrows the objects and
// the waiting of promPair.
type twins struct {
	*promPair

	kind string
}

// testTwins holds every case's pair of ScaledObjects to the table: both report the same
// under the same name and with the same target, and both are active or not; or the table
// says why not. In the cases that are awake by name, KEDA's is active with a value of 0.
func testTwins(t *testing.T, kind string, cases []promCase, awake ...string) {
	t.Helper()
	namespace, err := env.cluster.CreateNamespace(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeScaledObjects(t, namespace) })
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if (c.differs == "") != (c.reason == "") || c.differs == c.value {
					t.Fatalf("a difference has a reason, and nothing else has one: %q, %q", c.differs, c.reason)
				}
				w := &twins{&promPair{T: t, namespace: namespace, promCase: c}, kind}
				w.apply()
				w.check(slices.Contains(awake, c.name))
			})
		}
	})
}

func (w *twins) apply() {
	w.Helper()
	var parameters []any
	environment, fromEnv := []any{}, map[string]string{}
	for key, value := range w.secret {
		parameters = append(parameters, map[string]any{"parameter": key, "name": w.name, "key": key})
		environment = append(environment, map[string]any{"name": "SECRET_" + strings.ToUpper(key), "value": value})
		fromEnv[key+"FromEnv"] = "SECRET_" + strings.ToUpper(key)
	}
	theirs := map[string]any{"type": w.kind, "metadata": merged(w.metadata, w.keda)}
	if len(w.secret) > 0 {
		w.applyObject("v1", "Secret", w.name, map[string]any{"stringData": w.secret})
		w.applyObject("keda.sh/v1alpha1", "TriggerAuthentication", w.name, map[string]any{
			"spec": map[string]any{"secretTargetRef": parameters},
		})
		theirs["authenticationRef"] = map[string]any{"name": w.name}
	}
	w.applyScaled(w.theirs(), nil, theirs)
	w.applyScaled(w.ours(), environment, map[string]any{"type": "external", "metadata": merged(
		w.metadata, w.promCase.ours, fromEnv,
		map[string]string{"scalerAddress": env.pair.Target(), "source": w.kind, "interval": "1"},
	)})
}

func (w *twins) check(awake bool) {
	w.Helper()
	want := w.value
	if w.differs != "" {
		want = w.differs
	}
	theirs, ours := w.metricName(w.theirs()), w.metricName(w.ours())
	w.await(w.theirs(), theirs, w.value)
	w.await(w.ours(), ours, want)
	w.awaitActive(w.theirs(), awake || w.active(w.value))
	w.awaitActive(w.ours(), w.active(want))
	if w.says != "" {
		w.awaitWords(ours)
	}
	if w.value == failure || want == failure {
		return
	}
	if theirs != ours {
		w.Errorf("the metric of KEDA's is %s, ours %s", theirs, ours)
	}
	if theirs, ours := w.target(w.theirs()), w.target(w.ours()); theirs != ours {
		w.Errorf("the HPA of KEDA's has target %s, of ours %s", theirs, ours)
	}
}

// metricName waits until KEDA has made up its mind about an object, and returns the name
// of the metric that its HPA asks for; or some other name, if it has no HPA.
func (w *twins) metricName(object string) string {
	w.Helper()
	for deadline := time.Now().Add(90 * time.Second); !w.known(object) && time.Now().Before(deadline); {
		time.Sleep(time.Second)
	}
	hpa, err := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.namespace).Get(w.Context(), "keda-hpa-"+object, metav1.GetOptions{})
	if err != nil || len(hpa.Spec.Metrics) != 1 || hpa.Spec.Metrics[0].External == nil {
		return "s0-none"
	}
	return hpa.Spec.Metrics[0].External.Metric.Name
}

// awaitWords waits until one of the replicas has the reason for the error.
func (w *twins) awaitWords(metric string) {
	w.Helper()
	for range 20 {
		if strings.Contains(w.explanation(), w.says) {
			return
		}
		w.metric(w.ours(), metric)
		time.Sleep(time.Second)
	}
	w.Errorf("no replica explains %q:\n%s", w.says, w.explanation())
}
