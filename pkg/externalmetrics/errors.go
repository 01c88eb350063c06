package externalmetrics

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// maxWords is how many bytes of an error are quoted. The HPA controller keeps them in the
// HPA's status, and a query may be of any length.
const maxWords = 4096

// toStatus turns an error about a StabilizedMetric into the status that the HPA's
// condition FailedGetExternalMetric quotes: 4xx for what the user has to mend, 503 for
// what passes by itself.
//
// No status says when to retry. client-go would sleep for as long inside the HPA
// controller, up to ten times over, and a worker that sleeps serves no other HPA; the
// next sync is the retry.
func toStatus(namespace, name string, err error) error {
	code, reason := int32(http.StatusServiceUnavailable), metav1.StatusReasonServiceUnavailable
	switch {
	case errors.Is(err, scaling.ErrNoSuchMetric):
		code, reason = http.StatusNotFound, metav1.StatusReasonNotFound
	case errors.Is(err, scaling.ErrBadPolicy):
		code, reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	case errors.Is(err, scaling.ErrAmbiguousTarget):
		code, reason = http.StatusConflict, metav1.StatusReasonConflict
	}
	words := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "…"
	}
	return status(code, reason, fmt.Sprintf("StabilizedMetric %s/%s: %s", namespace, name, words))
}

// notSelected is the answer where the name is right and the labels are not.
func notSelected(metric scaling.Metric, selector labels.Selector) error {
	return status(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf(
		"StabilizedMetric %s/%s: its labels %q do not match the selector %q; an HPA needs none to find it",
		metric.Ref.Namespace, metric.Ref.Name, labels.Set(metric.Labels), selector))
}

// reservedName is the answer for a name that Kubernetes takes for a part of the
// namespace: it reads .../namespaces/shop/status as the status of shop, and asks whether
// the caller may see that.
func reservedName(namespace, name string) error {
	return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf(
		"no metric can be called %q: Kubernetes takes namespaces/%s/%s for a part of the namespace; rename the StabilizedMetric", name, namespace, name))
}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// statusCode is the HTTP status that an error of this package leads to.
func statusCode(err error) int {
	var known apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &known):
		return int(known.Status().Code)
	}
	return http.StatusInternalServerError
}
