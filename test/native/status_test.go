//go:build e2e

package native_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

const (
	// statusSpacing is the shortest time between two statuses of one metric that differ
	// in nothing but numbers.
	statusSpacing = 15 * time.Second
	// conditionLimit is how long a change of condition may take to show: what nobody asks
	// for is evaluated every 5 s, and changes are written every second.
	conditionLimit = 8 * time.Second
)

// written is one write of a StabilizedMetric.
type written struct {
	at      time.Time
	version string
	status  v1alpha1.Status
}

// findings are the conditions without the words that move with every decision.
func (w written) findings() string {
	var b strings.Builder
	for _, c := range w.status.Conditions {
		fmt.Fprintf(&b, "%s=%s/%s ", c.Type, c.Status, c.Reason)
	}
	return b.String()
}

// testStatusRate lets the queue change every second: the status follows every 15 s,
// and at once when a condition changes.
func testStatusRate(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 37)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	w.awaitDecided(jobs, 8)
	writes := w.watchWrites()
	for i := range 48 {
		w.Queue(jobs, 36+i%5) // 8 replicas still
		time.Sleep(time.Second)
	}
	h := transparent()
	h.behavior = percentOnly // a finding of its own: CannotWake
	w.scale(h)
	changed := time.Now()
	w.awaitCondition(jobs, "CannotWake", "CannotWake", "")
	if took := time.Since(changed); took > conditionLimit {
		t.Errorf("a new condition took %v to show", took)
	} else {
		t.Logf("a new condition showed after %v", took.Round(10*time.Millisecond))
	}
	checkWrites(t, writes())
}

func checkWrites(t *testing.T, list []written) {
	t.Helper()
	for i := 2; i < len(list); i++ { // the first is what the watch began with
		apart := list[i].at.Sub(list[i-1].at)
		same := list[i].findings() == list[i-1].findings()
		t.Logf("%s written %.1f s after %s, %s", list[i].version, apart.Seconds(), list[i-1].version, list[i].findings())
		if same && apart < statusSpacing-500*time.Millisecond {
			t.Errorf("written again after %v, although no condition had changed", apart)
		}
	}
	if n := len(list) - 1; n < 2 {
		t.Errorf("written %d times in 48 s while the numbers moved, want 2 at least", n)
	}
}

// watchWrites notes every write of the metric jobs until the result is called.
func (w *workload) watchWrites() func() []written {
	w.T.Helper()
	watcher, err := env.cluster.Dynamic.Resource(stabilizedMetrics).Namespace(w.Namespace).Watch(w.T.Context(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", jobs).String(),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	var list []written
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			var m v1alpha1.StabilizedMetric
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m); err != nil {
				w.T.Errorf("read a StabilizedMetric: %v", err)
				return
			}
			list = append(list, written{at: time.Now(), version: m.ResourceVersion, status: m.Status})
		}
	}()
	return func() []written {
		watcher.Stop()
		<-done
		return list
	}
}

// successionLimit is how long nobody may write after a leader was killed. The Lease
// holds for 15 s from when the other one has seen it renewed, which may be 4.4 s later;
// it looks every 4.4 s at most; and it comes to a metric within 5 s, and writes a second
// later at most.
const successionLimit = 30 * time.Second

// testLeaderKilled kills the adapter that writes statuses: the other one takes over,
// and the one that comes back leaves it at that.
func testLeaderKilled(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 20)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	w.awaitDecided(jobs, 4)
	leader := w.leader()
	killed := w.replicaCalled(leader)
	env.adapters.Kill(killed)
	at := time.Now()
	w.Queue(jobs, 40)
	w.awaitDecidedWithin(successionLimit, jobs, 8)
	t.Logf("leader killed, status written by the other after %.1f s", time.Since(at).Seconds())
	next := w.leader()
	if next == leader {
		t.Errorf("the leader is still %s", leader)
	}
	if err := env.adapters.Restart(t.Context(), killed); err != nil {
		t.Fatal(err)
	}
	w.Steady(w.Record(), 5*time.Second, 8)
	if now := w.leader(); now != next {
		t.Errorf("the leader changed from %s to %s without need", next, now)
	}
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound", "")
}

// leader is who holds the Lease.
func (w *workload) leader() string {
	w.T.Helper()
	lease, err := env.cluster.Client.CoordinationV1().Leases(cluster.AdapterNamespace).Get(w.T.Context(), cluster.AdapterLease, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		w.T.Fatalf("no leader: %v", err)
	}
	return *lease.Spec.HolderIdentity
}

// replicaCalled is the index of the adapter that has an identity, as its log says.
func (w *workload) replicaCalled(identity string) int {
	w.T.Helper()
	for i := range env.adapters.Count() {
		log, err := env.cluster.Logs(env.adapters.LogName(i))
		if err != nil {
			w.T.Fatal(err)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "this replica leads") && strings.Contains(line, identity) {
				return i
			}
		}
	}
	w.T.Fatalf("no adapter has logged that it leads as %s", identity)
	return 0
}
