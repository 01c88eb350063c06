package delegate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resources is what discovery says of some names.
func resources(names ...string) http.HandlerFunc {
	all := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: defaultGroupVersion}
	for _, name := range names {
		all.APIResources = append(all.APIResources, metav1.APIResource{Name: name, Kind: "ExternalMetricValueList", Namespaced: true})
	}
	body, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return saying(http.StatusOK, string(body))
}

func TestNamesAreMerged(t *testing.T) {
	a := serving(t, resources("queue", "externalmetrics", "bad/name", ""))
	b := serving(t, resources("requests", "externalmetrics"))
	set := connected(t, nil, Config{Name: "a", URL: a.URL}, Config{Name: "b", URL: b.URL})
	if got := set.List(t.Context()); !slices.Equal(got, []string{"externalmetrics", "queue", "requests"}) {
		t.Errorf("got %q", got)
	}
	if asked := a.requests(); !slices.Equal(asked, []string{"/apis/external.metrics.k8s.io/v1beta1"}) || !set.Passed(a.last) {
		t.Errorf("asked for %v by %v", asked, a.last)
	}
}

// One that does not answer keeps the names that it had, and takes nobody else's.
func TestNamesOfOneThatDoesNotAnswer(t *testing.T) {
	handler := resources("queue")
	a := serving(t, func(w http.ResponseWriter, r *http.Request) { handler(w, r) })
	b := serving(t, resources("requests"))
	set := connected(t, nil, Config{Name: "a", URL: a.URL, Timeout: mostTimeout}, Config{Name: "b", URL: b.URL})
	want := []string{"queue", "requests"}
	for _, next := range []http.HandlerFunc{
		resources("queue"), saying(500, "broken"), saying(200, "garbage"),
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		handler = next
		if got := set.List(t.Context()); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	a.Close()
	if got := set.List(t.Context()); !slices.Equal(got, want) {
		t.Errorf("stopped: got %q, want %q", got, want)
	}
}

func TestNamesAreBounded(t *testing.T) {
	names := make([]string, maxListed+1)
	for i := range names {
		names[i] = fmt.Sprintf("m%05d", i)
	}
	a := serving(t, resources(names...))
	if got := connected(t, nil, Config{Name: "a", URL: a.URL}).List(t.Context()); len(got) != maxListed {
		t.Errorf("got %d names, want %d", len(got), maxListed)
	}
}
