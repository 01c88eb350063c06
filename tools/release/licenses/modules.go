package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one of which something is linked.
type module struct {
	path, version string
	// texts are its licences and notices, by their name below the module's root. Code that
	// it has taken over from others has its own beside it.
	texts map[string]string
}

// standardLibrary is the name under which Go's own licence stands.
const standardLibrary = "Go's standard library"

// licenceFile is how files with licences and notices are called.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)(\.(md|txt|libyaml))?$`)

// linkedModules are those of the packages that the programs are linked of, in the order of
// their paths: the library, and what images are built for may differ in it.
func linkedModules(ctx context.Context, source string, programs ...string) ([]module, error) {
	found := map[string]module{}
	for _, arch := range []string{"amd64", "arm64"} {
		packages, err := list(ctx, source, arch, programs)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if err := p.addTo(found); err != nil {
				return nil, err
			}
		}
	}
	var linked []module
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name].texts) == 0 {
			return nil, fmt.Errorf("module %s has no licence", name)
		}
		linked = append(linked, found[name])
	}
	return linked, nil
}

// linkedPackage is what go list tells of a package.
type linkedPackage struct {
	Dir      string `json:"Dir"`
	Standard bool   `json:"Standard"`
	Root     string `json:"Root"`
	Module   *struct {
		Path    string `json:"Path"`
		Version string `json:"Version"`
		Dir     string `json:"Dir"`
		Main    bool   `json:"Main"`
	} `json:"Module"`
}

func list(ctx context.Context, source, arch string, programs []string) ([]linkedPackage, error) {
	args := append([]string{"list", "-deps", "-json=Dir,Standard,Root,Module"}, programs...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own programs
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = source, &stdout, &stderr
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("list packages: %w\n%s", err, stderr.Bytes())
	}
	var packages []linkedPackage
	for decoder := json.NewDecoder(&stdout); ; {
		var p linkedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		packages = append(packages, p)
	}
}

// addTo adds the package's module, with the licences from the package's directory up to the
// module's root.
func (p linkedPackage) addTo(found map[string]module) error {
	if p.Module != nil && p.Module.Main {
		return nil
	}
	// The library's packages have no module; those of golang.org/x that it has with it, too.
	m, root, dir := module{path: standardLibrary}, p.Root, p.Root
	if !p.Standard {
		m, root, dir = module{path: p.Module.Path, version: p.Module.Version}, p.Module.Dir, p.Dir
	}
	if known, ok := found[m.path]; ok {
		m = known
	} else {
		m.texts = map[string]string{}
	}
	found[m.path] = m
	for ; within(dir, root); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("look for licences: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return fmt.Errorf("read a licence: %w", err)
			}
			name := strings.TrimPrefix(strings.TrimPrefix(filepath.Join(dir, e.Name()), root), string(filepath.Separator))
			m.texts[filepath.ToSlash(name)] = string(text)
		}
	}
	return nil
}

// within reports whether a directory is root or below it.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, root+string(filepath.Separator))
}
