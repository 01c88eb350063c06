//go:build e2e

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testTwoTriggersEdited: two triggers of ours in one ScaledObject, and listLength goes
// 5, 50, 5 under load. The window keeps the count throughout.
func testTwoTriggersEdited(t *testing.T) {
	w := newWorkload(t, env.pair, 0)
	metadata := map[string]string{"cooldownPeriod": "60", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 60}"}
	w.Queue("first", 100)
	w.Queue("second", 30)
	both := func(listLength string) object {
		first := maps.Clone(metadata)
		first["listLength"] = listLength
		return stabilised(w.dashpot("first", first), w.dashpot("second", metadata))
	}
	r := w.Record()
	w.apply(both("5"))
	w.Await(20, time.Minute)
	w.Expect(r, 0, 1, 20)
	for _, listLength := range []string{"50", "5"} {
		w.apply(both(listLength))
		time.Sleep(15 * time.Second)
		w.Expect(r, 0, 1, 20)
	}
	w.Queue("first", 0)
	w.Await(6, 2*time.Minute) // the second trigger's
	w.Expect(r, 0, 1, 20, 6)
}

// testModesSwitched goes from pass-through to stabilised and back under load: the count
// stays, and the window remembers what came before the switch.
func testModesSwitched(t *testing.T) {
	w := newWorkload(t, env.pair, 0)
	w.Queue("jobs", 100)
	window := map[string]string{"cooldownPeriod": "60", "behavior": jumpUp + "\nscaleDown: {stabilizationWindowSeconds: 60}"}
	r := w.Record()
	w.apply(stabilised(w.dashpot("jobs", nil)))
	w.Await(20, time.Minute)
	for _, metadata := range []map[string]string{window, nil, window} {
		w.apply(stabilised(w.dashpot("jobs", metadata)))
		time.Sleep(10 * time.Second)
		w.Expect(r, 0, 1, 20)
	}
	w.Queue("jobs", 25)
	fell := time.Now()
	at := w.Await(5, 2*time.Minute)
	if held := at.Sub(fell); held < 57*time.Second {
		t.Errorf("20 was held for %v after the queue fell, want the window of 60s", held)
	}
	w.Expect(r, 0, 1, 20, 5)
}

// remade deletes and makes the ScaledObject again within 5 s while 12 replicas work.
func remade(t *testing.T, p *pair, disturb func()) {
	w := newWorkload(t, p, 12)
	w.Queue("jobs", 60)
	o := stabilised(w.dashpot("jobs", map[string]string{"cooldownPeriod": "20", "behavior": "scaleDown: {stabilizationWindowSeconds: 20}"}))
	w.apply(o)
	r := w.Record()
	w.Steady(r, 10*time.Second, 12)
	objects := env.cluster.Dynamic.Resource(scaledObjects).Namespace(w.Namespace)
	if err := objects.Delete(t.Context(), scenario.Worker, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	disturb()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		list, err := objects.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			break
		}
	}
	w.apply(o)
	w.Steady(r, 30*time.Second, 12)
}

func testObjectsMadeAgain(t *testing.T) { remade(t, env.pair, func() {}) }

func testObjectsMadeAgainKilled(t *testing.T) {
	p := ownPair(t)
	remade(t, p, func() { p.killBoth(t) })
}

// testExamplesApply applies every example that is for KEDA to the real API server.
func testExamplesApply(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(filepath.Dir(file)), "native-") { // of the other door
			continue
		}
		namespace, err := env.cluster.CreateNamespace(t.Context(), "example")
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := env.cluster.Apply(t.Context(), namespace, string(manifest)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		removeScaledObjects(t, namespace)
	}
}
