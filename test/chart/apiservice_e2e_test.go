//go:build e2e

package chart

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// place is the APIService of what HPAs read, and kedas is who has it in a cluster with KEDA.
const (
	place = "v1beta1." + cluster.ExternalMetricsGroup
	kedas = "keda/keda-metrics-apiserver"
	ours  = namespace + "/dashpot-adapter"
)

// TestAPIService: who has the place where HPAs ask keeps it, unless the operator says else.
// The steps follow one another, with KEDA as the owner in the beginning.
func TestAPIService(t *testing.T) {
	former := get(t)
	t.Cleanup(func() { put(t, former) })
	h := newHelm(t, env.cluster.Kubeconfig())

	t.Run("the scaler alone leaves it", func(t *testing.T) {
		h.install(t, namespace, "")
		wantHolder(t, kedas)
	})
	t.Run("an upgrade to the adapter is refused", func(t *testing.T) {
		h.refused(t, "upgrade", namespace, "adapter.enabled=true", kedas)
		wantHolder(t, kedas)
		h.uninstall(t, namespace)
	})
	t.Run("an installation is refused and leaves nothing", func(t *testing.T) {
		h.refused(t, "install", namespace, "adapter.enabled=true", kedas)
		h.refused(t, "install", namespace, "adapter.enabled=true", kedas, h.ownership()...)
		wantHolder(t, kedas)
		wantNothing(t)
	})
	t.Run("a delegate that is another server is no way out", func(t *testing.T) {
		other := strings.Replace(delegateToKEDA, "keda-metrics-apiserver.keda", "prometheus-adapter.monitoring", 1)
		h.refused(t, "install", namespace, "adapter.enabled=true,"+other, kedas, h.ownership()...)
		wantHolder(t, kedas)
		wantNothing(t)
	})
	t.Run("an API group of its own is nobody else's", func(t *testing.T) {
		h.install(t, namespace, "adapter.enabled=true,adapter.apiGroup=external.dashpot.dev")
		wantHolder(t, kedas)
		h.uninstall(t, namespace)
	})
	t.Run("no APIService is wanted", func(t *testing.T) {
		h.install(t, namespace, "adapter.enabled=true,adapter.apiService.create=false")
		wantHolder(t, kedas)
		h.uninstall(t, namespace)
	})
	t.Run("delegates", func(t *testing.T) {
		h.install(t, namespace, "adapter.enabled=true,"+delegateToKEDA, h.ownership()...)
		wantHolder(t, ours)
		h.uninstall(t, namespace)
		wantHolder(t, "")
		put(t, former)
	})
	t.Run("takeOver without Helm's own permission", func(t *testing.T) {
		err := h.change("install", namespace, "adapter.enabled=true,adapter.apiService.takeOver=true")
		if err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
			t.Errorf("error %v; want Helm's", err)
		}
		wantHolder(t, kedas)
	})
	t.Run("takeOver", func(t *testing.T) {
		h.install(t, namespace, "adapter.enabled=true,adapter.apiService.takeOver=true", h.ownership()...)
		wantHolder(t, ours)
	})
	t.Run("an upgrade keeps what is ours", func(t *testing.T) {
		before := certificate(t)
		h.upgrade(t, "adapter.enabled=true,logLevel=debug")
		wantHolder(t, ours)
		if after := certificate(t); after != before {
			t.Error("the upgrade made another certificate; pods that run have the former one")
		}
	})
	t.Run("an upgrade by another name", func(t *testing.T) {
		h.upgrade(t, "adapter.enabled=true,fullnameOverride=damper")
		wantHolder(t, namespace+"/damper-adapter")
	})
	t.Run("a second release is refused", func(t *testing.T) {
		h.refused(t, "install", "shop", "adapter.enabled=true", namespace+"/damper-adapter")
	})
	t.Run("without the adapter it is gone", func(t *testing.T) {
		h.upgrade(t, "logLevel=info")
		wantHolder(t, "")
	})
	t.Run("nobody has it", func(t *testing.T) {
		h.upgrade(t, "adapter.enabled=true")
		wantHolder(t, ours)
		h.uninstall(t, namespace)
		wantHolder(t, "")
	})
}

// ownership are the flags without which Helm itself takes no object that it did not make.
// Helm 4 applies on the server's side, where the fields of another are a conflict.
func (h helm) ownership() []string {
	flags := []string{"--take-ownership"}
	if version, err := h.run("version", "--short"); err != nil || strings.HasPrefix(version, "v4") {
		flags = append(flags, "--force-conflicts")
	}
	return flags
}

const delegateToKEDA = "adapter.delegates[0].name=keda,adapter.delegates[0].url=https://keda-metrics-apiserver.keda:443," +
	"adapter.delegates[0].match.labels[0]=scaledobject\\.keda\\.sh/name"

// change installs or upgrades the release in a namespace.
func (h helm) change(verb, namespace, set string, flags ...string) error {
	args := append([]string{
		verb, release, chartDir, "--namespace=" + namespace, "--skip-crds",
		"--set=redis.url=redis://redis.shop:6379", "--set=" + set,
	}, flags...)
	_, err := h.run(slices.DeleteFunc(args, func(arg string) bool { return arg == "--set=" })...)
	return err
}

func (h helm) install(t *testing.T, namespace, set string, flags ...string) {
	t.Helper()
	if err := h.change("install", namespace, set, flags...); err != nil {
		t.Fatal(err)
	}
}

func (h helm) upgrade(t *testing.T, set string) {
	t.Helper()
	if err := h.change("upgrade", namespace, set); err != nil {
		t.Fatal(err)
	}
}

func (h helm) uninstall(t *testing.T, namespace string) {
	t.Helper()
	if _, err := h.run("uninstall", release, "--namespace="+namespace); err != nil {
		t.Fatal(err)
	}
}

// refused wants the sentence that names the owner, what would break and the two ways out.
func (h helm) refused(t *testing.T, verb, namespace, set, owner string, flags ...string) {
	t.Helper()
	err := h.change(verb, namespace, set, flags...)
	want := fmt.Sprintf("APIService %s belongs to %s, and every HPA that reads its metrics", place, owner)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "adapter.delegates") ||
		!strings.Contains(err.Error(), "adapter.apiService.takeOver=true") {
		t.Fatalf("error %v; want one with %q and the two ways out", err, want)
	}
	t.Log(err)
}

func apiServices() dynamic.ResourceInterface {
	return env.cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
}

// get returns the APIService as somebody would create it; nil if there is none.
func get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o, err := apiServices().Get(t.Context(), place, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(),
		"metadata": map[string]any{"name": place}, "spec": o.Object["spec"],
	}}
}

// put makes the APIService what it was, in cleanups too, when a test's context has ended.
func put(t *testing.T, former *unstructured.Unstructured) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := apiServices().Delete(ctx, place, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if _, err := apiServices().Create(ctx, former, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// wantHolder wants the place to be a Service's, given as NAMESPACE/NAME, or nobody's.
func wantHolder(t *testing.T, want string) {
	t.Helper()
	got := ""
	if o := get(t); o != nil {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
		namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
		got = namespace + "/" + name
	}
	if got != want {
		t.Errorf("%s is %q's; want %q", place, got, want)
	}
}

// wantNothing wants that the release's namespace has nothing of a release.
func wantNothing(t *testing.T) {
	t.Helper()
	out, err := kubectl(t, "", "get", "deployments,services,secrets,configmaps,serviceaccounts", "--output=name", "--namespace="+namespace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, release) {
			t.Errorf("a refused installation left %s", line)
		}
	}
}

// certificate is the authority that the API server knows, which has to be the Secret's.
func certificate(t *testing.T) string {
	t.Helper()
	secret, err := env.cluster.Client.CoreV1().Secrets(namespace).Get(t.Context(), "dashpot-adapter-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle, _, _ := unstructured.NestedString(get(t).Object, "spec", "caBundle")
	if !bytes.Equal(decoded(t, bundle), secret.Data["ca.crt"]) {
		t.Error("the APIService's caBundle is not the Secret's")
	}
	return string(secret.Data["tls.crt"])
}
