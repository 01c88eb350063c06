package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// statusServer is an API server with StabilizedMetrics, for as much of it as writing
// their status needs: a patch of the subresource status changes nothing else, a JSON
// patch whose test fails is Unprocessable, and conditions are as the CRD has them.
type statusServer struct {
	dynamic *dynamicfake.FakeDynamicClient
	// writes and refusals are patches that changed a status and that did not.
	writes, refusals atomic.Int64
}

func newStatusServer(t *testing.T, objects ...runtime.Object) *statusServer {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{metricsGVR: v1alpha1.Kind + "List"}
	f := &statusServer{dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)}
	f.dynamic.PrependReactor("patch", v1alpha1.Resource, func(action k8stesting.Action) (bool, runtime.Object, error) {
		object, err := f.patch(action)
		return true, object, err
	})
	return f
}

// patch is how the API server takes a patch. The fake client calls it in turn.
func (f *statusServer) patch(action k8stesting.Action) (runtime.Object, error) {
	patch, ok := action.(k8stesting.PatchAction)
	if !ok || action.GetSubresource() != "status" || patch.GetPatchType() != types.JSONPatchType {
		return nil, fmt.Errorf("unexpected %+v", action)
	}
	tracker := f.dynamic.Tracker()
	object, err := tracker.Get(metricsGVR, action.GetNamespace(), patch.GetName())
	if err != nil {
		f.refusals.Add(1)
		return nil, err
	}
	before, _ := object.DeepCopyObject().(*unstructured.Unstructured)
	_, after, err := k8stesting.ObjectReaction(tracker)(action)
	if err != nil {
		f.refusals.Add(1)
		return nil, apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	patched, _ := after.(*unstructured.Unstructured)
	stored := before.DeepCopy()
	if err := validate(patched); err != nil {
		f.refusals.Add(1)
		_ = tracker.Update(metricsGVR, before, action.GetNamespace())
		return nil, apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	f.writes.Add(1)
	stored.Object["status"] = patched.Object["status"]
	return stored, tracker.Update(metricsGVR, stored, action.GetNamespace())
}

var (
	legalType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	legalReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

// validate has the rules of metav1.Condition, and of what is required of a decision.
func validate(object *unstructured.Unstructured) error {
	seen, status := map[string]bool{}, presentStatus(object)
	if status.LastDecision == nil || status.LastDecision.Time.IsZero() {
		return errors.New("lastDecision.time: Required value")
	}
	for _, c := range status.Conditions {
		if !legalType.MatchString(c.Type) || !legalReason.MatchString(c.Reason) || seen[c.Type] || c.LastTransitionTime.IsZero() ||
			utf8.RuneCountInString(c.Message) > maxConditionMessage {
			return fmt.Errorf("condition %s/%s", c.Type, c.Reason)
		}
		seen[c.Type] = true
	}
	return nil
}

// write runs Statuses until the test ends. It returns half way between two rounds, so
// that what is reported after whole seconds is written half a second later.
func (f *statusServer) write(t *testing.T) (s *Statuses, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	s = NewStatuses(f.dynamic, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
	time.Sleep(statusRound / 2)
	return s, log
}

func (f *statusServer) resource() dynamic.ResourceInterface {
	return f.dynamic.Resource(metricsGVR).Namespace("shop")
}

func (f *statusServer) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	synctest.Wait()
	object, err := f.resource().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (f *statusServer) put(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := f.resource().Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (f *statusServer) create(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := f.resource().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (f *statusServer) remove(t *testing.T, name string) {
	t.Helper()
	if err := f.resource().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// status is what a user sees, without the messages.
func (f *statusServer) status(t *testing.T, name string) string {
	t.Helper()
	object := f.get(t, name)
	status := presentStatus(object)
	last := status.LastDecision
	if last == nil {
		return "none"
	}
	count, active := "none", ""
	if last.Replicas != nil {
		count = fmt.Sprintf("%d of %d", *last.Replicas, *last.CurrentReplicas)
	}
	if last.Active != nil && *last.Active {
		active = ", active"
	}
	lines := []string{fmt.Sprintf("generation %d, %s reading %s: %s%s, value %s",
		status.ObservedGeneration, last.Time.UTC().Format(time.TimeOnly), last.Reading, count, active, last.Value)}
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s/%s since %s", c.Type, c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.TimeOnly)))
		if c.ObservedGeneration != status.ObservedGeneration {
			t.Errorf("condition %s is of generation %d", c.Type, c.ObservedGeneration)
		}
	}
	return strings.Join(lines, "\n")
}

func bareMetric(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"triggers": []any{}}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	u.SetNamespace("shop")
	u.SetName(name)
	u.SetUID(types.UID("uid-of-" + name))
	return u
}

func called(name string) scaling.Metric {
	return scaling.Metric{
		Ref: scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: name},
		UID: "uid-of-" + name, Generation: 1,
	}
}

// query is one that names itself.
type query string

func (q query) Server() string { return "redis" }
func (q query) String() string { return string(q) }

// counted is a decision for a count because of a reading, limited one that the bounds
// have cut, failed one that there is none.
func counted(replicas int32, reading float64) scaling.Decision {
	policy := &scaling.Policy{Triggers: []scaling.Trigger{{Type: "redis", Target: 4000, Query: query("list jobs")}}}
	return scaling.Decision{
		Key:  scaling.Key{Ref: called("jobs").Ref, Target: "apps/Deployment/worker", Record: "jobs"},
		Mode: scaling.Stabilised, Native: true, Awake: true, Active: true,
		Current: 1, Replicas: replicas, Recommended: replicas, Value: algorithm.Milli(replicas) * 1000,
		Basis:      scaling.Basis{Policy: policy, Readings: []scaling.Reading{{Query: "list jobs", Known: true, Value: reading}}},
		Stabilized: scaling.Checked{Replicas: replicas, Reason: algorithm.ReadyForNewScale},
		Limited:    scaling.Checked{Replicas: replicas, Reason: algorithm.DesiredWithinRange},
		HPA:        scaling.HPA{Name: "worker"},
	}
}

func limited(replicas int32, reading float64) scaling.Decision {
	d := counted(replicas, reading)
	d.Limited.Reason = algorithm.TooManyReplicas
	return d
}

func failed(err error) scaling.Decision {
	key := scaling.Key{Ref: called("jobs").Ref, Target: "apps/Deployment/worker", Record: "jobs"}
	return scaling.Decision{Key: key, Mode: scaling.Stabilised, Native: true, Current: 1, Decider: -1, Err: err}
}

// flapping is limited every other time.
func flapping(i int) scaling.Decision {
	if i%2 == 0 {
		return counted(3, 12)
	}
	return limited(3, 12)
}

// at dates a decision now.
func at(d scaling.Decision) scaling.Decision {
	d.At = time.Now()
	return d
}
