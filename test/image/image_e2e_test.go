//go:build e2e

package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"flag"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// full builds for every platform, the second time with nothing compiled before, and the
// Dockerfile. Each of these compiles everything, Kubernetes' client too: ten minutes of a
// processor. The Dockerfile needs buildah, which is installed if it is missing.
var full = flag.Bool("full", false, "build for every platform, once without the build cache, and by the Dockerfile")

// programs are those that have an image of their own.
var programs = []string{"adapter", "scaler"}

// machines are what images are built for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// build builds the images of a checkout by its own tool, which runs with more in its
// environment, into a new directory.
func build(t *testing.T, checkout, platforms string, env ...string) string {
	t.Helper()
	out, tool := t.TempDir(), filepath.Join(t.TempDir(), "image")
	command(t, filepath.Join(checkout, "tools", "release"), nil, "go", "build", "-o", tool, "./image")
	command(t, checkout, env, tool, "-source", ".", "-out", out, "-platforms", platforms)
	return out
}

// TestImages: two checkouts of a commit give the same images, and the images are what
// docs/release.md says: one program, no shell, nobody's but root's to write, and it serves.
func TestImages(t *testing.T) {
	first, second := checkout(t), checkout(t)
	architectures := []string{runtime.GOARCH}
	other := []string{"TZ=Asia/Tokyo", "GOFLAGS=-buildvcs=false", "GOAMD64=v3"}
	if *full {
		architectures = slices.Sorted(maps.Keys(machines))
		other = append(other, "GOCACHE="+t.TempDir())
	}
	platforms := "linux/" + strings.Join(architectures, ",linux/")
	out, again := build(t, first, platforms), build(t, second, platforms, other...)
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			l := layout(filepath.Join(out, program))
			digest := l.top(t)
			if got := layout(filepath.Join(again, program)).top(t); got != digest {
				t.Errorf("the second build is %s; the first was %s", got, digest)
			}
			t.Logf("%s for %s: twice %s", program, platforms, digest)
			for _, arch := range architectures {
				t.Run(arch, func(t *testing.T) { testContents(t, l, program, arch, machines[arch]) })
			}
			m, c := l.image(t, runtime.GOARCH)
			testRun(t, program, container{root: unpack(t, l.files(t, m)), config: c})
		})
	}
	if *full {
		t.Run("Dockerfile", func(t *testing.T) { testDockerfile(t, first, out) })
	}
}

// testContents looks at what the image of a program for an architecture holds.
func testContents(t *testing.T, l layout, program, arch string, machine elf.Machine) {
	m, c := l.image(t, arch)
	files := l.files(t, m)
	var packed, unpacked int64
	for _, d := range m.Layers {
		packed += d.Size
	}
	for name, e := range files {
		unpacked += e.header.Size
		if e.header.Uid != 0 || e.header.Gid != 0 || e.header.Mode&0o022 != 0 || e.header.Mode&0o7000 != 0 {
			t.Errorf("%s has the owner %d:%d and the mode %o; want root's, with nobody else to write it", name, e.header.Uid, e.header.Gid, e.header.Mode)
		}
		if e.header.Typeflag == tar.TypeReg && e.header.Mode&0o111 != 0 && name != "/"+program {
			t.Errorf("%s can be run; want nothing but the program", name)
		}
	}
	t.Logf("%s for %s: %.1f MB, unpacked %.1f MB, user %s", program, arch, float64(packed)/1e6, float64(unpacked)/1e6, c.Config.User)

	if c.platform != (platform{OS: "linux", Architecture: arch}) || c.Config.User != "65532:65532" || !slices.Equal(c.Config.Entrypoint, []string{"/" + program}) {
		t.Errorf("the image is for %v, with the user %q and the entry point %q", c.platform, c.Config.User, c.Config.Entrypoint)
	}
	if want := "2026-01-02T03:04:05Z"; c.Created != want || c.Config.Labels["org.opencontainers.image.version"] != stamp {
		t.Errorf("created %s, labels %v; want the commit's time %s and the version %s", c.Created, c.Config.Labels, want, stamp)
	}
	binary, err := elf.NewFile(bytes.NewReader(files["/"+program].content))
	if err != nil {
		t.Fatalf("the program: %v", err)
	}
	if libraries, err := binary.ImportedLibraries(); binary.Machine != machine || len(libraries) > 0 || err != nil {
		t.Errorf("the program is for %v and needs %q, %v; want %v and no libraries", binary.Machine, libraries, err, machine)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(files["/etc/ssl/certs/ca-certificates.crt"].content) {
		t.Error("the image has no authorities")
	}
	for name, want := range map[string]string{
		"/etc/passwd": "nonroot:x:65532:65532:", "/etc/group": "nonroot:x:65532:",
		"/licenses/LICENSE": "Apache License", "/licenses/THIRD_PARTY_LICENSES.md": "| k8s.io/client-go |",
	} {
		if !strings.Contains(string(files[name].content), want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
}
