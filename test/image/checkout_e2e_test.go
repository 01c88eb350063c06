//go:build e2e

package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stamp is the tag of the checkouts that images are built from.
const stamp = "v1.2.3"

// checkout makes a clean checkout of what is in this one, committed or not, as one commit
// with a tag. Commits of the same files are the same, wherever and whenever they are made.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	names := command(t, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		copyFile(t, filepath.Join(root, name), filepath.Join(dir, name))
	}
	env := []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+who+"_NAME=Dashpot", "GIT_"+who+"_EMAIL=dashpot@example.org", "GIT_"+who+"_DATE=2026-01-02T03:04:05Z")
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A", "--force"}, {"commit", "-q", "-m", "A release"}, {"tag", stamp},
	} {
		command(t, dir, env, "git", args...)
	}
	return dir
}

// copyFile copies a file that is there: git lists those too that were deleted.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o644|info.Mode().Perm()&0o111); err != nil {
		t.Fatal(err)
	}
}

// command runs a command with more in its environment, and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// asRoot is a command line as root's.
func asRoot(args ...string) []string {
	if os.Getuid() != 0 {
		return append([]string{"sudo", "-E"}, args...)
	}
	return args
}
