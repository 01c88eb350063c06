package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// chartDir is the chart, seen from here.
const chartDir = "../../charts/dashpot"

// release and namespace are those of the documentation, which calls the scaler
// dashpot-scaler.dashpot:9090.
const release, namespace = "dashpot", "dashpot"

// program is Helm's path: the Helm 4 of go.mod, which the go command builds once and keeps
// in its cache, or the one that $DASHPOT_HELM names. A Helm 3 can do TestAPIService; it
// does not print notes without a cluster.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("DASHPOT_HELM"); path != "" {
		return path, nil
	}
	out, err := exec.CommandContext(context.Background(), "go", "tool", "-n", "helm").Output()
	if err != nil {
		return "", fmt.Errorf("build Helm: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// helm is a Helm with an empty home, and a cluster if kubeconfig is set.
type helm struct {
	t          *testing.T
	path, home string
	kubeconfig string
}

func newHelm(t *testing.T, kubeconfig string) helm {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return helm{t: t, path: path, home: t.TempDir(), kubeconfig: kubeconfig}
}

// run returns what Helm prints, and what it complains about if it fails.
func (h helm) run(args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(h.t.Context()), h.path, args...) // in cleanups too
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home,
		"KUBECONFIG="+h.kubeconfig, "NO_PROXY=*", "no_proxy=*")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}

// rendering is what the chart gives for one set of values.
type rendering struct {
	Manifest string `json:"manifest"`
	Info     struct {
		Notes string `json:"notes"`
	} `json:"info"`
}

// render renders without a cluster, as with `helm install --dry-run=client`.
func render(t *testing.T, args ...string) (rendering, error) {
	t.Helper()
	out, err := newHelm(t, os.DevNull).run(append([]string{
		"install", release, chartDir, "--namespace=" + namespace, "--dry-run=client", "--output=json",
	}, args...)...)
	if err != nil {
		return rendering{}, err
	}
	var r rendering
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("Helm's answer: %v\n%s", err, out)
	}
	return r, nil
}

// renderSet renders one of the value sets of testdata/sets.
func renderSet(t *testing.T, set string) rendering {
	t.Helper()
	r, err := render(t, "--values="+setPath(set))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sets are the value sets that everything is tried with.
func sets() []string {
	return []string{"defaults", "delegation", "native", "trial", "monitored", "everything"}
}

func setPath(set string) string { return filepath.Join("testdata", "sets", set+".yaml") }
