package cluster

import (
	"fmt"
	"os"
	"testing"
)

// runTests is how the tests are run: with the build tag e2e, on a cluster.
var runTests = (*testing.M).Run

// TestMain runs the tests, or is one of the scalers that they start.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == fakeScalerCommand {
		fmt.Fprintln(os.Stderr, runFakeScaler(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	os.Exit(runTests(m))
}
