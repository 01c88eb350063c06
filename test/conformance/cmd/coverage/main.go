// Command coverage reads a coverage profile of upstream's podautoscaler and prints which
// statements of the code that decides were reached, function by function, and the lines
// that were not:
//
//	go test -run 'TestReconciles|TestCalculations' -coverprofile cover.out \
//		-coverpkg k8s.io/kubernetes/pkg/controller/podautoscaler/... .
//	go run ./cmd/coverage cover.out
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: coverage PROFILE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

// least is the share of upstream's statements, in percent, below which the comparison
// would leave too much out.
const least = 95

func run(out io.Writer, profile string) error {
	blocks, err := readProfile(profile)
	if err != nil {
		return err
	}
	dir, err := moduleDir()
	if err != nil {
		return err
	}
	var total count
	for _, file := range files {
		functions, err := functionsOf(dir, file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", file.path)
		for _, f := range functions {
			reached, missed := f.reached(blocks[file.path])
			total = count{total.covered + reached.covered, total.all + reached.all}
			fmt.Fprintf(out, "  %4d of %4d  %s\n", reached.covered, reached.all, f.name)
			for _, line := range missed {
				fmt.Fprintf(out, "                  %4d  %s\n", line, f.source(line))
			}
		}
	}
	percent := 100 * float64(total.covered) / float64(total.all)
	fmt.Fprintf(out, "%d of %d statements, %.1f %%\n", total.covered, total.all, percent)
	if percent < least {
		return fmt.Errorf("the random inputs reach less than %v %% of what decides", least)
	}
	return nil
}
