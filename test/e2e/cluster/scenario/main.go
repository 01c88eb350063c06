package scenario

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// Main is the TestMain of tests on a cluster. It builds programs of cmd into a temporary
// directory, starts a cluster, whose logs and data stay in the directory that E2E_DIR names,
// and calls run, which makes what the tests need and runs them. It does not return.
func Main(o cluster.Options, programs []string, run func(ctx context.Context, c *cluster.Cluster, dir string) (code int, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := onCluster(ctx, o, programs, run)
	stop()
	if err != nil {
		log.Print(err)
		code = 1
	}
	os.Exit(code)
}

func onCluster(ctx context.Context, o cluster.Options, programs []string, run func(context.Context, *cluster.Cluster, string) (int, error)) (int, error) {
	dir, err := os.MkdirTemp("", "dashpot-test-")
	if err != nil {
		return 0, fmt.Errorf("make a directory for the programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, program := range programs {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, program), "github.com/dashpot-project/dashpot/cmd/"+program)
		if out, err := build.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build the %s: %w\n%s", program, err, out)
		}
	}
	o.Logf, o.Dir = log.Printf, os.Getenv("E2E_DIR")
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return 0, err
	}
	defer c.Stop()
	return run(ctx, c, dir)
}
