package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// detector is a set of tests that look for mutants.
type detector struct {
	Name string
	// Module is the directory of the module that the tests are in, Packages the
	// packages of it that are run, in this order, until one fails.
	Module   string
	Packages []string
	// Arguments are further ones of the tests.
	Arguments []string
	// Without matches the names of tests that are not run; nil for none.
	Without *regexp.Regexp
	// Properties are those of the packages that try some on random cases (rapid).
	Properties []string
}

// sameCases makes random cases the same for every mutant, and none smaller or a file.
var sameCases = []string{"-rapid.seed=1", "-rapid.shrinktime=1ms", "-rapid.nofailfile"}

// program is a package's compiled tests with all mutants in it.
type program struct {
	path, dir string
	arguments []string
	start     time.Duration // what it takes to run no test
	tests     []test        // the quickest first
}

// test is one test, example or set of seeds of a program. Times are the processor's.
type test struct {
	name string
	took time.Duration
	// lasted is how long it took by the clock.
	lasted time.Duration
	// reached has a 1 at the number of every site that the test evaluates.
	reached []byte
}

func (t test) reaches(site int) bool { return site < len(t.reached) && t.reached[site] == 1 }

// build compiles a detector's tests and runs each with no mutant alive: it has to pass,
// and is seen to reach some mutants and to take some time.
func (d detector) build(ctx context.Context, work, overlay string) ([]program, error) {
	var programs []program
	for i, pkg := range d.Packages {
		p := program{
			path:      filepath.Join(work, fmt.Sprintf("%s%d.test", d.Name, i)),
			dir:       filepath.Join(d.Module, filepath.FromSlash(pkg)),
			arguments: append([]string{"-test.failfast"}, d.Arguments...),
		}
		if slices.Contains(d.Properties, pkg) {
			p.arguments = append(p.arguments, sameCases...)
		}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", p.path, "-overlay", overlay, pkg)
		build.Dir = d.Module
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s with mutants: %w\n%s", pkg, err, out)
		}
		var err error
		if p.tests, err = p.measure(ctx, p.path+".reached", d.Without); err != nil {
			return nil, fmt.Errorf("the tests of %s without a mutant, one by one: %w", pkg, err)
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// measure runs each test on its own.
func (p *program) measure(ctx context.Context, reached string, without *regexp.Regexp) ([]test, error) {
	list, err := p.run(ctx, 0, "", limits{time.Hour, time.Hour}, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, err
	}
	p.start = list.took
	var tests []test
	for _, name := range strings.Fields(list.out) {
		if without != nil && without.MatchString(name) {
			continue
		}
		if err := os.WriteFile(reached, nil, 0o600); err != nil {
			return nil, err
		}
		a, err := p.run(ctx, 0, reached, limits{time.Hour, time.Hour}, only(name))
		if err == nil {
			err = a.failure()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sites, err := os.ReadFile(reached)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test{name, max(0, a.took-p.start), a.lasted, sites})
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.lasted, b.lasted) })
	return tests, nil
}

// catch says which test notices a mutant, "" if none does. Only tests that reach it are
// run: first the quick ones together, which catch most, then the others one by one.
func (p *program) catch(ctx context.Context, m mutant) (string, error) {
	var groups [][]test
	for _, t := range p.tests {
		if !t.reaches(m.Site) {
			continue
		}
		if len(groups) == 0 || duration(groups[len(groups)-1])+t.took > p.start+quick {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], t)
	}
	for _, group := range groups {
		var names []string
		allowed := limits{cpu: 3*(p.start+duration(group)) + patience, clock: silence}
		for _, t := range group {
			names = append(names, t.name)
			allowed.clock += 5 * t.lasted
		}
		a, err := p.run(ctx, m.ID, "", allowed, only(names...))
		if err != nil {
			return "", err
		}
		if a.failed {
			return a.culprit(), nil
		}
	}
	return "", nil
}

const (
	// quick is what the tests that run together take, beyond what a start takes.
	quick = 50 * time.Millisecond
	// patience is what a mutant may take on top of three times what it takes without.
	patience = 3 * time.Second
	// silence is what it may take by the clock, on top of five times what it takes without:
	// tests that wait for what never comes take no time of the processor.
	silence = 30 * time.Second
)

// limits are what a run may take of the processor's time, and by the clock.
type limits struct{ cpu, clock time.Duration }

func duration(tests []test) time.Duration {
	var sum time.Duration
	for _, t := range tests {
		sum += t.took
	}
	return sum
}

// only is the argument that selects tests by their names.
func only(tests ...string) string { return "-test.run=^(" + strings.Join(tests, "|") + ")$" }

// run runs the tests with one mutant alive, within limits. If reached is a file, it gets a
// 1 at the number of every site that is evaluated.
func (p *program) run(ctx context.Context, id int, reached string, allowed limits, arguments ...string) (attempt, error) {
	deadline, cancel := context.WithTimeout(ctx, allowed.clock)
	defer cancel()
	var out strings.Builder
	command := exec.CommandContext(deadline, p.path, append(arguments, p.arguments...)...)
	command.Dir, command.Stdout, command.Stderr = p.dir, &out, &out
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", alive, id), cpuLimit+"="+allowed.cpu.String(), reachedFile+"="+reached)
	command.WaitDelay = time.Second
	began := time.Now()
	err := command.Run()
	if command.ProcessState == nil || ctx.Err() != nil { // it did not start, or was interrupted
		return attempt{}, err
	}
	if deadline.Err() != nil {
		out.WriteString("\n" + failed + timeout + " (of the clock)\n")
	}
	took := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return attempt{out: out.String(), took: took, lasted: time.Since(began), failed: err != nil}, nil
}

// failed begins the line of a test that failed, and of what ended all of them.
const failed = "--- FAIL: "

// Who catches a mutant that no test does.
const (
	crash   = "a panic or a deadlock"
	timeout = "timeout" // as the chooser says it
	memory  = "memory"  // the same
)

// attempt is what became of running tests.
type attempt struct {
	out          string
	took, lasted time.Duration
	failed       bool
}

// culprit is the test that failed.
func (a attempt) culprit() string {
	for line := range strings.Lines(a.out) {
		if rest, ok := strings.CutPrefix(line, failed); ok {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
	}
	return crash
}

// failure is the end of what failing tests printed, as an error; nil if they passed.
func (a attempt) failure() error {
	if !a.failed {
		return nil
	}
	return fmt.Errorf("%s failed:\n%s", a.culprit(), a.out[max(0, len(a.out)-8000):])
}
