//go:build e2e

package resource_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// load is what the pods of one Deployment have to do.
type load struct {
	// milli is their CPU, which those that are ready share evenly.
	milli int64
	// missing of the oldest pods have no metrics, unready of them are not ready.
	missing, unready int
}

// usage is a server of metrics.k8s.io that makes up what pods use, and the kubelet that
// makes pods unready.
type usage struct {
	cluster *cluster.Cluster
	server  *httptest.Server

	mu sync.Mutex
	// loads are by namespace/app, the latter being a label.
	loads map[string]load
}

// window is the time over which usage is said to be measured: so long after it became
// ready, a young pod counts.
const window = time.Second

// serveUsage serves, and returns when the API server passes on what is asked.
func serveUsage(ctx context.Context, c *cluster.Cluster) (*usage, error) {
	u := &usage{cluster: c, loads: map[string]load{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1", u.discover)
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods", u.list)
	u.server = httptest.NewTLSServer(mux)
	address, err := url.Parse(u.server.URL)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		return nil, err
	}
	if err := c.ApplyTemplate(ctx, "kube-system", apiService, map[string]string{"Port": port}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := c.Client.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods").Do(ctx).Error()
		if err == nil {
			return u, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("metrics.k8s.io: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// The server is a process on this machine, as the harness's own: an ExternalName is what
// the aggregator follows there.
const apiService = `
apiVersion: v1
kind: Service
metadata: {name: usage}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: usage, namespace: kube-system, port: {{.Port}}}
`

func (u *usage) close() { u.server.Close() }

// set gives the pods of a Deployment something else to do.
func (u *usage) set(namespace, app string, l load) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.loads[namespace+"/"+app] = l
}

func (u *usage) of(namespace, app string) load {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.loads[namespace+"/"+app]
}

func (u *usage) discover(w http.ResponseWriter, _ *http.Request) {
	answer(w, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"list"}}},
	})
}

// list is what all selected pods use that have metrics.
func (u *usage) list(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	found, err := u.cluster.Client.CoreV1().Pods(namespace).List(r.Context(), metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector")})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: metricsv1beta1.SchemeGroupVersion.String()}}
	for app, pods := range byApp(found.Items) {
		l := u.of(namespace, app)
		ready := int64(0)
		for i := range pods {
			if isReady(&pods[i]) {
				ready++
			}
		}
		for _, pod := range pods[min(l.missing, len(pods)):] {
			if pod.Status.Phase != corev1.PodRunning {
				continue
			}
			used := int64(0)
			if isReady(&pod) {
				used = l.milli / ready
			}
			list.Items = append(list.Items, metricsv1beta1.PodMetrics{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace, Labels: pod.Labels},
				Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: window},
				Containers: []metricsv1beta1.ContainerMetrics{{
					Name:  "worker",
					Usage: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(used, resource.DecimalSI)},
				}},
			})
		}
	}
	answer(w, list)
}

// byApp are the pods that stay, those of each Deployment from the oldest.
func byApp(pods []corev1.Pod) map[string][]corev1.Pod {
	apps := map[string][]corev1.Pod{}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			apps[pod.Labels["app"]] = append(apps[pod.Labels["app"]], pod)
		}
	}
	for _, pods := range apps {
		slices.SortFunc(pods, func(a, b corev1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
	return apps
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// keepReadiness makes the pods of a namespace unready and ready as their loads say, until
// the context ends.
func (u *usage) keepReadiness(ctx context.Context, namespace string) error {
	for {
		pods, err := u.cluster.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			err = u.makeReady(ctx, namespace, pods.Items)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (u *usage) makeReady(ctx context.Context, namespace string, found []corev1.Pod) error {
	for app, pods := range byApp(found) {
		unready := u.of(namespace, app).unready
		for i, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || isReady(&pod) == (i >= unready) {
				continue
			}
			status := corev1.ConditionTrue
			if i < unready {
				status = corev1.ConditionFalse
			}
			patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.PodCondition{
				{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()},
			}}})
			if err != nil {
				return err
			}
			// A pod may go at any moment.
			_, _ = u.cluster.Client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		}
	}
	return nil
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // who does not listen any more need not be told
}
