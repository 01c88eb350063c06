//go:build e2e

package image

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The parts of an OCI image that the tests look at. They are read with nothing of what
// wrote them.
type (
	descriptor struct {
		Digest   string   `json:"digest"`
		Size     int64    `json:"size"`
		Platform platform `json:"platform"`
	}
	platform struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	}
	index struct {
		Manifests []descriptor `json:"manifests"`
	}
	manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	config struct {
		platform
		Created string `json:"created"`
		Config  struct {
			User       string            `json:"User"`
			Entrypoint []string          `json:"Entrypoint"`
			Env        []string          `json:"Env"`
			Labels     map[string]string `json:"Labels"`
		} `json:"config"`
	}
)

// layout is a directory with an OCI image layout.
type layout string

// blob reads a blob, which must be what its digest says.
func (l layout) blob(t *testing.T, digest string) []byte {
	t.Helper()
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok {
		t.Fatalf("digest %q is no sha256", digest)
	}
	data, err := os.ReadFile(filepath.Join(string(l), "blobs", "sha256", sum))
	if err != nil {
		t.Fatal(err)
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		t.Fatalf("%s has the digest sha256:%x", digest, got)
	}
	return data
}

// top is the digest of the one thing that the layout holds.
func (l layout) top(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(string(l), "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := decode[index](t, data)
	if len(all.Manifests) != 1 {
		t.Fatalf("%s holds %d images; want 1", l, len(all.Manifests))
	}
	return all.Manifests[0].Digest
}

// index is what the layout has for each platform.
func (l layout) index(t *testing.T) index {
	t.Helper()
	return decode[index](t, l.blob(t, l.top(t)))
}

// image is the one for an architecture.
func (l layout) image(t *testing.T, arch string) (manifest, config) {
	t.Helper()
	for _, d := range l.index(t).Manifests {
		if d.Platform == (platform{OS: "linux", Architecture: arch}) {
			m := decode[manifest](t, l.blob(t, d.Digest))
			return m, decode[config](t, l.blob(t, m.Config.Digest))
		}
	}
	t.Fatalf("%s has no image for linux/%s", l, arch)
	return manifest{}, config{}
}

// entry is a file of an image.
type entry struct {
	header  tar.Header
	content []byte
}

// files are those of an image by their names, those of later layers over those of earlier
// ones.
func (l layout) files(t *testing.T, m manifest) map[string]entry {
	t.Helper()
	files := map[string]entry{}
	for _, d := range m.Layers {
		data, err := gzip.NewReader(strings.NewReader(string(l.blob(t, d.Digest))))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(data); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Clean("/"+header.Name)] = entry{*header, content}
		}
	}
	return files
}

// unpack lays files out below a new directory, as readable as they are in the image.
func unpack(t *testing.T, files map[string]entry) string {
	t.Helper()
	// Go's own temporary directories are closed to the image's user.
	root, err := os.MkdirTemp("", "dashpot-rootfs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	for name, e := range files {
		target, mode := filepath.Join(root, name), fs.FileMode(e.header.Mode).Perm()
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if e.header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(target, mode); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(target, e.content, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
