//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testPlantedSecrets: a policy whose login is wrong is held at 4 replicas and fails at
// none, of which Dashpot and KEDA tell in Events. None of them has it, nor has a
// log or a metric of Dashpot's.
func testPlantedSecrets(t *testing.T) {
	const secret = "planted-and-wrong"
	awake, asleep := newWorkload(t, env.pair, 4), newWorkload(t, env.pair, 0)
	for _, w := range []*workload{awake, asleep} {
		w.apply(stabilised(w.dashpot("jobs", map[string]string{"username": secret, "password": secret, "behavior": "{}"})))
	}
	const reason = "WRONGPASS"
	shown := map[string]string{"Events at 4 replicas": awake.told("Held"), "Events at none": asleep.told("KEDAScalerFailed")}
	for where, text := range shown {
		if !strings.Contains(text, reason) {
			t.Errorf("%s do not say %q:\n%s", where, reason, text)
		}
	}
	for i := range 2 {
		log, err := env.cluster.Logs(env.pair.LogName(i))
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := scenario.Get(t.Context(), fmt.Sprintf("http://%s/metrics", env.pair.HTTPAddr(i)))
		if err != nil {
			t.Fatal(err)
		}
		shown[fmt.Sprint("log ", i)], shown[fmt.Sprint("metrics ", i)] = log, metrics
	}
	for where, text := range shown {
		if strings.Contains(text, secret) {
			t.Errorf("%s: the password is told:\n%s", where, text)
		}
	}
}

// told waits for an Event of a reason on the ScaledObject, and returns all there are.
func (w *workload) told(reason string) string {
	w.T.Helper()
	var all string
	for deadline := time.Now().Add(kedaLimit); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		events, err := env.cluster.Events(w.T.Context(), w.Namespace, "ScaledObject", scenario.Worker)
		if err != nil {
			w.T.Fatal(err)
		}
		all = ""
		for _, e := range events {
			all += e.Reason + ": " + e.Message + "\n"
		}
		if strings.Contains(all, reason+": ") {
			return all
		}
	}
	w.T.Errorf("no Event %s; seen:\n%s", reason, all)
	return all
}
