//go:build e2e

package e2e

import (
	"maps"
	"strings"
	"testing"
)

// failure is what a metric has in place of a value.
const failure = "error"

// twinCase is one trigger, once as KEDA's own and once as ours.
type twinCase struct {
	name string
	// metadata is that of both, ours and keda what each needs besides.
	metadata, ours, keda map[string]string
	// secret is given to KEDA by a TriggerAuthentication, and to us by FromEnv.
	secret map[string]string
	// value is the metric's value at KEDA's adapter, in both cases; or failure.
	value string
	// idle: a value above 0 is no work, for it is not above the activation threshold.
	idle bool
	// awake: KEDA's own is active with a value of 0.
	awake bool
	// differs is our value where it is another one, because of reason.
	differs, reason string
	// says is in the error that Dashpot explains.
	says string
}

// active reports whether a side that reports a value has work to report.
func (c twinCase) active(value string) bool { return value != failure && value != "0" && !c.idle }

// testTwins asks KEDA's adapter for what KEDA's own trigger of a type and ours report of
// every case. Both report the same under the same name and with the same target, and both
// are active or not; or the table says why not.
func testTwins(t *testing.T, kind string, cases []twinCase) {
	t.Helper()
	side := newKedaSide(t, kind)
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if (c.differs == "") != (c.reason == "") || c.differs == c.value {
					t.Fatalf("a difference has a reason, and nothing else has one: %q, %q", c.differs, c.reason)
				}
				w := &twins{kedaSide{t, side.namespace}, c, kind}
				w.apply()
				w.check()
			})
		}
	})
}

// twins is the two ScaledObjects of a case, over two Deployments that sleep, because an
// error shows as such only at 0 replicas.
type twins struct {
	kedaSide
	twinCase

	kind string
}

func (w *twins) theirs() string { return w.name + "-theirs" }
func (w *twins) ours() string   { return w.name + "-ours" }

// apply applies both.
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
	w.applyScaled(w.ours(), environment, externalTrigger(w.kind, merged(w.metadata, w.twinCase.ours, fromEnv)))
}

// externalTrigger is a trigger of ours of some type.
func externalTrigger(kind string, metadata map[string]string) map[string]any {
	return map[string]any{"type": "external", "metadata": merged(map[string]string{
		"scalerAddress": env.pair.Target(), "source": kind, "interval": "1",
	}, metadata)}
}

func merged(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

// check waits until both report what they should.
func (w *twins) check() {
	w.Helper()
	want := w.value
	if w.differs != "" {
		want = w.differs
	}
	theirs, theirTarget := w.external(w.theirs())
	ours, ourTarget := w.external(w.ours())
	w.await(w.theirs(), theirs, w.value)
	w.await(w.ours(), ours, want)
	w.awaitActive(w.theirs(), w.awake || w.active(w.value))
	w.awaitActive(w.ours(), w.active(want))
	if w.says != "" {
		w.awaitWords(w.ours(), w.says)
	}
	if w.value == failure || want == failure {
		return
	}
	if theirs != ours || theirTarget != ourTarget {
		w.Errorf("the HPA of KEDA's has metric %s with target %s, of ours %s with %s", theirs, theirTarget, ours, ourTarget)
	}
}
