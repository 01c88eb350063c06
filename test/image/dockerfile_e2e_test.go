//go:build e2e

package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// builder is a stand-in for the image that the Dockerfile compiles in. What is in it are links:
// /usr and the Go toolchain are this machine's, mounted when it runs.
const builder = `FROM scratch
COPY links /
ENV PATH=/goroot/bin:/usr/bin:/bin GOCACHE=/cache GOMODCACHE=/modules GOPROXY=off GOTOOLCHAIN=local HOME=/
`

// buildah is the program with the places where it keeps images.
type buildah struct{ dir string }

// newBuildah finds buildah, or installs the distribution's.
func newBuildah(t *testing.T) buildah {
	t.Helper()
	if _, err := exec.LookPath("buildah"); err != nil {
		for _, args := range [][]string{{"apt-get", "update", "-qq"}, {"apt-get", "install", "-y", "-qq", "--no-install-recommends", "buildah"}} {
			line := asRoot(args...)
			command(t, ".", []string{"DEBIAN_FRONTEND=noninteractive"}, line[0], line[1:]...)
		}
	}
	b := buildah{dir: t.TempDir()}
	t.Cleanup(func() { // What root has made, only root can remove.
		line := asRoot("rm", "-rf", b.dir)
		_ = exec.Command(line[0], line[1:]...).Run()
	})
	return b
}

// do runs one of its commands: no daemon, no user namespace, no file system of its own, and
// no registry to ask.
func (b buildah) do(t *testing.T, dir string, args ...string) string {
	t.Helper()
	line := append(asRoot("buildah", "--root", filepath.Join(b.dir, "images"), "--runroot", filepath.Join(b.dir, "run"), "--storage-driver", "vfs"), args...)
	return command(t, dir, []string{"BUILDAH_ISOLATION=chroot"}, line[0], line[1:]...)
}

// standIn makes the image that compiles.
func (b buildah) standIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "links", "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(dir, "links", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(builder), 0o644); err != nil {
		t.Fatal(err)
	}
	const name = "localhost/builder"
	b.do(t, dir, "build", "--quiet", "--tag", name, ".")
	return name
}

// testDockerfile: the Dockerfile gives the programs of the images that are published, to the
// byte, as the same user and entry point.
func testDockerfile(t *testing.T, checkout, published string) {
	b := newBuildah(t)
	args := []string{"build", "--quiet", "--timestamp", "0", "--build-arg", "BUILDER=" + b.standIn(t), "--build-arg", "BASE=scratch", "--volume", "/usr:/usr:ro"}
	for variable, place := range map[string]string{"GOROOT": "/goroot", "GOMODCACHE": "/modules", "GOCACHE": "/cache"} {
		args = append(args, "--volume", strings.TrimSpace(command(t, checkout, nil, "go", "env", variable))+":"+place)
	}
	for _, program := range programs {
		tag := "localhost/" + program
		b.do(t, checkout, append(args, "--target", program, "--tag", tag, ".")...)
		l := layout(filepath.Join(published, program))
		m, c := l.image(t, runtime.GOARCH)
		want := l.files(t, m)

		runs := b.do(t, checkout, "inspect", "--type", "image", "--format", "{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}", tag)
		if got, want := strings.TrimSpace(runs), c.Config.User+" ["+c.Config.Entrypoint[0]+"]"; got != want {
			t.Errorf("the Dockerfile's %s runs as %q; want %q", program, got, want)
		}
		file := filepath.Join(b.dir, program+".tar")
		container := strings.TrimSpace(b.do(t, checkout, "from", "--pull-never", tag))
		root := strings.TrimSpace(b.do(t, checkout, "mount", container))
		line := asRoot("tar", "-C", root, "-cf", file, ".")
		command(t, checkout, nil, line[0], line[1:]...)
		got := contents(t, file)
		for _, name := range []string{"/" + program, "/licenses/LICENSE", "/licenses/THIRD_PARTY_LICENSES.md"} {
			if len(got[name]) == 0 || !bytes.Equal(got[name], want[name].content) {
				t.Errorf("%s of the Dockerfile's %s has %d bytes that are not the %d of the published image", name, program, len(got[name]), len(want[name].content))
			}
		}
	}
}

// contents reads a tar file.
func contents(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[filepath.Clean("/"+header.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
