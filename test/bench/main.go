// Command bench measures what the design promises, each figure beside its baseline in the
// same run, and writes docs/performance.md from what it found:
//
//	go run ./test/bench -write                 # all rows but those that stand apart
//	go run ./test/bench -rows '^push' -write   # some rows; the others keep their results
//	go run ./test/bench -apart -write          # also the rows that stand apart
//	go run ./test/bench -short                 # whether it works; its figures mean little
//
// Apart stand the rows that need a control plane, which is built first, or that take more
// than five minutes. The scaler under test is the real program, on a real Redis; whoever
// calls it is this process, whose time is not counted. Nothing is judged: a figure that
// misses its goal is a line in the page that says so, and the exit status is 1 only for
// what could not be measured or was answered wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

// The files that -write writes.
const (
	resultsFile = "test/bench/results.json"
	pageFile    = "docs/performance.md"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	redis.SetLogger(silent{})
	run := command
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		run = func(ctx context.Context) error { return serveBaseline(ctx, os.Args[2:]) }
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // all that is undone by then is to listen for signals
	}
}

// silent drops what go-redis writes of servers that are only just starting.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// choice is what a command line asks for.
type choice struct {
	only     *regexp.Regexp
	apart    bool
	short    bool
	out      string // file that results are merged into; empty for none
	write    bool   // whether the page is written as well
	profiles string
}

func parseFlags() (choice, error) {
	var c choice
	rows := flag.String("rows", "", "measure the rows whose name this `pattern` matches, those that stand apart included")
	flag.BoolVar(&c.apart, "apart", false, "measure also the rows that need a control plane or more than five minutes")
	flag.BoolVar(&c.short, "short", false, "see whether it works: a twentieth of the time and of the policies")
	flag.StringVar(&c.out, "out", "", "merge the results into this JSON `file`")
	flag.BoolVar(&c.write, "write", false, "merge the results into "+resultsFile+" and write "+pageFile+" from it")
	flag.StringVar(&c.profiles, "profiles", "", "keep a CPU profile of the scaler under each load in this `directory`")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return c, fmt.Errorf("argument %q is no flag, and there is nothing else", flag.Arg(0))
	case c.write && c.short:
		return c, errors.New("-write with -short: figures of a short run are not for the page")
	case c.write && c.out != "":
		return c, fmt.Errorf("-out %q with -write, which keeps results in %s", c.out, resultsFile)
	case c.write:
		c.out = resultsFile
	}
	if *rows == "" {
		return c, nil
	}
	var err error
	if c.only, err = regexp.Compile(*rows); err != nil {
		return c, fmt.Errorf("-rows %q is no regular expression: %w", *rows, err)
	}
	return c, nil
}

// wants reports whether a row is to be measured. Who names a row wants it, apart or not.
func (c choice) wants(r row) bool {
	if c.only != nil {
		return c.only.MatchString(r.Name)
	}
	return c.apart || !r.Apart
}

func command(ctx context.Context) error {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	kept := results{}
	if c.out != "" {
		if kept, err = readResults(c.out); err != nil {
			return err
		}
	}
	failed := measure(ctx, c, kept)
	if c.out != "" {
		failed = errors.Join(failed, kept.write(c.out))
	}
	if c.write {
		failed = errors.Join(failed, writePage(pageFile, rows(), kept))
	}
	return failed
}

// measure runs the wanted rows one after the other, prints what each came to, and puts it
// into kept. A row that fails keeps its former result; the others go on.
func measure(ctx context.Context, c choice, kept results) error {
	l, err := newLab(c.short, c.profiles)
	if err != nil {
		return err
	}
	defer l.close()
	var failed []error
	for _, r := range rows() {
		if !c.wants(r) || ctx.Err() != nil {
			continue
		}
		fmt.Printf("%s: %s\n", r.Name, r.What)
		got, err := l.measure(ctx, r)
		if err != nil {
			fmt.Printf("  failed: %v\n", err)
			failed = append(failed, fmt.Errorf("%s: %w", r.Name, err))
			continue
		}
		kept[r.Name] = got
		fmt.Println(got.text(r))
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// measure runs one row.
func (l *lab) measure(ctx context.Context, r row) (result, error) {
	before, started := loadAverage(), time.Now()
	l.row = r.Name
	found, err := r.Run(ctx, l)
	if err != nil {
		return result{}, err
	}
	return result{
		measured: found,
		Machine:  thisMachine(), Commit: commit(ctx),
		At: started.UTC().Truncate(time.Second), Seconds: int(time.Since(started).Seconds()),
		LoadBefore: before, LoadAfter: loadAverage(),
	}, nil
}
