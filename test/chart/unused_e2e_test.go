//go:build e2e

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// right is what a rule allows at the least: one verb on one resource.
type right struct {
	verb, group, resource string
	names                 []string // empty for all
	namespace             string   // empty for all
}

func (r right) String() string {
	text := fmt.Sprintf("%s %s of %q", r.verb, r.resource, r.group)
	if len(r.names) > 0 {
		text += fmt.Sprintf(" called %s", strings.Join(r.names, ", "))
	}
	if r.namespace != "" {
		text += " in " + r.namespace
	}
	return text
}

// covers reports whether a request needed the right. A watch begins with all that there is
// where the API server can do that; to one that cannot, client-go sends a list before it.
func (r right) covers(q cluster.Request) bool {
	_, subresource, _ := strings.Cut(q.Resource, "/")
	return q.Allowed && (q.Verb == r.verb || q.Verb == "watch" && r.verb == "list") &&
		(r.group == "*" || r.group == q.Group) &&
		(r.resource == q.Resource || r.resource == "*/"+subresource) &&
		(len(r.names) == 0 || slices.Contains(r.names, q.Name)) &&
		(r.namespace == "" || r.namespace == q.Namespace)
}

// rightsOf takes rules apart.
func rightsOf(rules []rbacv1.PolicyRule, namespace string) []right {
	var all []right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{verb, group, resource, rule.ResourceNames, namespace})
				}
			}
		}
	}
	return all
}

// granted are the rights that the chart's own roles give to a ServiceAccount. Those of
// Kubernetes' roles, to which it binds the adapter too, are not for the chart to choose.
func granted(t *testing.T, namespace, account string) []right {
	t.Helper()
	client, ctx := env.cluster.Client.RbacV1(), t.Context()
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}
	ofRelease := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release}
	clusterRoles, err := client.ClusterRoles().List(ctx, ofRelease)
	if err != nil {
		t.Fatal(err)
	}
	roles, err := client.Roles("").List(ctx, ofRelease)
	if err != nil {
		t.Fatal(err)
	}
	clusterBindings, err := client.ClusterRoleBindings().List(ctx, ofRelease)
	if err != nil {
		t.Fatal(err)
	}
	bindings, err := client.RoleBindings("").List(ctx, ofRelease)
	if err != nil {
		t.Fatal(err)
	}
	var all []right
	for _, b := range clusterBindings.Items {
		for _, role := range clusterRoles.Items {
			if slices.Contains(b.Subjects, subject) && b.RoleRef.Name == role.Name {
				all = append(all, rightsOf(role.Rules, "")...)
			}
		}
	}
	for _, b := range bindings.Items {
		for _, role := range roles.Items {
			if slices.Contains(b.Subjects, subject) && b.RoleRef.Kind == "Role" && b.RoleRef.Name == role.Name && b.Namespace == role.Namespace {
				all = append(all, rightsOf(role.Rules, role.Namespace)...)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no rights", account)
	}
	return all
}

// unused are the rights that no request needed.
func unused(rights []right, requests []cluster.Request) []right {
	return slices.DeleteFunc(slices.Clone(rights), func(r right) bool { return slices.ContainsFunc(requests, r.covers) })
}

// testEveryRightIsUsed wants that a program has asked the API server for all that the chart
// lets it ask for, as the API server's audit log has it.
func testEveryRightIsUsed(t *testing.T, namespace, account string) {
	t.Helper()
	rights := granted(t, namespace, account)
	eventually(t, account+" to use all its rights", func() error {
		requests, err := env.cluster.Requests("system:serviceaccount:" + namespace + ":" + account)
		if left := unused(rights, requests); err == nil && len(left) > 0 {
			err = fmt.Errorf("of %d rights, %d are unused: %v", len(rights), len(left), left)
		}
		return err
	})
}

// TestUnusedRightIsFound: a rule that is wider than what was asked for does not pass.
func TestUnusedRightIsFound(t *testing.T) {
	requests := []cluster.Request{
		{Verb: "get", Resource: "secrets", Namespace: "shop", Name: "stats", Allowed: true},
		{Verb: "list", Group: "apps", Resource: "deployments", Allowed: true},
		{Verb: "get", Group: "apps", Resource: "deployments/scale", Namespace: "shop", Name: "worker", Allowed: true},
		{Verb: "watch", Group: "apps", Resource: "deployments"},
		{Verb: "watch", Group: "keda.sh", Resource: "scaledobjects", Allowed: true},
	}
	for _, test := range []struct {
		rule      rbacv1.PolicyRule
		namespace string
		unused    string
	}{
		{rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}, "shop", "[]"},
		{rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}}, "shop", `[list secrets of "" in shop]`},
		{rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}, "mail", `[get secrets of "" in mail]`},
		{rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"other"}}, "", `[get secrets of "" called other]`},
		{rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*/scale"}, Verbs: []string{"get"}}, "", "[]"},
		{rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch"}}, "", `[watch deployments of "apps"]`}, // it was refused
		{rbacv1.PolicyRule{APIGroups: []string{"keda.sh"}, Resources: []string{"scaledobjects"}, Verbs: []string{"list", "watch", "get"}}, "", `[get scaledobjects of "keda.sh"]`},
	} {
		if got := fmt.Sprint(unused(rightsOf([]rbacv1.PolicyRule{test.rule}, test.namespace), requests)); got != test.unused {
			t.Errorf("%+v: unused are %s; want %s", test.rule, got, test.unused)
		}
	}
}
