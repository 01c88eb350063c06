// Package distribution brings programs that the Linux distribution packages, as any
// user and without installing them: tests run real servers wherever they run.
package distribution

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dashpot-project/dashpot/internal/redistest/cache"
)

// wrapper runs the program of its own name with the shared libraries that came
// with it. It execs, so the script's process becomes the program's: signals
// reach it.
const wrapper = `#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
for dir in "$root"/usr/lib/*-linux-* "$root"/lib/*-linux-* "$root"/usr/lib; do
	[ -d "$dir" ] && LD_LIBRARY_PATH="$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$root/usr/bin/$(basename "$0")" "$@"
`

// Package is a package of the distribution.
type Package struct {
	Name string
	// Parts are other packages that it depends on and that hold something to run.
	Parts []string
	// Programs are what to run of all these. Each knows --version.
	Programs []string
}

// Fetch returns a directory with the programs of the first of the packages that the
// distribution has. It is kept in the user's cache under a name, the kind of program.
// The key there is the release of the distribution, because the package's libraries
// fit no other.
func Fetch(kind string, packages ...Package) (dir string, err error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("only distributions with apt are known: %w", err)
		}
	}
	release, err := releaseName("/etc/os-release")
	if err != nil {
		return "", err
	}
	return cache.Dir(kind, release+"-"+runtime.GOARCH, func(dir string) error { return fetch(dir, packages) })
}

// releaseName reads a name such as debian-12 from an os-release file.
func releaseName(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("find out the distribution: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	fields := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), "="); found {
			fields[key] = strings.Trim(value, `"'`)
		}
	}
	if fields["ID"] == "" {
		return "", fmt.Errorf("find out the distribution: %s has no ID", path)
	}
	return strings.TrimSuffix(fields["ID"]+"-"+fields["VERSION_ID"], "-"), nil
}

// fetch fills dir with the unpacked packages and the wrapper scripts.
func fetch(dir string, packages []Package) error {
	apt, err := newPrivateApt()
	if err != nil {
		return err
	}
	defer apt.remove()
	if _, err := apt.run("apt-get", "update"); err != nil {
		return err
	}
	var failures error
	for _, p := range packages {
		err := apt.unpack(p, filepath.Join(dir, "root"))
		if err == nil {
			return wrap(dir, p.Programs)
		}
		failures = errors.Join(failures, err)
	}
	return failures
}

// wrap writes the scripts that run the unpacked programs.
func wrap(dir string, programs []string) error {
	for _, program := range programs {
		script := filepath.Join(dir, program)
		if err := os.WriteFile(script, []byte(wrapper), 0o755); err != nil {
			return fmt.Errorf("write a wrapper: %w", err)
		}
		if output, err := exec.Command(script, "--version").CombinedOutput(); err != nil {
			return fmt.Errorf("the fetched %s does not run: %w: %s", program, err, output)
		}
	}
	return nil
}
