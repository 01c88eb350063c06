package distribution

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	graph := `redis-server
  PreDepends: init-system-helpers
  Depends: redis-tools
redis-tools
  Depends: libc6
 |Depends: liblzf1
  Depends: <virtual>
  Depends: adduser
liblzf1
  Depends: libc6
  Depends: redis-tools
libc6
  Depends: libgcc-s1
adduser
  Depends: libpam
prometheus
  Depends: adduser
  Depends: libjs-jquery
  Depends: libc6
`
	redis := Package{Name: "redis-server", Parts: []string{"redis-tools"}}
	if got, want := needed(redis, graph), []string{"redis-server", "redis-tools", "liblzf1"}; !slices.Equal(got, want) {
		t.Errorf("needed %v, want %v", got, want)
	}
	if got, want := needed(Package{Name: "prometheus"}, graph), []string{"prometheus"}; !slices.Equal(got, want) {
		t.Errorf("needed %v, want %v", got, want)
	}
}

func TestReleaseName(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian 12\"\n": "debian-12",
		"ID=arch\n":           "arch",
		"PRETTY_NAME=\"x\"\n": "",
	} {
		path := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := releaseName(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is release %q, %v, want %q", content, got, err, want)
		}
	}
}
