package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// The reasons of our Events.
const (
	reasonInvalidPolicy = "InvalidPolicy"
	reasonHeld          = "Held"
	reasonResumed       = "Resumed"
)

// maxMessage is how many bytes of text an Event carries: a policy may have many
// problems, each of which quotes what the user wrote.
const maxMessage = 4096

// notice is what there is to say of a metric: nothing if it is well.
type notice struct{ reason, text string }

func (n notice) isWell() bool { return n.reason == "" }

// same reports whether two notices are no news to each other. The text of an
// invalid policy is, for it says what is left to mend; that of a failing read
// changes with every port number.
func (n notice) same(other notice) bool {
	return n.reason == other.reason && (n.reason != reasonInvalidPolicy || n.text == other.text)
}

// noticeOf reads a decision. ok is false for one that says nothing: an error at
// zero replicas that is not the policy's, which KEDA reports in its own Events.
func noticeOf(d *scaling.Decision) (n notice, ok bool) {
	switch {
	case errors.Is(d.Held, scaling.ErrBadPolicy):
		return notice{reasonInvalidPolicy, oneLine(d.Held)}, true
	case errors.Is(d.Err, scaling.ErrBadPolicy):
		return notice{reasonInvalidPolicy, oneLine(d.Err)}, true
	case d.Native || d.Key.Kind == scaling.KindStabilizedMetric:
		return nativeNoticeOf(d)
	case d.Held != nil:
		return notice{reasonHeld, fmt.Sprintf("held at %d replicas: %s", d.Replicas, oneLine(d.Held))}, true
	case d.Err != nil:
		return notice{}, false
	case len(d.HPA.Owners.Names) > 0: // nobody else names them all
		return worstOf(d, finding{"SharedTarget", true}), true
	}
	return notice{}, true
}

// nativeNoticeOf reads a decision that an HPA asks for itself, which has nobody else to
// tell of it. The words are those of its worst condition, with the cure. What comes and
// goes with the count (SwallowedByTolerance) or is the operator's to mend (Degraded) is
// in the status only. Nothing is said while no HPA asks for the metric, or none is seen
// to yet: that is how a metric begins.
func nativeNoticeOf(d *scaling.Decision) (n notice, ok bool) {
	if errors.Is(d.Err, scaling.ErrUnobserved) || callerLeft(d) {
		return notice{}, false
	}
	return worstOf(d, finding{"AmbiguousTarget", true}, finding{"ScalingActive", false}, finding{"ScaledToZero", true},
		finding{"SharedTarget", true}, finding{"CannotWake", true}, finding{"HPANotTransparent", true}), true
}

// finding is a condition's type with the status that is bad.
type finding struct {
	kind   string
	status bool
}

// worstOf is the first of these findings that a decision has, in its words.
func worstOf(d *scaling.Decision, findings ...finding) notice {
	conditions := scaling.Explain(*d).Conditions
	for _, bad := range findings {
		for _, c := range conditions {
			if c.Type == bad.kind && c.Status == bad.status {
				return notice{c.Reason, c.Message}
			}
		}
	}
	return notice{}
}

// oneLine joins the parts of a joined error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// event is the type, reason and message of a notice.
func (n notice) event(metric string) (kind, reason, message string) {
	if n.isWell() {
		return corev1.EventTypeNormal, reasonResumed, "metric " + metric + ": the policy is followed again"
	}
	return corev1.EventTypeWarning, n.reason, cut("metric "+metric+": "+n.text, maxMessage)
}

// eventWriter writes Events to the API server.
type eventWriter struct {
	client    kubernetes.Interface
	component string
	reference func(scaling.Ref) corev1.ObjectReference
}

// write makes an Event of a notice.
func (w eventWriter) write(ctx context.Context, about subject, n notice, now time.Time) error {
	kind, reason, message := n.event(about.metric)
	object := w.reference(about.ref)
	at := metav1.NewTime(now)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: object.Namespace, Name: eventName(object, about.metric, reason)},
		InvolvedObject: object,
		Type:           kind, Reason: reason, Message: message,
		Source:              corev1.EventSource{Component: w.component},
		ReportingController: w.component,
		FirstTimestamp:      at, LastTimestamp: at, Count: 1,
	}
	if err := w.put(ctx, event); err != nil {
		return fmt.Errorf("event %s about %s %s/%s: %w", reason, object.Kind, object.Namespace, object.Name, err)
	}
	return nil
}

// put creates the Event, or counts it up if it exists. Its name follows from
// object, metric and reason, so that the replicas of a scaler, which all see the
// same, share one: the first creates it, and whoever comes within the spacing
// finds it said. A conflict is such a case too. In a namespace that is gone or
// going there is nobody to tell.
func (w eventWriter) put(ctx context.Context, event *corev1.Event) error {
	events := w.client.CoreV1().Events(event.Namespace)
	_, err := events.Create(ctx, event, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case !apierrors.IsAlreadyExists(err):
		return err
	}
	told, err := events.Get(ctx, event.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if told.Message == event.Message && event.LastTimestamp.Sub(told.LastTimestamp.Time) < eventSpacing {
		return nil
	}
	told.Count++
	told.Message, told.LastTimestamp = event.Message, event.LastTimestamp
	if _, err := events.Update(ctx, told, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// eventName is the object's name, as is the custom, and a hash.
func eventName(object corev1.ObjectReference, metric, reason string) string {
	parts := strings.Join([]string{string(object.UID), object.Kind, metric, reason}, "\x00")
	hash := sha256.Sum256([]byte(parts))
	name := object.Name[:min(len(object.Name), 200)]
	return fmt.Sprintf("%s.%x", strings.TrimRight(name, ".-"), hash[:8])
}
