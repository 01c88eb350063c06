//go:build e2e

package chart

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// group is that of the adapter here: KEDA's keeps the one of HPAs.
const group = "external.dashpot.dev"

// TestRights: under the rights that the chart gives to their ServiceAccounts, and no others,
// both programs do all that they do, and are refused nothing.
func TestRights(t *testing.T) {
	programs := build(t, "scaler", "adapter")
	records := redistest.Start(t)
	keda, native := scenario.New(t, env.cluster, 0), scenario.New(t, env.cluster, 1)
	h := newHelm(t, env.cluster.Kubeconfig())
	h.install(t, namespace, "adapter.enabled=true,adapter.apiGroup="+group+",adapter.apiService.create=false,"+
		"rbac.podMetrics=true,rbac.secretNamespaces={"+keda.Namespace+","+native.Namespace+"}")
	t.Cleanup(func() { h.uninstall(t, namespace) })

	usage, err := podusage.Serve(t.Context(), env.cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(usage.Close)
	for _, w := range []*scenario.Workload{keda, native} {
		usage.Set(w.Namespace, scenario.Worker, podusage.Load{Memory: 300})
	}
	scaler := startScaler(t, programs["scaler"], records.URL())
	adapter := startAdapter(t, programs["adapter"], records.URL())
	applyTargets(t, usage, keda.Namespace, kedaTarget, scaler.Target())
	applyTargets(t, usage, native.Namespace, nativeTarget)
	t.Run("scaler", func(t *testing.T) { testScaler(t, keda, scaler) })
	t.Run("adapter", func(t *testing.T) { testAdapter(t, native, adapter) })

	log, err := env.cluster.Logs(scaler.LogName(0))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(log + read(t, adapter.log)) {
		if strings.Contains(line, "forbidden") {
			t.Fatalf("a right is missing: %s", line)
		}
	}
	for _, account := range []string{"dashpot-scaler", "dashpot-adapter"} {
		testEveryRightIsUsed(t, namespace, account)
	}
}

// startScaler runs the scaler as the chart's pod would be run.
func startScaler(t *testing.T, program, redis string) *cluster.Scalers {
	t.Helper()
	scalers, err := env.cluster.StartScalers(t.Context(), program, 1, func(_ int, grpcAddr, httpAddr string) []string {
		return append(deployed(t, "dashpot-scaler"), "--grpc-address="+grpcAddr, "--http-address="+httpAddr,
			"--redis-url="+redis, "--kubeconfig="+kubeconfig(t, namespace, "dashpot-scaler"))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scalers.Stop)
	return scalers
}

// deployed are the arguments of a Deployment's container.
func deployed(t *testing.T, name string) []string {
	t.Helper()
	deployment, err := env.cluster.Client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Spec.Containers[0].Args
}

// kedaObjects are a ScaledObject of all that the scaler reads: a queue, what pods use, and a
// StabilizedMetric whose source wants a token.
const kedaObjects = `
apiVersion: v1
kind: Secret
metadata: {name: stats}
stringData: {token: letmein}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: stats}
spec:
  triggers:
  - type: metrics-api
    metadata: {url: %[1]q, valueLocation: jobs, targetValue: "5", authMode: bearer}
    secretRef: {name: stats}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  pollingInterval: 2
  cooldownPeriod: 4
  minReplicaCount: 0
  maxReplicaCount: 20
  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}}
  triggers:
  - type: external-push
    metadata: {scalerAddress: %[2]q, source: redis, address: %[3]q, listName: jobs, listLength: "5", interval: "1"}
  - type: external
    metadata: {scalerAddress: %[2]q, source: memory, metricType: AverageValue, value: 100Mi}
  - type: external
    metadata: {scalerAddress: %[2]q, metric: stats}
`

// testScaler has KEDA wake a workload, scale it by all that the scaler reads, and put it to
// sleep again, and looks for the Event of a policy that is wrong.
func testScaler(t *testing.T, w *scenario.Workload, s *cluster.Scalers) {
	var jobs atomic.Int64
	manifest := fmt.Sprintf(kedaObjects, startStats(t, &jobs), s.Target(), w.Redis.Addr())
	if err := env.cluster.Apply(t.Context(), w.Namespace, manifest); err != nil {
		t.Fatal(err)
	}
	w.Queue("jobs", 20)
	w.Await(4, 2*time.Minute) // of the queue; what the pods use would be 3
	jobs.Store(30)
	w.Await(6, 2*time.Minute) // of the server that wants a token
	jobs.Store(0)
	w.Queue("jobs", 0)
	w.Await(0, 2*time.Minute)

	for _, length := range []string{"none", "nothing"} {
		wrong := strings.NewReplacer("metadata: {name: worker}", "metadata: {name: wrong}", `listLength: "5"`, "listLength: "+length).Replace(manifest)
		if err := env.cluster.Apply(t.Context(), w.Namespace, wrong); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, w.Namespace, "ScaledObject", "wrong", "InvalidPolicy", length)
	}
}

// startStats starts a server of a number of jobs, which wants a token, and returns its URL.
func startStats(t *testing.T, jobs *atomic.Int64) string {
	t.Helper()
	stats := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein" {
			rw.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprintf(rw, `{"jobs": %d}`, jobs.Load())
	}))
	t.Cleanup(stats.Close)
	return stats.URL
}

// awaitEvent waits for an Event about an object whose message has some words.
func awaitEvent(t *testing.T, namespace, kind, name, reason, words string) {
	t.Helper()
	eventually(t, "an Event "+reason+" of "+name+" about "+words, func() error {
		events, err := env.cluster.Events(t.Context(), namespace, kind, name)
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Reason == reason && strings.Contains(event.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events))
	})
}

// eventually waits for what has to happen at all.
func eventually(t *testing.T, what string, attempt func() error) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = attempt(); last == nil {
			return
		}
	}
	t.Fatalf("waited in vain for %s: %v", what, last)
}

// nativeObjects are a workload's metrics: one whose source wants a token, one of what its
// pods use, and one that is wrong. Their HPAs ask KEDA's server, which knows none of them.
const nativeObjects = `
apiVersion: v1
kind: Secret
metadata: {name: stats}
stringData: {token: letmein}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: jobs}
spec:
  triggers:
  - type: metrics-api
    metadata: {url: %q, valueLocation: jobs, targetValue: "5", authMode: bearer}
    secretRef: {name: stats}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: memory}
spec:
  triggers:
  - type: memory
    metadata: {metricType: AverageValue, value: 100Mi}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: wrong}
spec:
  triggers:
  - type: redis
    metadata: {address: redis.shop, listName: jobs, listLength: none}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: worker}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
  maxReplicas: 20
  metrics:
  - {type: External, external: {metric: {name: jobs}, target: {type: AverageValue, averageValue: "5"}}}
  - {type: External, external: {metric: {name: memory}, target: {type: AverageValue, averageValue: 100Mi}}}
  - {type: External, external: {metric: {name: wrong}, target: {type: AverageValue, averageValue: "5"}}}
`

func testAdapter(t *testing.T, w *scenario.Workload, a adapterProcess) {
	var jobs atomic.Int64
	jobs.Store(20)
	manifest := fmt.Sprintf(nativeObjects, startStats(t, &jobs))
	if err := env.cluster.Apply(t.Context(), w.Namespace, manifest); err != nil {
		t.Fatal(err)
	}
	controller := token(t, metav1.NamespaceSystem, "horizontal-pod-autoscaler")
	wants := map[string]string{"jobs": `"value":"20"`, "memory": `"value":`}
	for _, target := range otherTargets() {
		wants[target.name] = `"value":`
	}
	for metric, want := range wants {
		eventually(t, metric, func() error { return a.wants(t, w.Namespace, metric, controller, http.StatusOK, want) })
	}
	if err := a.wants(t, w.Namespace, "jobs", token(t, w.Namespace, "default"), http.StatusForbidden, "forbidden"); err != nil {
		t.Errorf("somebody without a right: %v", err)
	}
	if err := a.wants(t, w.Namespace, "jobs", "", http.StatusOK, ""); err != nil {
		t.Errorf("the API server's authority is not known: %v", err)
	}
	awaitEvent(t, w.Namespace, "StabilizedMetric", "wrong", "InvalidPolicy", "none")
	if err := env.cluster.Apply(t.Context(), w.Namespace, strings.Replace(manifest, "listLength: none", "listLength: nothing", 1)); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, w.Namespace, "StabilizedMetric", "wrong", "InvalidPolicy", "nothing")
	eventually(t, "a status", func() error {
		out, err := kubectl(t, "", "get", "smetric", "jobs", "--namespace="+w.Namespace, "--output=jsonpath={.status.lastDecision}")
		if err == nil && out == "" {
			err = fmt.Errorf("no decision in it yet")
		}
		return err
	})
	lease, err := env.cluster.Client.CoordinationV1().Leases(namespace).Get(t.Context(), "dashpot-adapter", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Errorf("lease %v, error %v", lease, err)
	}
}

// wants asks the adapter for a metric with a token, or with an administrator's certificate.
func (a adapterProcess) wants(t *testing.T, namespace, metric, token string, status int, text string) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.authority)
	config := &tls.Config{RootCAs: roots, ServerName: "dashpot-adapter.dashpot.svc"}
	if token == "" {
		admin := env.cluster.Config.TLSClientConfig
		pair, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://"+a.address+"/apis/"+group+"/v1beta1/namespaces/"+namespace+"/"+metric, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != status || !strings.Contains(string(body), text) {
		return fmt.Errorf("%s: %s; want %d with %q", response.Status, body, status, text)
	}
	return nil
}

// secretFiles writes the entries of the adapter's Secret into a directory.
func secretFiles(t *testing.T) (dir string, authority []byte) {
	t.Helper()
	secret, err := env.cluster.Client.CoreV1().Secrets(namespace).Get(t.Context(), "dashpot-adapter-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, secret.Data["ca.crt"]
}
