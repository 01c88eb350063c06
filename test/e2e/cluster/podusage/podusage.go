// Package podusage makes up what the pods of a cluster use, and which of them are ready: it
// is metrics-server and kubelet of pods that run nowhere.
package podusage

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

// Load is what the pods of one Deployment have to do.
type Load struct {
	// CPU, in thousandths, and Memory, in Mi, are what the pods that are ready use together
	// in their first container; they share it evenly.
	CPU, Memory int64
	// Sidecar is what they use besides of each in their second container.
	Sidecar int64
	// Missing of the oldest pods have no metrics, Unready of them are not ready.
	Missing, Unready int
}

// used is what one of n pods uses in its container i.
func (l Load) used(i int, n int64) corev1.ResourceList {
	cpu, memory := l.CPU, l.Memory
	if i > 0 {
		cpu, memory = l.Sidecar, l.Sidecar
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu/n, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20/n, resource.BinarySI),
	}
}

// Server serves metrics.k8s.io in a cluster. It is safe for concurrent use.
type Server struct {
	cluster *cluster.Cluster
	server  *httptest.Server

	mu sync.Mutex
	// loads are by namespace/app, the latter being a label.
	loads map[string]Load
}

// window is the time over which usage is said to be measured: so long after it became
// ready, a young pod counts.
const window = time.Second

// Serve serves until Close, and returns when the API server passes on what is asked.
func Serve(ctx context.Context, c *cluster.Cluster) (*Server, error) {
	s := &Server{cluster: c, loads: map[string]Load{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1", s.discover)
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods", s.list)
	s.server = httptest.NewTLSServer(mux)
	if err := s.register(ctx); err != nil {
		s.server.Close()
		return nil, err
	}
	return s, nil
}

// register tells the API server of it.
func (s *Server) register(ctx context.Context) error {
	address, err := url.Parse(s.server.URL)
	if err != nil {
		return fmt.Errorf("metrics.k8s.io: %w", err)
	}
	_, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		return fmt.Errorf("metrics.k8s.io: %w", err)
	}
	if err := s.cluster.ApplyTemplate(ctx, "kube-system", apiService, map[string]string{"Port": port}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.cluster.Client.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods").Do(ctx).Error()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("metrics.k8s.io: %w", err)
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

// Close ends the server.
func (s *Server) Close() { s.server.Close() }

// Set gives the pods of a Deployment something else to do. Their label app is its name.
func (s *Server) Set(namespace, app string, l Load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads[namespace+"/"+app] = l
}

func (s *Server) of(namespace, app string) Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads[namespace+"/"+app]
}

func (s *Server) discover(w http.ResponseWriter, _ *http.Request) {
	answer(w, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"list"}}},
	})
}

// list is what all selected pods use that have metrics.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	found, err := s.cluster.Client.CoreV1().Pods(namespace).List(r.Context(), metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector")})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: metricsv1beta1.SchemeGroupVersion.String()}}
	for app, pods := range byApp(found.Items) {
		list.Items = append(list.Items, measured(s.of(namespace, app), pods)...)
	}
	answer(w, list)
}

// measured are the pods of one Deployment that have metrics.
func measured(l Load, pods []corev1.Pod) []metricsv1beta1.PodMetrics {
	ready := int64(0)
	for i := range pods {
		if isReady(&pods[i]) {
			ready++
		}
	}
	var metrics []metricsv1beta1.PodMetrics
	for _, pod := range pods[min(l.Missing, len(pods)):] {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		m := metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels},
			Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: window},
		}
		load := Load{} // of a pod that is not ready
		if isReady(&pod) {
			load = l
		}
		for i, c := range pod.Spec.Containers {
			m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: load.used(i, max(ready, 1))})
		}
		metrics = append(metrics, m)
	}
	return metrics
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

// KeepReadiness makes the pods of a namespace unready and ready as their loads say, until
// the context ends, which is no error.
func (s *Server) KeepReadiness(ctx context.Context, namespace string) error {
	for {
		pods, err := s.cluster.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			err = s.makeReady(ctx, namespace, pods.Items)
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

func (s *Server) makeReady(ctx context.Context, namespace string, found []corev1.Pod) error {
	for app, pods := range byApp(found) {
		unready := s.of(namespace, app).Unready
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
			_, _ = s.cluster.Client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		}
	}
	return nil
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // who does not listen any more need not be told
}
