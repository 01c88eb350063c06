//go:build e2e

package native_test

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// testForbidden takes the right to read external metrics from the HPA controller:
// the HPA says so and holds. With the right back it goes on.
func testForbidden(t *testing.T) {
	w := newWorkload(t, 1)
	w.Queue(jobs, 20)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	r := w.Record()
	w.Await(4, time.Minute)

	roles := env.cluster.Client.RbacV1().ClusterRoles()
	list, err := roles.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	restore := func() {}
	for _, role := range list.Items {
		if role.Name != "system:controller:horizontal-pod-autoscaler" && role.Name != cluster.AdapterReaderRole {
			continue
		}
		rules := role.Rules
		w.setRules(role.Name, slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, cluster.ExternalMetricsGroup)
		}))
		others := restore
		restore = func() {
			others()
			w.setRules(role.Name, rules)
		}
	}
	defer restore()
	w.Queue(jobs, 40)
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric", "forbidden")
	w.Steady(r, 2*hpaSync, 1, 4)
	restore()
	w.Await(8, time.Minute)
	w.Expect(r, 1, 4, 8)
}

func (w *workload) setRules(name string, rules []rbacv1.PolicyRule) {
	w.T.Helper()
	roles := env.cluster.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(w.T.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	role.Rules = rules
	if _, err := roles.Update(w.T.Context(), role, metav1.UpdateOptions{}); err != nil {
		w.T.Fatal(err)
	}
}
