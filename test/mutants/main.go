// Command mutants asks how much the tests of pkg/algorithm would notice. It changes one
// comparison, constant, rounding or operator at a time and runs the tests on each change:
//
//	go run ./test/mutants                       # all, with both detectors
//	go run ./test/mutants -detectors tests      # what make test sees
//	go run ./test/mutants -only limit.go        # the mutants that the pattern matches
//
// Nothing in the checkout is written, and every package is compiled once: all mutants
// are in one program, which reads from the environment which of them is alive.
//
// What nobody notices has to stand in survivors.txt with the reason why nobody can. The
// exit status is 1 if a survivor is not listed, or a listed one is caught or gone. The
// oracle alone, -detectors conformance, has no such list: much of the package is ours only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
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
	names := flag.String("detectors", "tests,conformance", "who looks for mutants, of tests and conformance")
	only := flag.String("only", "", "take the mutants whose line in the report this `pattern` matches")
	workers := flag.Int("workers", runtime.NumCPU(), "how many mutants to try at once")
	listed := flag.String("survivors", "test/mutants/survivors.txt", "the known survivors")
	results := flag.String("results", "", "write what became of every mutant to this `file`")
	flag.Parse()

	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q is no regular expression: %w", *only, err)
	}
	if *workers < 1 {
		return fmt.Errorf("-workers %d: at least 1", *workers)
	}
	known, err := readSurvivors(*listed)
	if err != nil {
		return err
	}
	detectors, err := chosen(*names)
	if err != nil {
		return err
	}
	r := run{Dir: "pkg/algorithm", Detectors: detectors, Only: pattern, Workers: *workers, Progress: os.Stderr}
	verdicts, err := r.Do(ctx)
	if err != nil {
		return err
	}
	if *results != "" {
		if err := os.WriteFile(*results, []byte(everyVerdict(verdicts, detectors)), 0o600); err != nil {
			return err
		}
	}
	fmt.Print(report(verdicts, detectors, known))
	if !slices.ContainsFunc(detectors, func(d detector) bool { return d.Name == "tests" }) {
		return nil // the oracle knows of Kubernetes' code, not of all of ours
	}
	return judge(verdicts, known, *only == "")
}

// chosen gives the detectors by their names.
func chosen(names string) ([]detector, error) {
	all := map[string]detector{
		// What make test runs that sees pkg/algorithm, the package's own tests first.
		"tests": {
			Name: "tests", Module: ".",
			Packages: []string{"./pkg/algorithm", "./pkg/scaling"},
		},
		// The comparison with Kubernetes' own code: short, because a difference that is
		// there shows within thousands of cases, not millions.
		"conformance": {
			Name: "conformance", Module: filepath.Join("test", "conformance"),
			Packages:  []string{"."},
			Arguments: []string{"-calculations", "20000", "-reconciles", "10000", "-seed", "1"},
		},
	}
	var detectors []detector
	for _, name := range strings.Split(names, ",") {
		d, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("-detectors %q: there are tests and conformance", name)
		}
		detectors = append(detectors, d)
	}
	return detectors, nil
}
