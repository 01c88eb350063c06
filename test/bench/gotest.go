package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// conformanceModule is the module that has Kubernetes' own controller.
var conformanceModule = filepath.Join("test", "conformance")

// goTest runs go test in a module's directory and returns what it printed. Tests that fail
// are an error with the end of it.
func goTest(ctx context.Context, module string, arguments ...string) (string, error) {
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-count", "1"}, arguments...)...)
	test.Dir = module
	out, err := test.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go test %s: %w\n%s", strings.Join(arguments, " "), err, out[max(0, len(out)-4000):])
	}
	return string(out), nil
}

// benchmarks are what benchmarks printed, by their names without the number of
// processors, and then by unit: ns/op, allocs/op and the benchmark's own.
type benchmarks map[string]map[string]float64

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+)-\d+\s+\d+\s+(.+)$`)

// parseBenchmarks reads lines such as
//
//	BenchmarkStep/fresh-300/random-2   1000   812 ns/op   0 B/op   0 allocs/op
func parseBenchmarks(out string) benchmarks {
	all := benchmarks{}
	for _, line := range benchmarkLine.FindAllStringSubmatch(out, -1) {
		values := map[string]float64{}
		fields := strings.Fields(line[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[fields[i+1]] = value
			}
		}
		all[line[1]] = values
	}
	return all
}

// get returns a benchmark's value in a unit.
func (b benchmarks) get(name, unit string) (float64, error) {
	value, ok := b[name][unit]
	if !ok {
		return 0, fmt.Errorf("no benchmark printed %s of %s", unit, name)
	}
	return value, nil
}

// benchmark runs the benchmarks of a package that match a pattern.
func (l *lab) benchmark(ctx context.Context, module, pkg, pattern string) (benchmarks, error) {
	lasts := "1s"
	if l.short {
		lasts = "10ms"
	}
	// With one processor names would have no suffix to tell from a number of their own.
	cpus := strconv.Itoa(max(2, runtime.NumCPU()))
	out, err := goTest(ctx, module, "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", lasts, "-cpu", cpus, pkg)
	if err != nil {
		return nil, err
	}
	return parseBenchmarks(out), nil
}

// found returns the groups of a pattern's first match in what tests printed.
func found(out string, pattern *regexp.Regexp) ([]string, error) {
	match := pattern.FindStringSubmatch(out)
	if match == nil {
		return nil, fmt.Errorf("no %q in what the tests printed:\n%s", pattern, out[max(0, len(out)-2000):])
	}
	return match[1:], nil
}
