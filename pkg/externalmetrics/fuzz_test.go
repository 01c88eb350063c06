package externalmetrics

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// FuzzQuery asks for anything. Nothing panics, and what is 200 is one item of the one
// metric that there is, in whatever encoding was asked for.
func FuzzQuery(f *testing.F) {
	s := serve(f, Options{})
	for _, seed := range [][4]string{
		{"shop", "jobs", "", "application/json"},
		{"shop", "jobs", "labelSelector=team%3Dcheckout&pretty=true", "application/yaml;q=0.5, */*"},
		{"shop", "jobs", "", "application/yaml"},
		{"shop", "jobs", "labelSelector=team%3Dcheckout", "application/vnd.kubernetes.protobuf"},
		{"shop", "jobs", "labelSelector=team%3Dsearch", "application/vnd.kubernetes.protobuf"},
		{"shop", "jobs", "watch=1", "application/vnd.kubernetes.protobuf;stream=watch"},
		{"shop", "jobs", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "*/*;stream=watch"},
		{"shop", "jobs", "limit=-1&continue=x&timeoutSeconds=0&timeout=x", "application/json;as=Table;v=v1;g=meta.k8s.io"},
		{"shop", "status", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		{"", "namespaces", "fieldSelector=metadata.name%3Djobs", "text/html"},
		{"..", "", "", "application/vnd.kubernetes.protobuf"},
		{"..", "jobs/../jobs", "labelSelector=%zz", ";;=,"},
		{"shop", "jobs", "labelSelector=a notin (", "application/json;v=9"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	group, err := newGroup(DefaultGroup)
	if err != nil {
		f.Fatal(err)
	}
	decoder := group.codecs.UniversalDeserializer()
	handler := s.generic.Handler
	f.Fuzz(func(t *testing.T, namespace, name, query, accept string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + namespace + "/" + name, RawQuery: query}
		r.RequestURI = r.URL.RequestURI()
		r.Header.Set("Authorization", "Bearer alice-token")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Header().Get("Retry-After") != "" {
			t.Errorf("%d tells the HPA controller to wait: %s", w.Code, w.Body)
		}
		if w.Code == http.StatusOK {
			checkAnswer(t, decoder, w.Body.Bytes())
		}
	})
}

// checkAnswer decodes JSON, YAML or protobuf.
func checkAnswer(t *testing.T, decoder runtime.Decoder, body []byte) {
	t.Helper()
	object, _, err := decoder.Decode(body, nil, nil)
	if err != nil {
		t.Fatalf("%v: %q", err, body)
	}
	switch answer := object.(type) {
	case *v1beta1.ExternalMetricValueList:
		if len(answer.Items) != 1 || answer.Items[0].MetricName != "jobs" || answer.Items[0].Value.String() != "7500m" {
			t.Errorf("got %+v, want jobs 7500m", answer.Items)
		}
	case *metav1.APIResourceList, *metav1.APIGroup, *metav1.APIGroupList: // discovery
	default:
		t.Errorf("got a %T: %q", object, body)
	}
}

// FuzzStatus turns any words into a status of its own code.
func FuzzStatus(f *testing.F) {
	f.Add("shop", "jobs", "a\nb")
	f.Fuzz(func(t *testing.T, namespace, name, words string) {
		for _, cause := range []error{scaling.ErrNoSuchMetric, scaling.ErrBadPolicy, scaling.ErrAmbiguousTarget, scaling.ErrNotRead} {
			if code := statusCode(toStatus(namespace, name, wrapped{words, cause})); code < 400 || code > 503 {
				t.Errorf("%v: code %d", cause, code)
			}
		}
	})
}

// wrapped is an error of any words.
type wrapped struct {
	words string
	cause error
}

func (w wrapped) Error() string { return w.words }
func (w wrapped) Unwrap() error { return w.cause }
