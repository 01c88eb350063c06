//go:build e2e

package throughput_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

const (
	// ours is the group of Dashpot's adapter here: the usual one is KEDA's.
	ours = "external.metrics.dashpot.dev"
	// ourFloor is that of the server that decides nothing.
	ourFloor = "floor.dashpot.dev"
	// metrics is how many there are on a Redis that works, hanging how many on one that
	// does not answer.
	metrics = 1000
	hanging = 50
	// queue is the length of every list.
	queue = 37
)

// manifests are one metric for both adapters: a list of a Redis, read by KEDA's
// trigger and by a StabilizedMetric that passes it on. The StabilizedMetric's HPA is
// there because its adapter asks for its target; the HPA controller looks at neither
// in time to matter.
const manifests = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {name: worker}
  pollingInterval: 3600
  minReplicaCount: 1
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: {{.Name}}, listLength: "5"}
---
apiVersion: dashpot.dev/v1alpha1
kind: StabilizedMetric
metadata: {name: {{.Name}}}
spec:
  triggers:
  - type: redis
    metadata: {address: "{{.Address}}", listName: {{.Name}}, listLength: "5"}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{.Name}}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
  maxReplicas: 100
  metrics:
  - type: External
    external:
      metric: {name: {{.Name}}}
      target: {type: AverageValue, averageValue: "5"}
`

func name(i int) string { return fmt.Sprintf("m%d", i) }

// populate makes the metrics of the numbers from first up to end.
func populate(t *testing.T, w *scenario.Workload, first, end int) {
	t.Helper()
	const batch = 50
	for ; first < end; first += batch {
		var text strings.Builder
		for i := first; i < min(first+batch, end); i++ {
			w.Queue(name(i), queue)
			one := strings.NewReplacer("{{.Name}}", name(i), "{{.Address}}", w.Redis.Addr()).Replace(manifests)
			fmt.Fprintf(&text, "---%s", one)
		}
		if err := w.Cluster.ApplyTemplate(t.Context(), w.Namespace, text.String(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// token is a bearer token of one who may read the metrics of both adapters.
func token(t *testing.T, c *cluster.Cluster, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := c.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "throughput-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{ours, ourFloor, cluster.ExternalMetricsGroup}, Resources: []string{"*"}, Verbs: []string{"list"}}},
	}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
	}
	if _, err := c.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	issued, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Status.Token
}

// portOf is where the API server finds the server of a group on this machine.
func portOf(t *testing.T, c *cluster.Cluster, group string) string {
	t.Helper()
	services := c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	service, err := services.Get(t.Context(), "v1beta1."+group, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port, found, err := unstructured.NestedInt64(service.Object, "spec", "service", "port")
	if err != nil || !found {
		t.Fatalf("APIService of %s: no port: %v", group, err)
	}
	return net.JoinHostPort("localhost", strconv.FormatInt(port, 10))
}

// awaitAll asks for every metric until each has had its right answer once.
func awaitAll(t *testing.T, a *adapter, client *client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for i := range metrics + hanging {
		for {
			err := client.ask(ctx, a.url(a.direct, i))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: %s: %v", a.name, name(i), err)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
}
