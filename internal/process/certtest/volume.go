package certtest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// dataLink is the link by which the kubelet changes all files of a volume at once.
const dataLink = "..data"

// Volume is a folder that changes as the kubelet changes one with a Secret: its files are
// links through ..data, which is moved from one folder to the next.
type Volume struct {
	dir     string
	updates int
}

// NewVolume returns a volume without files.
func NewVolume(tb testing.TB) *Volume {
	tb.Helper()
	return &Volume{dir: tb.TempDir()}
}

// Path is where a file of the volume is.
func (v *Volume) Path(name string) string { return filepath.Join(v.dir, name) }

// Update exchanges the files' contents, all at once. Files that are not named are gone.
func (v *Volume) Update(tb testing.TB, files map[string][]byte) {
	tb.Helper()
	v.updates++
	former, _ := os.Readlink(v.Path(dataLink)) // there is none at first
	next := "..update-" + strconv.Itoa(v.updates)
	v.must(tb, os.Mkdir(v.Path(next), 0o700))
	for name, content := range files {
		Write(tb, filepath.Join(v.Path(next), name), content)
	}
	v.must(tb, os.Symlink(next, v.Path("..data_tmp")))
	v.must(tb, os.Rename(v.Path("..data_tmp"), v.Path(dataLink)))
	for name := range files {
		if _, err := os.Lstat(v.Path(name)); err != nil {
			v.must(tb, os.Symlink(filepath.Join(dataLink, name), v.Path(name)))
		}
	}
	if former != "" {
		v.must(tb, os.RemoveAll(v.Path(former)))
	}
}

func (v *Volume) must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("update volume: %v", err)
	}
}
