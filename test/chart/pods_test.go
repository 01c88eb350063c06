package chart

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// TestPodsAreConfined: no rendering has a pod that Kubernetes' restricted standard would
// refuse, that writes to its own root, or whose size a scheduler does not know.
func TestPodsAreConfined(t *testing.T) {
	for _, set := range sets() {
		pods := 0
		for _, o := range objects(t, renderSet(t, set).Manifest) {
			template, found := podTemplate(t, o)
			if !found {
				continue
			}
			pods++
			for _, fault := range faults(template.Spec) {
				t.Errorf("%s: %s: %s", set, o.GetName(), fault)
			}
		}
		if pods == 0 {
			t.Errorf("%s: no pods", set)
		}
	}
}

// faults are what is not confined in a pod.
func faults(spec corev1.PodSpec) []string {
	var all []string
	want := func(ok bool, fault string) {
		if !ok {
			all = append(all, fault)
		}
	}
	pod := spec.SecurityContext
	want(pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot, "may run as root")
	want(pod != nil && pod.SeccompProfile != nil && pod.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "has no seccomp profile")
	for _, c := range spec.Containers {
		s := c.SecurityContext
		if s == nil {
			return append(all, "has no security context")
		}
		want(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "may escalate")
		want(s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem, "writes to its root")
		want(s.Capabilities != nil && slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}), "keeps capabilities")
		want(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "requests nothing")
		want(c.LivenessProbe != nil && c.ReadinessProbe != nil, "has no probes")
	}
	return all
}

// TestSelectorsFit: what selects pods selects those of one workload, and the ports that it
// names are theirs.
func TestSelectorsFit(t *testing.T) {
	for _, set := range sets() {
		all := objects(t, renderSet(t, set).Manifest)
		for _, o := range all {
			var selector map[string]string
			switch o.GetKind() {
			case "Service":
				selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "selector")
			case "PodDisruptionBudget":
				selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
			case "NetworkPolicy":
				selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "podSelector", "matchLabels")
			default:
				continue
			}
			workloads, ports := selected(t, all, selector)
			if !slices.Equal(workloads, []string{o.GetName()}) {
				t.Errorf("%s: %s %s selects the pods of %v", set, o.GetKind(), o.GetName(), workloads)
			}
			for _, port := range named(o.Object) {
				if !slices.Contains(ports, port) {
					t.Errorf("%s: %s %s: port %s is not one of the pods' %v", set, o.GetKind(), o.GetName(), port, ports)
				}
			}
		}
	}
}

// selected are the workloads whose pods have some labels, and their ports.
func selected(t *testing.T, all []*unstructured.Unstructured, selector map[string]string) (workloads, ports []string) {
	t.Helper()
	for _, o := range all {
		template, found := podTemplate(t, o)
		if !found || len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(template.Labels)) {
			continue
		}
		workloads = append(workloads, o.GetName())
		for _, port := range template.Spec.Containers[0].Ports {
			ports = append(ports, port.Name)
		}
	}
	return workloads, ports
}

// named are the container ports that a Service or NetworkPolicy names.
func named(object map[string]any) []string {
	spec, _ := object["spec"].(map[string]any)
	var names []string
	var collect func(value any, key string)
	collect = func(value any, key string) {
		switch value := value.(type) {
		case []any:
			for _, entry := range value {
				collect(entry, key)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				collect(value[key], key)
			}
		case string:
			if key == "targetPort" || key == "port" {
				names = append(names, value)
			}
		}
	}
	collect(spec, "")
	return names
}

// TestProgramsTakeTheirCommandLines: the arguments and the delegates file that the chart
// writes are read by the programs themselves.
func TestProgramsTakeTheirCommandLines(t *testing.T) {
	programs := build(t, "scaler", "adapter")
	for _, set := range sets() {
		all := objects(t, renderSet(t, set).Manifest)
		for name, path := range programs {
			deployment := find(all, "Deployment", fullName(set)+"-"+name)
			if deployment == nil {
				if set == "native" && name == "scaler" || set == "defaults" && name == "adapter" {
					continue
				}
				t.Fatalf("%s: no %s", set, name)
			}
			template, _ := podTemplate(t, deployment)
			args := slices.Concat(template.Spec.Containers[0].Args, []string{"--version"})
			if file := find(all, "ConfigMap", deployment.GetName()+"-delegates"); file != nil {
				dir := unpack(t, file)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "/etc/dashpot/delegates", dir)
				}
			}
			if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
				t.Errorf("%s: %s %q: %v\n%s", set, name, args, err, out)
			}
		}
	}
}

// fullName is what the names of a set's objects begin with.
func fullName(set string) string {
	if set == "everything" {
		return release + "-damper"
	}
	return release
}

// build builds programs of cmd as the main module has them, and returns their paths.
func build(t *testing.T, names ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{}
	for _, name := range names {
		paths[name] = filepath.Join(dir, name)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", paths[name], "./cmd/"+name)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the %s: %v\n%s", name, err, out)
		}
	}
	return paths
}

// unpack writes the entries of a ConfigMap into a directory, as a volume has them.
func unpack(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
