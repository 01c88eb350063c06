//go:build e2e

package native_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	externalclient "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

const (
	groupPath    = "/apis/external.metrics.k8s.io/v1beta1"
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
)

// testEncodings asks through the API server and each adapter itself, in JSON and
// protobuf: one item, 8 replicas times the averageValue 2.5 of the HPA that reads it.
func testEncodings(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 37)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	h := transparent()
	h.target = "2500m"
	w.scale(h)
	w.Await(8, time.Minute)

	var raw v1beta1.ExternalMetricValueList
	if err := json.Unmarshal([]byte(w.kubectl("get", "--raw", w.metricPath(jobs))), &raw); err != nil {
		t.Fatal(err)
	}
	checkValue(t, "kubectl", &raw)
	for server, config := range w.servers() {
		for _, contentType := range []string{jsonType, protobufType} {
			config.ContentType, config.AcceptContentTypes = contentType, ""
			client, err := externalclient.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			list, err := client.NamespacedMetrics(w.Namespace).List(jobs, labels.Everything())
			if err != nil {
				t.Fatalf("%s, %s: %v", server, contentType, err)
			}
			checkValue(t, server+", "+contentType, list)
			if code, got, _ := w.ask(config, w.metricPath(jobs), contentType); code != http.StatusOK || got != contentType {
				t.Errorf("%s: %d %s, want %s", server, code, got, contentType)
			}
			_, err = client.NamespacedMetrics(w.Namespace).List("unknown", labels.Everything())
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s, %s: unknown metric: %v, want NotFound", server, contentType, err)
			}
		}
		stranger := rest.AnonymousClientConfig(config)
		if server == "API server" {
			stranger = rest.CopyConfig(config)
			stranger.Impersonate.UserName = "stranger"
		}
		if code, _, body := w.ask(stranger, w.metricPath(jobs), jsonType); code != http.StatusForbidden && code != http.StatusUnauthorized {
			t.Errorf("%s: a stranger gets %d %s", server, code, body)
		}
		if code, _, body := w.ask(config, groupPath, jsonType); code != http.StatusOK {
			t.Errorf("%s: discovery: %d %s", server, code, body)
		}
	}
}

func checkValue(t *testing.T, who string, list *v1beta1.ExternalMetricValueList) {
	t.Helper()
	if len(list.Items) != 1 || list.Items[0].Value.MilliValue() != 20_000 || list.Items[0].MetricName != jobs {
		t.Errorf("%s gets %+v, want one item of 20", who, list.Items)
	}
}

// testNoData: while the queue cannot be read for longer than a reading serves, the
// answer is an error, never 0 and never an empty list; the HPA holds. Then it goes on.
func testNoData(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 37)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	r := w.Record()
	w.Await(8, time.Minute)
	w.Queue(jobs, 10)
	w.Await(2, time.Minute)
	w.Queue(jobs, 0)
	w.Redis.Kill()
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", jobs)
	for range 10 {
		code, _, body := w.ask(rest.CopyConfig(env.cluster.Config), w.metricPath(jobs), jsonType)
		if code != http.StatusServiceUnavailable {
			t.Errorf("without data: %d %s, want an error of 503", code, body)
		}
	}
	w.Steady(r, 2*hpaSync, 1, 8, 2)
	w.Redis.Restart()
	w.Queue(jobs, 20)
	w.Await(4, time.Minute)
	w.Expect(r, 1, 8, 2, 4)
}

func (w *workload) metricPath(name string) string {
	return groupPath + "/namespaces/" + w.Namespace + "/" + name
}

// servers are an administrator's ways to the metrics: through the API server, and to
// each adapter itself.
func (w *workload) servers() map[string]*rest.Config {
	servers := map[string]*rest.Config{"API server": rest.CopyConfig(env.cluster.Config)}
	for i := range env.adapters.Count() {
		config := rest.CopyConfig(env.cluster.Config)
		config.Host = "https://" + env.adapters.HTTPSAddr(i)
		config.ServerName = cluster.AdapterServerName
		servers[env.adapters.LogName(i)] = config
	}
	return servers
}

// ask makes one request, and returns its status, content type and body.
func (w *workload) ask(config *rest.Config, path, accept string) (code int, contentType, body string) {
	w.T.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		w.T.Fatal(err)
	}
	request, err := http.NewRequestWithContext(w.T.Context(), http.MethodGet, config.Host+path, http.NoBody)
	if err != nil {
		w.T.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		w.T.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		w.T.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(content)
}
