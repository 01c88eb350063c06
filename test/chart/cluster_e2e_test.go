//go:build e2e

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
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// env is what all tests share: a real API server with KEDA, and the definitions of every
// kind that the chart renders.
var env struct{ cluster *cluster.Cluster }

func TestMain(m *testing.M) {
	scenario.Main(cluster.Options{Audit: true}, nil, func(ctx context.Context, c *cluster.Cluster, _ string) (int, error) {
		env.cluster = c
		definitions, err := definitions(ctx)
		if err != nil {
			return 0, err
		}
		for _, crds := range definitions {
			if err := c.InstallCRDs(ctx, crds); err != nil {
				return 0, err
			}
		}
		for _, name := range []string{namespace, "shop", "mail"} {
			if err := createNamespace(ctx, name); err != nil {
				return 0, err
			}
		}
		return m.Run(), nil
	})
}

// definitions are Dashpot's, cert-manager's and the Prometheus Operator's CRDs. KEDA's are
// the cluster's.
func definitions(ctx context.Context) ([]string, error) {
	patterns := []string{filepath.Join(chartDir, "crds", "*.yaml")}
	for module, pattern := range map[string]string{
		"github.com/cert-manager/cert-manager":               "deploy/crds/cert-manager.io_*.yaml",
		"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/monitoring.coreos.com_*s.yaml",
	} {
		dir, err := moduleDir(ctx, module)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, filepath.Join(dir, filepath.FromSlash(pattern)))
	}
	var texts []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("find CRDs: %s has none (%w)", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read a CRD: %w", err)
			}
			texts = append(texts, strings.TrimPrefix(string(content), "---\n"))
		}
	}
	return texts, nil
}

// moduleDir is where the go command keeps a module that crds/go.mod pins.
func moduleDir(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = "crds"
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("get %s: %w\n%s", module, err, out)
	}
	var answer struct {
		Dir string `json:"Dir"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("get %s: %w", module, err)
	}
	return answer.Dir, nil
}

func createNamespace(ctx context.Context, name string) error {
	_, err := env.cluster.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// kubectl returns what kubectl prints. A manifest is its standard input.
func kubectl(t *testing.T, manifest string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.cluster.Kubectl(), append([]string{"--kubeconfig=" + env.cluster.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(manifest)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}
