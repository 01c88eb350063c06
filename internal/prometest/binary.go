package prometest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/dashpot-project/dashpot/internal/redistest/distribution"
)

// binaryVariable names the server to use, ahead of everything else.
const binaryVariable = "DASHPOT_PROMETHEUS"

// Binary returns the path of a Prometheus server: the one named by $DASHPOT_PROMETHEUS,
// else one on the PATH, else the Linux distribution's package, which is fetched into
// the user's cache without being installed.
func Binary() (string, error) { return binary() }

// binary remembers the answer, a failure too: a machine without a server should fail
// every test at once rather than fetch again for each.
var binary = sync.OnceValues(findBinary)

func findBinary() (string, error) {
	const program = "prometheus"
	if path := os.Getenv(binaryVariable); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("$%s is not a program: %w", binaryVariable, err)
		}
		return path, nil
	}
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	dir, err := distribution.Fetch(program, distribution.Package{Name: program, Programs: []string{program}})
	if err != nil {
		return "", errors.Join(
			fmt.Errorf("these tests need a Prometheus server: put prometheus on the PATH, or name one in $%s", binaryVariable),
			fmt.Errorf("fetching the distribution's package did not work either: %w", err))
	}
	return filepath.Join(dir, program), nil
}
