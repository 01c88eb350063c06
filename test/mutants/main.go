// Command mutants asks how much the tests of a package would notice. It changes one
// comparison, constant, rounding or operator at a time and runs the tests on each change:
//
//	go run ./test/mutants                           # all packages, with all detectors
//	go run ./test/mutants -package pkg/scaling      # one, or several with commas
//	go run ./test/mutants -detectors tests          # what make test sees
//	go run ./test/mutants -only limit.go            # the mutants that the pattern matches
//
// Nothing in the checkout is written, and every package is compiled once: all mutants
// are in one program, which reads from the environment which of them is alive. One that
// keeps the tests from ending counts as caught, by time-out.
//
// What nobody notices has to stand in the package's file in survivors, with the reason why
// nobody can. The exit status is 1 if a survivor is not listed, or a listed one is caught
// or gone. The oracle alone, -detectors conformance, has no such list: much of
// pkg/algorithm is ours only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1) //nolint:gocritic // all that is undone by then is to listen for signals
	}
}

func command(ctx context.Context) error {
	packages := flag.String("package", allPackages(), "the packages to break")
	names := flag.String("detectors", byTests+","+byOracle, "who looks for mutants, of "+byTests+" and "+byOracle)
	only := flag.String("only", "", "take the mutants whose line in the report this `pattern` matches")
	workers := flag.Int("workers", runtime.NumCPU(), "how many mutants to try at once")
	listed := flag.String("survivors", "test/mutants/survivors", "the `directory` with the known survivors, a file per package")
	results := flag.String("results", "", "write what became of every mutant to this `file`")
	flag.Parse()

	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q is no regular expression: %w", *only, err)
	}
	if *workers < 1 {
		return fmt.Errorf("-workers %d: at least 1", *workers)
	}
	broken, err := chosen(*packages, *names)
	if err != nil {
		return err
	}
	var all []verdict
	var every string
	var problems []error
	for _, s := range broken {
		known, err := readSurvivors(s.survivors(*listed))
		if err != nil {
			return err
		}
		r := run{Subject: s, Only: pattern, Workers: *workers, Progress: os.Stderr}
		verdicts, err := r.Do(ctx)
		if err != nil {
			return err
		}
		fmt.Print(report(verdicts, s.Detectors, known))
		all, every = append(all, verdicts...), every+everyVerdict(verdicts, s.Detectors)
		// The oracle knows of Kubernetes' code, not of all of ours.
		if slices.ContainsFunc(s.Detectors, func(d detector) bool { return d.Name == byTests }) {
			problems = append(problems, judge(verdicts, known, *only == ""))
		}
	}
	if *results != "" {
		if err := os.WriteFile(*results, []byte(every), 0o600); err != nil {
			return err
		}
	}
	fmt.Print(summary(all))
	return errors.Join(problems...)
}
