// Package binaries builds the control plane of the end-to-end tests from Go
// modules: no container engine and no download of programs. The first run on
// a machine compiles for a quarter of an hour on two cores; the programs are
// then kept in the user's cache directory.
package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/cache"
)

// Set is where the programs are, with the manifests that belong to the same
// versions.
type Set struct {
	Etcd                  string
	KubeAPIServer         string
	KubeControllerManager string
	Kubectl               string
	Kwok                  string
	KedaOperator          string
	KedaAdapter           string

	// KwokStages are the files that make kwok's nodes and pods Ready at once.
	KwokStages []string
	// KedaCRDs is one file with KEDA's custom resource definitions.
	KedaCRDs string
}

// Logf tells of progress; t.Logf and log.Printf are such functions.
type Logf func(format string, args ...any)

// Modules, below test/e2e/build, that pin what is built.
const (
	kubernetesModule = "kubernetes"
	kedaModule       = "keda"
	prometheusModule = "prometheusadapter"
)

// program is one main package to build.
type program struct {
	name   string
	module string
	pkg    string
}

// programs are built in this order: each shares packages with those before.
var programs = []program{
	{"etcd", kubernetesModule, "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", kubernetesModule, "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", kubernetesModule, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{"kubectl", kubernetesModule, "k8s.io/kubernetes/cmd/kubectl"},
	{"kwok", kubernetesModule, "sigs.k8s.io/kwok/cmd/kwok"},
	{"keda-adapter", kedaModule, "github.com/kedacore/keda/v2/cmd/adapter"},
	{"keda-operator", kedaModule, "github.com/kedacore/keda/v2/cmd/operator"},
}

// Ensure returns the set, after building it when this version of it is not in
// the cache. Of several processes, one builds and the others wait for it.
func Ensure(ctx context.Context, logf Logf) (Set, error) {
	build, err := newBuilder(ctx, logf)
	if err != nil {
		return Set{}, err
	}
	key, err := build.key()
	if err != nil {
		return Set{}, err
	}
	dir, err := cache.Dir("bin", key, build.fill)
	if err != nil {
		return Set{}, fmt.Errorf("build the programs of the end-to-end tests: %w", err)
	}
	return inDir(dir)
}

// prometheusAdapter is no part of the set: one test alone runs it.
var prometheusAdapter = program{"prometheus-adapter", prometheusModule, "sigs.k8s.io/prometheus-adapter/cmd/adapter"}

// PrometheusAdapter returns the path of that program, after building it when it is not in
// the cache: up to ten minutes.
func PrometheusAdapter(ctx context.Context, logf Logf) (string, error) {
	build, err := newBuilder(ctx, logf)
	if err != nil {
		return "", err
	}
	hash, err := build.pinned(prometheusModule)
	if err != nil {
		return "", err
	}
	dir, err := cache.Dir("bin", prometheusAdapter.name+"_"+hash, func(dir string) error { return build.compile(prometheusAdapter, dir) })
	if err != nil {
		return "", fmt.Errorf("build %s: %w", prometheusAdapter.name, err)
	}
	return filepath.Join(dir, prometheusAdapter.name), nil
}

// inDir is the set as it lies in a filled directory.
func inDir(dir string) (Set, error) {
	stages, err := filepath.Glob(filepath.Join(dir, stagesDir, "*.yaml"))
	if err != nil {
		return Set{}, fmt.Errorf("list kwok's stages: %w", err)
	}
	return Set{
		Etcd:                  filepath.Join(dir, "etcd"),
		KubeAPIServer:         filepath.Join(dir, "kube-apiserver"),
		KubeControllerManager: filepath.Join(dir, "kube-controller-manager"),
		Kubectl:               filepath.Join(dir, "kubectl"),
		Kwok:                  filepath.Join(dir, "kwok"),
		KedaOperator:          filepath.Join(dir, "keda-operator"),
		KedaAdapter:           filepath.Join(dir, "keda-adapter"),
		KwokStages:            stages,
		KedaCRDs:              filepath.Join(dir, crdsFile),
	}, nil
}

// key names what would be built: the two versions, for people, and a hash of
// everything that pins the sources, the recipe and the compiler.
func (b *builder) key() (string, error) {
	hash, err := b.pinned(kubernetesModule, kedaModule)
	return fmt.Sprintf("kubernetes-%s_keda-%s_%s", b.kubernetes, b.keda, hash), err
}

// pinned is a hash of what pins the programs of some modules.
func (b *builder) pinned(modules ...string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, runtime.Version(), programs, b.versionFlags(), stageFiles)
	for _, module := range modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(b.source, module, name))
			if err != nil {
				return "", fmt.Errorf("read what pins the programs: %w", err)
			}
			hash.Write(content)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:6]), nil
}

// fill builds everything into dir. What is interrupted is not lost: the
// packages that were compiled are in Go's own build cache.
func (b *builder) fill(dir string) error {
	b.logf("building Kubernetes and KEDA: half an hour on two cores, once. kube-apiserver and keda-adapter take ten minutes each. What is interrupted goes on where it was")
	for i, p := range programs {
		start := time.Now()
		b.logf("[%d/%d] building %s", i+1, len(programs), p.name)
		if err := b.compile(p, dir); err != nil {
			return err
		}
		b.logf("[%d/%d] built %s in %s", i+1, len(programs), p.name, time.Since(start).Round(time.Second))
	}
	if err := b.copyStages(dir); err != nil {
		return err
	}
	return b.renderCRDs(dir)
}

// moduleRoot is the checkout, wherever in it the test runs.
func moduleRoot(ctx context.Context) (string, error) {
	root, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/dashpot-project/dashpot")
	return strings.TrimSpace(root), err
}
