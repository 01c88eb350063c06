package externalmetrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const jobsPath = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/jobs"

func TestOneValueInJSONAndProtobuf(t *testing.T) {
	for value, want := range map[algorithm.Milli]string{
		0: "0", 1: "1m", 7500: "7500m", 40_000: "40", 2_147_483_647_000: "2147483647", 9_007_199_254_740_993: "9007199254740993m",
	} {
		s := serve(t, Options{Evaluator: always(scaling.Decision{Value: value})})
		for _, content := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			list, err := s.metrics(t, content).NamespacedMetrics("shop").List("jobs", labels.Everything())
			if err != nil {
				t.Fatalf("%s: %v", content, err)
			}
			if len(list.Items) != 1 {
				t.Fatalf("%s: %d items, want 1", content, len(list.Items))
			}
			item := list.Items[0]
			if item.MetricName != "jobs" || item.Value.String() != want || item.Value.MilliValue() != int64(value) ||
				!item.Timestamp.Time.Equal(epoch) || item.MetricLabels["team"] != "checkout" {
				t.Errorf("%s: got %+v, want jobs = %s at %v", content, item, want, epoch)
			}
		}
	}
}

// The whole answer as it goes over the wire.
func TestTheAnswerInFull(t *testing.T) {
	s := serve(t, Options{})
	got := s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token")
	want := `{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},` +
		`"items":[{"metricName":"jobs","metricLabels":{"team":"checkout"},"timestamp":"2026-09-01T12:00:00Z","value":"7500m"}]}` + "\n"
	if got.status != http.StatusOK || got.body != want {
		t.Errorf("got %d %s\nwant %s", got.status, got.body, want)
	}
}

// What is evaluated is the StabilizedMetric itself, by its own policy.
func TestTheRequestIsForThePolicyOfTheName(t *testing.T) {
	var mu sync.Mutex
	var got scaling.Request
	metrics := metricsOf("jobs", "mails")
	s := serve(t, Options{Policies: metrics, Evaluator: decide(func(_ context.Context, req scaling.Request) scaling.Decision {
		mu.Lock()
		defer mu.Unlock()
		got = req
		return scaling.Decision{Value: 1000}
	})})
	if _, err := s.metrics(t, "").NamespacedMetrics("shop").List("mails", labels.Everything()); err != nil {
		t.Fatal(err)
	}
	want := metrics["shop/mails"]
	mu.Lock()
	defer mu.Unlock()
	if got.Ref != want.Ref || got.Policy != want.Policy || got.Outcomes != nil {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
}

// An HPA's condition quotes these words.
func TestErrors(t *testing.T) {
	broken := func(err error) decide { return always(scaling.Decision{Err: err}) }
	notRead := fmt.Errorf("%w: redis at r:6379: connection refused", scaling.ErrNotRead)
	for name, test := range map[string]struct {
		metric    string
		selector  string
		evaluator Evaluator
		code      int
		text      string
	}{
		"unknown": {
			metric: "orders", code: 404,
			text: "StabilizedMetric shop/orders: no such StabilizedMetric of that name",
		},
		"not known yet": {
			metric: "early", code: 503,
			text: "StabilizedMetric shop/early: not observed: the list of StabilizedMetrics has not arrived",
		},
		"bad policy": {
			evaluator: broken(fmt.Errorf("%w: listLength: \"x\" is not a number", scaling.ErrBadPolicy)), code: 422,
			text: `StabilizedMetric shop/jobs: invalid policy: listLength: "x" is not a number`,
		},
		"two HPAs": {
			evaluator: broken(fmt.Errorf("%w: HPAs a (5) and b (7) ask for it", scaling.ErrAmbiguousTarget)), code: 409,
			text: "StabilizedMetric shop/jobs: ambiguous target: HPAs a (5) and b (7) ask for it",
		},
		"not read": {
			evaluator: broken(notRead), code: 503,
			text: "StabilizedMetric shop/jobs: trigger not read: redis at r:6379: connection refused",
		},
		"two triggers not read": {
			evaluator: broken(errors.Join(notRead, notRead)), code: 503,
			text: "StabilizedMetric shop/jobs: trigger not read: redis at r:6379: connection refused; trigger not read: redis at r:6379: connection refused",
		},
		"other labels": {
			selector: "team=search", code: 404,
			text: `StabilizedMetric shop/jobs: its labels "team=checkout" do not match the selector "team=search"; an HPA needs none to find it`,
		},
		"a part of the namespace": {
			metric: "status", code: 400,
			text: `no metric can be called "status": Kubernetes takes namespaces/shop/status for a part of the namespace; rename the StabilizedMetric`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{Evaluator: test.evaluator, Policies: metricsOf("jobs", "status", "namespaces")})
			if test.metric == "" {
				test.metric = "jobs"
			}
			selector, err := labels.Parse(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			for _, content := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
				_, err = s.metrics(t, content).NamespacedMetrics("shop").List(test.metric, selector)
				var status *apierrors.StatusError
				if !errors.As(err, &status) || int(status.ErrStatus.Code) != test.code || err.Error() != test.text {
					t.Errorf("%s: got %#v\nwant %d %s", content, err, test.code, test.text)
				}
				if seconds, says := apierrors.SuggestsClientDelay(err); says {
					t.Errorf("%s: tells the HPA controller to wait %d s", content, seconds)
				}
			}
		})
	}
}

func TestASelectorThatMatches(t *testing.T) {
	s := serve(t, Options{})
	for _, text := range []string{"", "team=checkout", "team in (checkout, search)", "team,!other"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := s.metrics(t, "").NamespacedMetrics("shop").List("jobs", selector); err != nil || len(list.Items) != 1 {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
}

// An evaluation that does not end by itself is ended, long before the HPA controller
// gives up, and says so.
func TestEveryRequestHasADeadline(t *testing.T) {
	s := serve(t, Options{Evaluator: decide(func(ctx context.Context, _ scaling.Request) scaling.Decision {
		<-ctx.Done()
		return scaling.Decision{Err: ctx.Err()}
	})})
	_, err := s.metrics(t, "").NamespacedMetrics("shop").List("jobs", labels.Everything())
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v", err)
	}
}

func TestAPanicIsAnErrorOfOneRequest(t *testing.T) {
	s := serve(t, Options{Evaluator: decide(func(context.Context, scaling.Request) scaling.Decision { panic("boom") })})
	for range 2 {
		got := s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token")
		if got.status != http.StatusInternalServerError || strings.Contains(got.body, "boom") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestEveryAnswerIsObserved(t *testing.T) {
	var mu sync.Mutex
	var calls []int
	s := serve(t, Options{Observe: func(c Call) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c.Status)
	}})
	for _, name := range []string{"jobs", "orders"} {
		_, _ = s.metrics(t, "").NamespacedMetrics("shop").List(name, labels.Everything())
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(calls) != "[200 404]" {
		t.Errorf("got %v", calls)
	}
}

// Many ask for many at once, and each gets its own.
func TestConcurrentRequests(t *testing.T) {
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	s := serve(t, Options{Policies: metricsOf(names...), Evaluator: decide(func(_ context.Context, req scaling.Request) scaling.Decision {
		var n int64
		_, _ = fmt.Sscanf(req.Ref.Name, "m%d", &n)
		return scaling.Decision{Value: algorithm.Milli(n * 1000), At: epoch}
	})})
	var group sync.WaitGroup
	for range 8 {
		hpas := s.metrics(t, "").NamespacedMetrics("shop")
		group.Go(func() {
			for i, name := range names {
				list, err := hpas.List(name, labels.Everything())
				if err != nil || len(list.Items) != 1 || list.Items[0].Value.Value() != int64(i) {
					t.Errorf("%s: %v, %v", name, list, err)
				}
			}
		})
	}
	group.Wait()
}

// kubectl get asks for a table first and is content with the list.
func TestAcceptHeaders(t *testing.T) {
	s := serve(t, Options{})
	for accept, want := range map[string]int{
		"": 200, "*/*": 200, "application/json": 200, "application/yaml": 200,
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json":                       200,
		"application/json;as=Table;v=v1;g=meta.k8s.io":                                        406,
		"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io":                    406,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io": 406,
		"text/html": 406, "application/cbor": 406, ";;;": 406, strings.Repeat("a/b,", 5000): 406,
	} {
		got := s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token", "Accept", accept)
		if got.status != want {
			t.Errorf("%.80q: got %d %.200s, want %d", accept, got.status, got.body, want)
		}
	}
}
