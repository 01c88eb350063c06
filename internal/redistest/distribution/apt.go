package distribution

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// privateApt is apt with its lists and downloads in a directory of its own:
// that needs no root and leaves the system's apt as it is.
type privateApt struct {
	dir     string
	options []string
}

func newPrivateApt() (*privateApt, error) {
	dir, err := os.MkdirTemp("", "dashpot-apt-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for apt: %w", err)
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make a directory for apt: %w", err)
		}
	}
	return &privateApt{dir: dir, options: []string{
		"-o", "Dir::State=" + filepath.Join(dir, "state"),
		"-o", "Dir::State::status=/var/lib/dpkg/status",
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Sandbox::User=root",
		"-o", "Debug::NoLocking=true",
		"-q",
	}}, nil
}

func (a *privateApt) remove() { _ = os.RemoveAll(a.dir) }

// run calls one of apt's tools and returns what it prints.
func (a *privateApt) run(tool string, args ...string) (string, error) {
	return a.exec(tool, append(a.options, args...)...)
}

func (a *privateApt) exec(tool string, args ...string) (string, error) {
	cmd := exec.Command(tool, args...)
	cmd.Dir = filepath.Join(a.dir, "debs")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", tool, err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}

// unpack downloads a package, those that it is split into, and the libraries that
// they need, and unpacks them under root.
func (a *privateApt) unpack(p Package, root string) error {
	graph, err := a.run("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests",
		"--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", p.Name)
	if err != nil {
		return err
	}
	packages := needed(p, graph)
	if _, err := a.run("apt-get", append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(a.dir, "debs", "*.deb"))
	if err != nil {
		return fmt.Errorf("list the packages: %w", err)
	}
	for _, archive := range archives {
		if _, err := a.exec("dpkg-deb", "-x", archive, root); err != nil {
			return err
		}
	}
	return nil
}

// needed picks from the output of apt-cache depends the packages to unpack: the
// package, the parts that it depends on, and shared libraries. Everything else is for
// installing, and the C library must be the system's own, as its loader is.
func needed(p Package, graph string) []string {
	depends := map[string][]string{}
	current := ""
	for line := range strings.Lines(graph) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			current = line
			continue
		}
		_, dependency, found := strings.Cut(line, "Depends: ")
		if found && (slices.Contains(p.Parts, dependency) || isLibrary(dependency)) {
			depends[current] = append(depends[current], dependency)
		}
	}
	result := []string{p.Name}
	for next := 0; next < len(result); next++ {
		for _, dependency := range depends[result[next]] {
			if !slices.Contains(result, dependency) {
				result = append(result, dependency)
			}
		}
	}
	return result
}

// isLibrary tells shared libraries from other packages, those of JavaScript among them.
func isLibrary(name string) bool {
	for _, prefix := range []string{"libc6", "libc-", "libjs-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return strings.HasPrefix(name, "lib") || strings.HasPrefix(name, "lua-")
}
