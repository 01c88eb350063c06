package process

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Identity tells this process from its siblings: the host's name, which in a pod is the
// pod's, and something random, for two on one host.
func Identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("identify this process: %w", err)
	}
	return host + "_" + rand.Text()[:8], nil
}
