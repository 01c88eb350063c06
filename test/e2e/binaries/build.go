package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	stagesDir = "stages"
	crdsFile  = "keda-crds.yaml"
)

// stageFiles are the stages to run kwok with, below its kustomize/stage.
var stageFiles = []string{
	"node/fast/node-initialize.yaml",
	"pod/fast/pod-ready.yaml",
	"pod/fast/pod-complete.yaml",
	"pod/fast/pod-delete.yaml",
}

// builder knows the modules that pin the programs.
type builder struct {
	ctx        context.Context //nolint:containedctx // lives for one call of Ensure
	logf       Logf
	source     string // test/e2e/build
	kubernetes string // version
	keda       string // version
}

func newBuilder(ctx context.Context, logf Logf) (*builder, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	b := &builder{ctx: ctx, logf: logf, source: filepath.Join(root, "test", "e2e", "build")}
	if b.kubernetes, err = b.list(kubernetesModule, "{{.Version}}", "k8s.io/kubernetes"); err != nil {
		return nil, err
	}
	if b.keda, err = b.list(kedaModule, "{{.Version}}", "github.com/kedacore/keda/v2"); err != nil {
		return nil, err
	}
	return b, nil
}

// compile builds one program.
func (b *builder) compile(p program, dir string) error {
	flags := "-s -w"
	if p.module == kubernetesModule {
		flags += b.versionFlags()
	}
	_, err := output(b.ctx, filepath.Join(b.source, p.module), "go", "build", "-trimpath", "-mod=readonly",
		"-ldflags", flags, "-o", filepath.Join(dir, p.name), p.pkg)
	return err
}

// versionFlags make the linker state Kubernetes' version, as its own release
// build does: kwok refuses to talk to an API server that has none.
func (b *builder) versionFlags() string {
	const variable = " -X k8s.io/component-base/version."
	major, rest, _ := strings.Cut(strings.TrimPrefix(b.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return variable + "gitVersion=" + b.kubernetes + variable + "gitMajor=" + major + variable + "gitMinor=" + minor
}

// copyStages copies kwok's stages out of its module.
func (b *builder) copyStages(dir string) error {
	kwok, err := b.list(kubernetesModule, "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	target := filepath.Join(dir, stagesDir)
	if err := os.Mkdir(target, 0o755); err != nil {
		return fmt.Errorf("copy kwok's stages: %w", err)
	}
	for _, file := range stageFiles {
		content, err := os.ReadFile(filepath.Join(kwok, "kustomize", "stage", filepath.FromSlash(file)))
		if err != nil {
			return fmt.Errorf("copy kwok's stages: %w", err)
		}
		name := strings.ReplaceAll(file, "/", "-")
		if err := os.WriteFile(filepath.Join(target, name), content, 0o644); err != nil {
			return fmt.Errorf("copy kwok's stages: %w", err)
		}
	}
	return nil
}

// renderCRDs applies KEDA's patches to its CRDs, without which the API server
// does not accept them.
func (b *builder) renderCRDs(dir string) error {
	keda, err := b.list(kedaModule, "{{.Dir}}", "github.com/kedacore/keda/v2")
	if err != nil {
		return err
	}
	crds, err := output(b.ctx, dir, filepath.Join(dir, "kubectl"), "kustomize", filepath.Join(keda, "config", "crd"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, crdsFile), []byte(crds), 0o644); err != nil {
		return fmt.Errorf("write KEDA's CRDs: %w", err)
	}
	return nil
}

// list asks Go about a dependency of one of the modules.
func (b *builder) list(module, format, dependency string) (string, error) {
	text, err := output(b.ctx, filepath.Join(b.source, module), "go", "list", "-m", "-f", format, dependency)
	return strings.TrimSpace(text), err
}

// output runs a program and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOOS=", "GOARCH=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return string(stdout), nil
}
