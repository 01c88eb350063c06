package externalmetrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// FuzzQuery asks for anything. Nothing panics, and what is 200 is one item of the one
// metric that there is.
func FuzzQuery(f *testing.F) {
	s := serve(f, Options{})
	for _, seed := range [][4]string{
		{"shop", "jobs", "", "application/json"},
		{"shop", "jobs", "labelSelector=team%3Dcheckout&pretty=true", "application/yaml;q=0.5, */*"},
		{"shop", "jobs", "labelSelector=team%3Dsearch", "application/vnd.kubernetes.protobuf"},
		{"shop", "jobs", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "*/*;stream=watch"},
		{"shop", "jobs", "limit=-1&continue=x&timeoutSeconds=0&timeout=x", "application/json;as=Table;v=v1;g=meta.k8s.io"},
		{"shop", "status", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		{"", "namespaces", "fieldSelector=metadata.name%3Djobs", "text/html"},
		{"..", "jobs/../jobs", "labelSelector=%zz", ";;=,"},
		{"shop", "jobs", "labelSelector=a notin (", "application/json;v=9"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
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
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
			return
		}
		var list v1beta1.ExternalMetricValueList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		switch {
		case list.Kind == "APIResourceList" || list.Kind == "APIGroup" || list.Kind == "APIGroupList": // discovery
		case len(list.Items) != 1 || list.Items[0].MetricName != "jobs" || list.Items[0].Value.String() != "7500m":
			t.Errorf("%q %q %q: got %s", namespace, name, query, w.Body)
		}
	})
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
