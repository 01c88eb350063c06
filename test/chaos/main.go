// Command chaos breaks what Dashpot stands on, piece by piece and with real processes, and
// counts what it does wrong meanwhile:
//
//	go run ./test/chaos                             # every cell that has no result yet
//	go run ./test/chaos -faults FLUSHALL -seeds 7   # some, with a script of your own
//	go run ./test/chaos -write                      # only print the table, and put it into docs/failures.md
//
// # A cell
//
// A cell is a fault, a set-up of Redis and a seed. Two scalers and an adapter run in it,
// all three programs as they are released, and watch a real API server. A client plays
// KEDA and two HPAs: it polls, syncs, and writes spec.replicas as they would. A source
// follows the script of the seed, in which the fault has its moment. Everything that can
// be disturbed is reached by a link of the cell's own.
//
// # The reference
//
// A run of the pure core, scaling.Step, over the same script and the same spec.replicas,
// every 100 ms, that nothing interrupts. An answer is wrong if it is below the lowest that
// the reference decides, from two seconds before the question to two seconds after the
// answer, and below all that ran from half a second before the question on. Two, because a reading serves for an interval of a second: the last reading of a
// peak may be a second older than the reference's, so that its window ends a second
// earlier, and the first after it a second later; the other second is for the way of
// everything through a busy machine. Windows are 15 s and periods 3 s, so what a fault
// makes somebody forget shows all the same.
//
// Above the reference is allowed: whoever was blind holds. While nobody can read the source,
// because it hangs or all replicas are dead, nobody can know what to raise to: the count
// that runs is good enough, and the reference does not read either.
//
// At zero an answer is a wrong wake-up if it is active while the reference is not. Above
// zero, inactive while the reference is active is a wrong zero.
//
// A raise or a wake-up that does not come in those two seconds takes nothing from anybody:
// such answers are late, and what is told is the longest time in which one replica's were.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// crds is the path of the StabilizedMetric's definition.
const crds = "charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	redis.SetLogger(silent{}) // that connections fail is what all this is about
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1) //nolint:gocritic // all that is undone by then is to listen for signals
	}
}

// silent is a logger of go-redis.
type silent struct{}

// Printf says nothing.
func (silent) Printf(context.Context, string, ...any) {}

func command(ctx context.Context) error {
	faultPattern := flag.String("faults", "", "take the faults whose name this `pattern` matches")
	setupPattern := flag.String("setups", "", "take the set-ups of Redis that this `pattern` matches: "+strings.Join(setups, ", "))
	seedList := flag.String("seeds", "1,2", "the `seeds` of each cell, with commas")
	parallel := flag.Int("parallel", 6, "how many cells to run at once")
	path := flag.String("results", "test/chaos/results.jsonl", "what is known already, and where to add to it")
	page := flag.String("page", "docs/failures.md", "the page with the table")
	write := flag.Bool("write", false, "run nothing; write the table into the page")
	keep := flag.String("keep", "", "keep the logs of all processes in this `directory`")
	flag.Parse()

	results, err := readResults(*path)
	if err != nil {
		return err
	}
	if *write {
		fmt.Print(plainTable(results))
		return writeTable(*page, results)
	}
	plan, err := plan(*faultPattern, *setupPattern, *seedList)
	if err != nil {
		return err
	}
	if *parallel < 1 {
		return fmt.Errorf("-parallel %d: at least 1", *parallel)
	}
	todo := missing(plan, results)
	log.Printf("%d cells, %d of them still to run", len(plan), len(todo))
	if len(todo) > 0 {
		if err := runAll(ctx, todo, *parallel, *path, *keep); err != nil {
			return err
		}
	}
	if results, err = readResults(*path); err != nil {
		return err
	}
	fmt.Print(plainTable(results))
	return faultsOf(results, plan)
}

// plan lists the cells that are asked for.
func plan(faultPattern, setupPattern, seedList string) ([]cell, error) {
	byFault, err := regexp.Compile(faultPattern)
	if err != nil {
		return nil, fmt.Errorf("-faults %q is no regular expression: %w", faultPattern, err)
	}
	bySetup, err := regexp.Compile(setupPattern)
	if err != nil {
		return nil, fmt.Errorf("-setups %q is no regular expression: %w", setupPattern, err)
	}
	var cells []cell
	for _, word := range strings.Split(seedList, ",") {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-seeds %q: numbers from 0, with commas", seedList)
		}
		for _, f := range faults() {
			for _, setup := range f.setups {
				if byFault.MatchString(f.name) && bySetup.MatchString(setup) {
					cells = append(cells, cell{f.name, setup, seed})
				}
			}
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no fault matches -faults %q and -setups %q", faultPattern, setupPattern)
	}
	return cells, nil
}

// runAll runs cells and writes each result down at once. A cell that the harness itself
// could not run has none, and is told at the end.
func runAll(ctx context.Context, cells []cell, parallel int, path, keep string) error {
	dir := keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "dashpot-chaos-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := newStage(ctx, dir, cells)
	if err != nil {
		return err
	}
	defer s.Stop()
	var (
		running  sync.WaitGroup
		mu       sync.Mutex
		problems []error
		queue    = make(chan cell)
	)
	for range parallel {
		running.Go(func() {
			for c := range queue {
				r, err := c.run(ctx, s, faultNamed(c.Fault))
				mu.Lock()
				if err == nil {
					log.Printf("%v: below %d, zeros %d, wakes %d, late %.1f s, disagreement %.1f s, silence %.1f s %s", c, r.Below, r.Zeros, r.Wakes, r.Late, r.Disagreement, r.Silence, strings.Join(r.Examples, "; "))
					err = appendResult(path, r)
				}
				if err != nil {
					log.Printf("%v: %v", c, err)
					problems = append(problems, fmt.Errorf("%v: %w", c, err))
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range cells {
		if ctx.Err() == nil {
			queue <- c
		}
	}
	close(queue)
	running.Wait()
	return errors.Join(append(problems, ctx.Err())...)
}

// newStage builds the programs that cells need, and starts the API server.
func newStage(ctx context.Context, dir string, cells []cell) (*stage, error) {
	bin, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	log.Print("building")
	variants := map[string]bool{}
	for _, c := range cells {
		variants[faultNamed(c.Fault).variant] = true
	}
	built, err := build(ctx, bin, variants)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Options{WithoutKEDA: true, Logf: log.Printf})
	if err != nil {
		return nil, err
	}
	for _, file := range []string{c.Binaries.KedaCRDs, crds} {
		content, err := os.ReadFile(file)
		if err == nil {
			err = c.InstallCRDs(ctx, string(content))
		}
		if err != nil {
			c.Stop()
			return nil, err
		}
	}
	return &stage{built, c, bin}, nil
}

func faultNamed(name string) fault {
	list := faults()
	return list[slices.IndexFunc(list, func(f fault) bool { return f.name == name })]
}

// faultsOf is an error if a cell of the plan has a bad result or none.
func faultsOf(results []result, plan []cell) error {
	var bad []string
	for _, r := range results {
		if !r.good() && slices.Contains(plan, r.cell) {
			bad = append(bad, fmt.Sprintf("%v: %s", r.cell, strings.Join(r.Examples, "; ")))
		}
	}
	for _, c := range missing(plan, results) {
		bad = append(bad, fmt.Sprintf("%v: no result", c))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d cells are not as they should be:\n%s", len(bad), strings.Join(bad, "\n"))
	}
	return nil
}
