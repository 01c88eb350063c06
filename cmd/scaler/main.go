// Command scaler is Dashpot's external scaler for KEDA.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/dashpot-project/dashpot/internal/process"
)

func main() { os.Exit(start(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

// start returns the exit code: 0 for an orderly end, 1 for a failure, 2 for a
// command line that makes no sense.
func start(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args, getenv, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 2
	case o.version:
		fmt.Fprintln(stdout, process.Version())
		return 0
	}
	log := process.NewLogger(stderr, o.logLevel, o.logFormat)
	process.AdoptLibraries(log)
	ctx, stop := process.Context()
	defer stop()
	if err := run(ctx, o, log); err != nil {
		log.Error("scaler failed", "error", err)
		return 1
	}
	return 0
}
