package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

var (
	errBadList = fmt.Errorf("%w: listLength is \"x\", want a number above 0", scaling.ErrBadPolicy)
	errTwoBad  = errors.Join(errBadList, fmt.Errorf("%w: interval is \"1h\", want 1s to 5m", scaling.ErrBadPolicy))
	errTimeout = fmt.Errorf("%w: list jobs: i/o timeout", scaling.ErrNotRead)
)

func decision(held, err error) scaling.Decision {
	return scaling.Decision{Key: scaling.Key{Ref: worker, Target: "apps/Deployment/worker", Record: "jobs"}, Replicas: 4, Held: held, Err: err}
}

// tell reports a decision.
func tell(e *Events, d scaling.Decision) { e.Report(&d) }

// reporters runs the Events of n replicas against one API server. It is to be
// called in a bubble, and ends with it.
func reporters(t *testing.T, n int) (f fakes, log *bytes.Buffer, events []*Events) {
	t.Helper()
	f, log = newFakes(), &bytes.Buffer{}
	ctx, cancel := context.WithCancel(t.Context())
	about := func(r scaling.Ref) corev1.ObjectReference {
		return corev1.ObjectReference{APIVersion: "keda.sh/v1alpha1", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: "uid-of-worker"}
	}
	done := make(chan error, n)
	for range n {
		e := NewEvents(f.kube, "dashpot", about, slog.New(slog.NewTextHandler(log, nil)))
		events = append(events, e)
		go func() { done <- e.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range events {
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	})
	return f, log, events
}

// told lists the Events on the server, as type reason count: message.
func told(t *testing.T, f fakes) []string {
	t.Helper()
	synctest.Wait()
	list, err := f.kube.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s x%d: %s", e.Type, e.Reason, e.Count, e.Message))
	}
	slices.Sort(lines)
	return lines
}

func wantTold(t *testing.T, f fakes, want ...string) {
	t.Helper()
	if got := told(t, f); !slices.Equal(got, want) {
		t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	saidInvalid = "metric jobs: invalid policy: listLength is \"x\", want a number above 0"
	saidHeld    = "Warning Held x1: metric jobs: held at 4 replicas: trigger not read: list jobs: i/o timeout"
	saidResumed = "Normal Resumed x1: metric jobs: the policy is followed again"
)

// A story of one metric, told one decision every minute, by one replica.
func TestEventsAreTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		steps := []struct {
			name string
			d    scaling.Decision
			want []string
		}{
			{"well from the start", decision(nil, nil), nil},
			{"no answer at zero is KEDA's to tell", decision(nil, errTimeout), nil},
			{"bad at four replicas", decision(errBadList, nil), []string{"Warning InvalidPolicy x1: " + saidInvalid}},
			{"still", decision(errBadList, nil), []string{"Warning InvalidPolicy x1: " + saidInvalid}},
			{"the same at zero replicas", decision(nil, errBadList), []string{"Warning InvalidPolicy x1: " + saidInvalid}},
			{"worse", decision(errTwoBad, nil), []string{"Warning InvalidPolicy x2: " + saidInvalid + "; invalid policy: interval is \"1h\", want 1s to 5m"}},
			{"mended, but not read", decision(nil, errTimeout), []string{"Warning InvalidPolicy x2: " + saidInvalid + "; invalid policy: interval is \"1h\", want 1s to 5m"}},
			{"well", decision(nil, nil), []string{saidResumed, "Warning InvalidPolicy x2: " + saidInvalid + "; invalid policy: interval is \"1h\", want 1s to 5m"}},
		}
		for _, step := range steps {
			tell(events[0], step.d)
			t.Log(step.name)
			wantTold(t, f, step.want...)
			time.Sleep(time.Minute)
		}
	})
}

func TestEventNamesItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		tell(events[0], decision(errTimeout, nil))
		wantTold(t, f, saidHeld)
		list, err := f.kube.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e := list.Items[0]
		want := corev1.ObjectReference{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Namespace: "shop", Name: "worker", UID: "uid-of-worker"}
		if e.InvolvedObject != want || e.Source.Component != "dashpot" || e.ReportingController != "dashpot" || e.LastTimestamp.IsZero() {
			t.Errorf("got %+v", e)
		}
	})
}

// A held metric is held for another port number with each attempt. That is no news.
func TestHeldIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		tell(events[0], decision(errTimeout, nil))
		time.Sleep(time.Minute)
		tell(events[0], decision(fmt.Errorf("%w: list jobs: port 40001", scaling.ErrNotRead), nil))
		wantTold(t, f, saidHeld)
	})
}

// What flaps is told every ten seconds at most, and as it is by then.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		for range 30 { // Held at 0, 2, 4 … 58 s, well at 1, 3 … 59 s
			tell(events[0], decision(errTimeout, nil))
			time.Sleep(time.Second)
			tell(events[0], decision(nil, nil))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		tell(events[0], decision(nil, nil))
		synctest.Wait()
		writes := 0
		for _, action := range f.kube.Actions() {
			if action.GetVerb() == "create" || action.GetVerb() == "update" {
				writes++
			}
		}
		if writes > 2*7 {
			t.Errorf("%d writes in a minute of flapping, want one in 10 s", writes)
		}
		if lines := told(t, f); len(lines) != 2 {
			t.Errorf("told %q, want that it was held and that it resumed", lines)
		}
	})
}

func TestTwoReplicasSayItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 2)
		tell(events[0], decision(errTimeout, nil))
		time.Sleep(5 * time.Second)
		tell(events[1], decision(errTimeout, nil))
		wantTold(t, f, saidHeld)
		time.Sleep(time.Minute)
		tell(events[0], decision(nil, nil))
		tell(events[1], decision(nil, nil))
		wantTold(t, f, saidResumed, saidHeld)
		time.Sleep(time.Minute)
		tell(events[0], decision(errTimeout, nil))
		wantTold(t, f, saidResumed, strings.Replace(saidHeld, "x1", "x2", 1))
	})
}

// What one replica has not said yet is news, however soon.
func TestTwoReplicasSayDifferentThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 2)
		tell(events[0], decision(errBadList, nil))
		time.Sleep(5 * time.Second)
		tell(events[1], decision(errTwoBad, nil))
		wantTold(t, f, "Warning InvalidPolicy x2: "+saidInvalid+"; invalid policy: interval is \"1h\", want 1s to 5m")
	})
}

func TestTwoMetricsOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		mails := decision(errTimeout, nil)
		mails.Key.Record = "mails"
		tell(events[0], decision(errTimeout, nil))
		tell(events[0], mails)
		wantTold(t, f, saidHeld, strings.Replace(saidHeld, "metric jobs", "metric mails", 1))
	})
}

// An API server that is away is asked again, and logged once.
func TestEventsOutliveTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log, events := reporters(t, 1)
		var away atomic.Bool
		away.Store(true)
		f.kube.PrependReactor("create", "events", func(k8stesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, apierrors.NewServiceUnavailable("gone fishing")
		})
		tell(events[0], decision(errTimeout, nil))
		time.Sleep(time.Minute)
		synctest.Wait()
		away.Store(false)
		time.Sleep(eventSpacing)
		wantTold(t, f, saidHeld)
		if n := strings.Count(log.String(), "gone fishing"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, log)
		}
	})
}

func TestNobodyIsLeftToTell(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, refusal := range map[string]error{"namespace gone": gone, "namespace going": terminating} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, log, events := reporters(t, 1)
				var attempts atomic.Int32
				f.kube.PrependReactor("create", "events", func(k8stesting.Action) (bool, runtime.Object, error) {
					attempts.Add(1)
					return true, nil, refusal
				})
				tell(events[0], decision(errTimeout, nil))
				time.Sleep(time.Minute)
				synctest.Wait()
				if attempts.Load() != 1 || log.Len() != 0 {
					t.Errorf("%d attempts, log %q; want one and silence", attempts.Load(), log)
				}
			})
		})
	}
}

// A server that fails makes thousands of metrics Held at once. Nobody waits for
// their Events, and the API server gets 25 at once and 5 per second then.
func TestThousandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, events := reporters(t, 1)
		started := time.Now()
		for i := range maxTroubles + 100 {
			d := decision(errTimeout, nil)
			d.Key.Name = fmt.Sprintf("worker-%d", i)
			tell(events[0], d)
		}
		if took := time.Since(started); took != 0 {
			t.Errorf("reporting took %s", took)
		}
		time.Sleep(10 * time.Second)
		if n := len(told(t, f)); n < 70 || n > 76 {
			t.Errorf("%d Events after 10 s, want 25 + 50", n)
		}
		if n := len(events[0].troubles); n != maxTroubles {
			t.Errorf("%d metrics are remembered, want %d", n, maxTroubles)
		}
	})
}

func TestTroublesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, events := reporters(t, 1)
		count := func() int {
			synctest.Wait()
			events[0].mu.Lock()
			defer events[0].mu.Unlock()
			return len(events[0].troubles)
		}
		tell(events[0], decision(errTimeout, nil))
		time.Sleep(2 * forgetAfter)
		if n := count(); n != 0 {
			t.Errorf("%d metrics are remembered that nobody asks for", n)
		}
	})
}

func TestLongMessagesAndNames(t *testing.T) {
	_, _, message := notice{reasonHeld, strings.Repeat("ä", maxMessage)}.event("jobs")
	if len(message) > maxMessage || !strings.HasSuffix(message, "ä…") {
		t.Errorf("message of %d bytes ends in %q", len(message), message[len(message)-8:])
	}
	name := eventName(corev1.ObjectReference{Name: strings.Repeat("a", 199) + "." + strings.Repeat("b", 53)}, "jobs", reasonHeld)
	if len(name) > 253 || strings.Contains(name, "..") {
		t.Errorf("name %s", name)
	}
}
