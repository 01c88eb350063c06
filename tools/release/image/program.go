package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program is one that has an image of its own.
type program struct {
	name, description string
	// ports are those that it serves without being told otherwise.
	ports []string
}

func programs() []program {
	return []program{
		{name: "scaler", description: "Dashpot's external scaler for KEDA", ports: []string{"8080/tcp", "9090/tcp"}},
		{name: "adapter", description: "Dashpot's server of external metrics for native HPAs", ports: []string{"6443/tcp", "8080/tcp"}},
	}
}

// build is a program for one platform, with what the go command has stamped into it.
type build struct {
	os, arch string
	binary   []byte
	// version is a tag, or a pseudo-version with the commit and its time; it ends in +dirty
	// if the checkout was not the commit.
	version, revision string
	committed         time.Time
}

// compileAll compiles a program for platforms such as linux/amd64.
func compileAll(ctx context.Context, root string, p program, platforms []string, stderr io.Writer) ([]build, error) {
	dir, err := os.MkdirTemp("", "dashpot-image-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for programs: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	var builds []build
	for i, platform := range platforms {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok || system != "linux" {
			return nil, fmt.Errorf("-platforms has %q; each must be linux/ and an architecture, such as linux/amd64", platform)
		}
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := compile(ctx, root, p.name, system, arch, file, stderr); err != nil {
			return nil, fmt.Errorf("compile %s for %s: %w", p.name, platform, err)
		}
		b, err := stamped(file)
		if err != nil {
			return nil, fmt.Errorf("%s for %s: %w", p.name, platform, err)
		}
		b.os, b.arch = system, arch
		builds = append(builds, b)
	}
	return builds, nil
}

// compile runs the go command with the flags of the Dockerfile. The version is the go
// command's own, from the tag or the commit. What the environment could change of the
// result is set here.
func compile(ctx context.Context, root, name, system, arch, out string, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", out, "./cmd/"+name) //nolint:gosec // name is of programs
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, stderr, stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	return cmd.Run()
}

// stamped reads a program and what the go command wrote into it.
func stamped(file string) (build, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return build{}, fmt.Errorf("read its version: %w", err)
	}
	b := build{version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.time":
			if b.committed, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return build{}, fmt.Errorf("read the commit's time: %w", err)
			}
		}
	}
	if b.revision == "" {
		return build{}, errors.New("it has no commit: images are built from a git checkout")
	}
	if b.binary, err = os.ReadFile(file); err != nil {
		return build{}, err
	}
	return b, nil
}
