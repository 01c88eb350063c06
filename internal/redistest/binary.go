package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dashpot-project/dashpot/internal/redistest/distribution"
)

// binaryVariable names the server to use, ahead of everything else.
const binaryVariable = "DASHPOT_REDIS_SERVER"

// Binary returns the path of a Redis (or Valkey) server: the one named by
// $DASHPOT_REDIS_SERVER, else one on the PATH, else the Linux distribution's
// package, which is fetched into the user's cache without being installed.
func Binary() (string, error) { return binary() }

// CLI returns the command-line client that came with the server of Binary, or
// just its usual name when there is none next to it.
func CLI() string {
	if server, err := Binary(); err == nil {
		name := strings.Replace(filepath.Base(server), "-server", "-cli", 1)
		if cli := filepath.Join(filepath.Dir(server), name); name != filepath.Base(server) && exists(cli) {
			return cli
		}
	}
	return "redis-cli"
}

// binary remembers the answer, a failure too: a machine without a server
// should fail every test at once rather than fetch again for each.
var binary = sync.OnceValues(findBinary)

func findBinary() (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("$%s is not a program: %w", binaryVariable, err)
		}
		return path, nil
	}
	for _, product := range products {
		if path, err := exec.LookPath(product + "-server"); err == nil {
			return path, nil
		}
	}
	path, err := fromDistribution()
	if err != nil {
		return "", errors.Join(
			fmt.Errorf("these tests need a Redis server: put redis-server or valkey-server on the PATH, or name one in $%s", binaryVariable),
			fmt.Errorf("fetching the distribution's package did not work either: %w", err))
	}
	return path, nil
}

// products are the servers that distributions package, the likelier first.
var products = []string{"redis", "valkey"}

// fromDistribution fetches a server and its client. On Debian the client's package
// holds the server's program too.
func fromDistribution() (string, error) {
	var packages []distribution.Package
	for _, product := range products {
		packages = append(packages, distribution.Package{
			Name: product + "-server", Parts: []string{product + "-tools"},
			Programs: []string{product + "-server", product + "-cli"},
		})
	}
	dir, err := distribution.Fetch("redis", packages...)
	if err != nil {
		return "", err
	}
	for _, product := range products {
		if server := filepath.Join(dir, product+"-server"); exists(server) {
			return server, nil
		}
	}
	return "", fmt.Errorf("no server in %s", dir)
}
