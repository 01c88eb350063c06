package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/external_metrics"
)

// maxListed is how many names of metrics one delegate may add to discovery.
const maxListed = 10_000

// values asks for the values of a metric. The error is a *apierrors.StatusError, that of
// the delegate itself if it has refused in the words of Kubernetes.
func (s *server) values(ctx context.Context, q query) (*external_metrics.ExternalMetricValueList, error) {
	for _, name := range []string{q.namespace, q.metric} {
		if problems := content.IsPathSegmentName(name); name == "" || len(problems) > 0 {
			return nil, s.status(http.StatusBadRequest, fmt.Errorf("%q is not a name that can be asked for", name))
		}
	}
	where := "/namespaces/" + url.PathEscape(q.namespace) + "/" + url.PathEscape(q.metric)
	if q.selector != nil && !q.selector.Empty() {
		where += "?" + url.Values{"labelSelector": {q.selector.String()}}.Encode()
	}
	a, err := s.get(ctx, where)
	if err != nil {
		return nil, s.status(http.StatusServiceUnavailable, err)
	}
	if a.status != http.StatusOK {
		return nil, s.refusal(a)
	}
	// The types of v1beta1 and the library's own have the same fields by the same names.
	var list external_metrics.ExternalMetricValueList
	if err := a.decode(&list); err != nil || list.Kind != "ExternalMetricValueList" {
		return nil, s.status(http.StatusBadGateway, fmt.Errorf("not a list of metric values: %s", a.excerpt()))
	}
	list.TypeMeta = metav1.TypeMeta{} // it is written in the version that is asked for
	return &list, nil
}

// names are the metrics that the delegate shows to everybody, sorted.
func (s *server) names(ctx context.Context) ([]string, error) {
	a, err := s.get(ctx, "")
	if err != nil {
		return nil, s.named(err)
	}
	var list metav1.APIResourceList
	if err := a.decode(&list); a.status != http.StatusOK || err != nil {
		return nil, s.named(fmt.Errorf("%d, not a list of resources: %s", a.status, a.excerpt()))
	}
	var names []string
	for _, r := range list.APIResources {
		if r.Name != "" && len(content.IsPathSegmentName(r.Name)) == 0 {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxListed)], nil
}

// refusal is the error of an answer without success. It keeps code, reason and text of a
// Status, but for two things. It never says when to retry: client-go would sleep for as
// long inside the HPA controller, and the next sync is the retry. And 401 is about our own
// credentials; whoever has asked us has good ones.
func (s *server) refusal(a answer) error {
	var said metav1.Status
	if a.status < http.StatusBadRequest || a.decode(&said) != nil || said.Kind != "Status" || said.Message == "" {
		words := fmt.Errorf("%d %s: %s", a.status, http.StatusText(a.status), a.excerpt())
		if a.status < http.StatusBadRequest {
			return s.status(http.StatusBadGateway, words)
		}
		return s.status(a.status, words)
	}
	if a.status == http.StatusUnauthorized {
		return s.status(http.StatusServiceUnavailable, fmt.Errorf("our credentials are refused: %s", a.words(said.Message)))
	}
	said.TypeMeta = metav1.TypeMeta{}
	said.Status, said.Code, said.Message = metav1.StatusFailure, int32(a.status), a.words(said.Message) //nolint:gosec // three digits
	if said.Details != nil {
		said.Details.RetryAfterSeconds = 0
	}
	return &apierrors.StatusError{ErrStatus: said}
}

// status is an error that names the delegate. Without a reason it is never taken for the
// delegate's own word that there is no such metric.
func (s *server) status(code int, err error) error {
	reason := metav1.StatusReasonUnknown
	if code == http.StatusServiceUnavailable {
		reason = metav1.StatusReasonServiceUnavailable
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: s.named(err).Error(), //nolint:gosec // three digits
	}}
}

// lacks reports whether a delegate says that it has no such metric.
func lacks(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonNotFound
}

func (a answer) decode(into any) error {
	if len(a.body) > maxAnswer {
		return errors.New("too long")
	}
	return json.Unmarshal(a.body, into)
}

// excerpt is the beginning of an answer that is nothing we know, on one line and quoted.
func (a answer) excerpt() string {
	const most = 200
	if len(a.body) > maxAnswer {
		return fmt.Sprintf("more than %d bytes", maxAnswer)
	}
	text := strings.TrimSpace(a.hide(string(a.body)))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}

// words are those of a Status, of any length.
func (a answer) words(said string) string {
	said = a.hide(said)
	if len(said) > maxWords {
		said = strings.ToValidUTF8(said[:maxWords], "") + "…"
	}
	return said
}

// hide takes our credentials out of what a server has echoed.
func (a answer) hide(said string) string {
	if a.secret == "" {
		return said
	}
	return strings.ReplaceAll(said, a.secret, "***")
}
