package externalmetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/metrics/pkg/apis/external_metrics"
)

// neighbours are other servers of fixed content: "theirs" has a value, "broken" is an
// error, and nothing else is there.
type neighbours struct {
	mu    sync.Mutex
	asked []string
	names []string
}

func (n *neighbours) Get(_ context.Context, namespace, metric string, selector labels.Selector) (*external_metrics.ExternalMetricValueList, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, fmt.Sprintf("%s/%s{%s}", namespace, metric, selector))
	switch metric {
	case "theirs":
		return &external_metrics.ExternalMetricValueList{Items: []external_metrics.ExternalMetricValue{
			{MetricName: "theirs", Timestamp: metav1.NewTime(epoch), Value: resource.MustParse("3")},
			{MetricName: "theirs", Timestamp: metav1.NewTime(epoch), Value: resource.MustParse("1500m")},
		}}, "keda", nil
	case "broken":
		return nil, "keda", status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "scaledObject name is not specified")
	}
	return nil, "", status(http.StatusNotFound, metav1.StatusReasonNotFound, "delegate keda: no such metric")
}

func (n *neighbours) List(context.Context) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names
}

func (n *neighbours) Passed(h http.Header) bool { return h.Get("X-Passed") != "" }

// Who answers what, in which words.
func TestOthersAreAskedForWhatIsNotOurs(t *testing.T) {
	n := &neighbours{}
	var mu sync.Mutex
	var calls []Call
	s := serve(t, Options{Others: n, Observe: func(c Call) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, Call{Status: c.Status, By: c.By})
	}})
	for name, test := range map[string]struct {
		metric, selector string
		code             int
		text             string // of the values, or of the error
		asked            string
		by               string
	}{
		"ours":           {"jobs", "", 200, "7500m", "", ""},
		"theirs":         {"theirs", "a=b", 200, "3 1500m", "shop/theirs{a=b}", "keda"},
		"their error":    {"broken", "", 500, "scaledObject name is not specified", "shop/broken{}", "keda"},
		"nobody's":       {"orders", "", 404, "StabilizedMetric shop/orders: no such StabilizedMetric of that name; delegate keda: no such metric", "shop/orders{}", ""},
		"not known yet":  {"early", "", 503, "StabilizedMetric shop/early: not observed: the list of StabilizedMetrics has not arrived", "", ""},
		"another label":  {"jobs", "team=search", 404, `StabilizedMetric shop/jobs: its labels "team=checkout" do not match the selector "team=search"; an HPA needs none to find it`, "", ""},
		"no metric name": {"status", "", 400, `no metric can be called "status": Kubernetes takes namespaces/shop/status for a part of the namespace; rename the StabilizedMetric`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n.asked, calls = nil, nil
			selector, err := labels.Parse(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.metrics(t, "").NamespacedMetrics("shop").List(test.metric, selector)
			text := fmt.Sprint(err)
			if err == nil {
				var values []string
				for _, item := range list.Items {
					values = append(values, item.Value.String())
				}
				text = strings.Join(values, " ")
			}
			if text != test.text {
				t.Errorf("got  %s\nwant %s", text, test.text)
			}
			if asked := strings.Join(n.asked, " "); asked != test.asked {
				t.Errorf("others were asked for %q, want %q", asked, test.asked)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := []Call{{Status: test.code, By: test.by}}; !slices.Equal(calls, want) {
				t.Errorf("observed %+v, want %+v", calls, want)
			}
		})
	}
}

// Without others nothing of theirs is in the way.
func TestWithoutOthers(t *testing.T) {
	s := serve(t, Options{})
	got := s.request(t, client(), "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/theirs", "Authorization", "Bearer alice-token", "X-Passed", "1")
	if got.status != http.StatusNotFound || !strings.Contains(got.body, `"StabilizedMetric shop/theirs: no such StabilizedMetric of that name"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// Permission is asked for before anybody else is.
func TestOthersAreNotAskedForStrangers(t *testing.T) {
	n := &neighbours{}
	s := serve(t, Options{Others: n})
	for _, token := range []string{"bob-token", "made-up"} {
		got := s.request(t, client(), "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/theirs", "Authorization", "Bearer "+token)
		if got.status != http.StatusForbidden && got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", token, got.status)
		}
	}
	if len(n.asked) > 0 {
		t.Errorf("others were asked for %v", n.asked)
	}
}

// A query that has come through another server gets what is ours, and nobody is asked.
func TestAQueryIsPassedOnOnce(t *testing.T) {
	n := &neighbours{names: []string{"theirs"}}
	s := serve(t, Options{Others: n})
	const api = "/apis/external.metrics.k8s.io/v1beta1"
	for path, want := range map[string]string{
		"/namespaces/shop/jobs":   `"value":"7500m"`,
		"/namespaces/shop/theirs": `no such StabilizedMetric of that name; another Dashpot has passed the query on to this one, which does not pass it on again`,
		"":                        `"resources":[{"name":"externalmetrics","singularName":"","namespaced":true,"kind":"ExternalMetricValueList","verbs":["get"]}]`,
		"/":                       `"resources":[{"name":"externalmetrics",`,
	} {
		got := s.request(t, client(), api+path, "Authorization", "Bearer alice-token", "X-Passed", "1")
		if !strings.Contains(got.body, want) || strings.Contains(got.body, `"name":"theirs"`) {
			t.Errorf("%q: got %s\nwant %s", path, got.body, want)
		}
	}
	if len(n.asked) > 0 {
		t.Errorf("others were asked for %v", n.asked)
	}
	got := s.request(t, client(), api, "X-Passed", "1")
	if got.status != http.StatusUnauthorized {
		t.Errorf("a stranger sees discovery: %d", got.status)
	}
}

// Both forms of discovery have the others' names behind our own.
func TestDiscoveryIsMerged(t *testing.T) {
	s := serve(t, Options{Others: &neighbours{names: []string{"externalmetrics", "queue_depth", "requests"}}})
	want := []string{"externalmetrics", "queue_depth", "requests"}
	eventually(t, func() string {
		got := s.request(t, client(), "/apis/external.metrics.k8s.io/v1beta1", "Authorization", "Bearer alice-token")
		var old metav1.APIResourceList
		if err := json.Unmarshal([]byte(got.body), &old); err != nil {
			t.Fatal(err)
		}
		if names := namesOf(old.APIResources); !slices.Equal(names, want) {
			return fmt.Sprintf("old form: %v, want %v", names, want)
		}
		known, err := discovery.NewDiscoveryClientForConfig(s.as("alice"))
		if err != nil {
			t.Fatal(err)
		}
		_, aggregated, _, err := known.GroupsAndMaybeResources()
		if err != nil {
			t.Fatal(err)
		}
		if names := namesOf(aggregated[groupOf(DefaultGroup)].APIResources); !slices.Equal(names, want) {
			return fmt.Sprintf("aggregated form: %v, want %v", names, want)
		}
		return ""
	})
}

func namesOf(resources []metav1.APIResource) []string {
	var names []string
	for _, r := range resources {
		names = append(names, r.Name)
	}
	return names
}

// eventually asks until there is nothing to complain of.
func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text := complaint()
		if text == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
}

// slowLister takes its time over its names, of which there is another one each time.
type slowLister struct {
	neighbours
	asked atomic.Int64
}

func (s *slowLister) List(ctx context.Context) []string {
	select {
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	return []string{fmt.Sprintf("m%d", min(s.asked.Add(1), 2))}
}

// Names are asked for each minute, told when they change, and nobody waits for them.
func TestNamesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newShared(values{}, &slowLister{})
		ctx, cancel := context.WithCancel(t.Context())
		changes := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			all.follow(ctx, func() { changes++ })
		}()
		var trace []string
		for range 5 {
			began := time.Now()
			infos := all.ListAllExternalMetrics()
			if took := time.Since(began); took != 0 {
				t.Errorf("waited %v", took)
			}
			trace = append(trace, infos[len(infos)-1].Metric)
			time.Sleep(31 * time.Second)
			synctest.Wait()
		}
		cancel()
		<-ended
		if got := strings.Join(trace, " "); got != "externalmetrics m1 m1 m2 m2" || changes != 2 {
			t.Errorf("saw %s, %d changes", got, changes)
		}
	})
}

// The HPA controller is never told to wait.
func TestOthersAndRetryAfter(t *testing.T) {
	s := serve(t, Options{Others: &neighbours{}})
	_, err := s.metrics(t, "").NamespacedMetrics("shop").List("broken", labels.Everything())
	if !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
	if seconds, says := apierrors.SuggestsClientDelay(err); says {
		t.Errorf("tells the HPA controller to wait %d s", seconds)
	}
}
