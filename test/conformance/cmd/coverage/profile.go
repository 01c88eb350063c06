package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// file is one of upstream's, with the functions that decide nothing: they start the
// process, fill its queue or send a status.
type file struct {
	path      string
	elsewhere []string
}

const podautoscaler = "k8s.io/kubernetes/pkg/controller/podautoscaler/"

var files = []file{
	{podautoscaler + "horizontal.go", []string{
		"NewHorizontalController", "Run", "updateHPA", "enqueueRateLimited", "enqueueHPA", "deleteHPA",
		"worker", "processNextWorkItem", "reconcileKey", "updateStatusIfNeeded", "updateStatus",
	}},
	{podautoscaler + "replica_calculator.go", []string{"String"}},
	{podautoscaler + "metrics/utilization.go", nil},
}

// block is a run of statements that are reached together.
type block struct {
	from, to, statements, hits int
}

type count struct{ covered, all int }

// readProfile gives the blocks by file.
func readProfile(path string) (map[string][]block, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	blocks := map[string][]block{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		name, rest, _ := strings.Cut(lines.Text(), ":")
		var b block
		var column int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from, &column, &b.to, &column, &b.statements, &b.hits); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		blocks[name] = append(blocks[name], b)
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%s has no blocks", path)
	}
	return blocks, nil
}

// moduleDir is where the source of k8s.io/kubernetes is.
func moduleDir() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	return strings.TrimSpace(string(out)), err
}

// function is one that decides, with the lines of its file.
type function struct {
	name     string
	from, to int
	lines    []string
}

func functionsOf(dir string, f file) ([]function, error) {
	path := filepath.Join(dir, strings.TrimPrefix(f.path, "k8s.io/kubernetes/"))
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, content, 0)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(content), "\n")
	var functions []function
	for _, declaration := range parsed.Decls {
		d, ok := declaration.(*ast.FuncDecl)
		if ok && !slices.Contains(f.elsewhere, d.Name.Name) {
			functions = append(functions, function{d.Name.Name, set.Position(d.Pos()).Line, set.Position(d.End()).Line, lines})
		}
	}
	return functions, nil
}

// reached counts the function's statements, and gives the first line of each block of
// them that was not reached. A profile of several packages names a block several times.
func (f function) reached(blocks []block) (c count, missed []int) {
	hits := map[block]int{}
	for _, b := range blocks {
		if b.from >= f.from && b.to <= f.to {
			key := b
			key.hits = 0
			hits[key] += b.hits
		}
	}
	for b, n := range hits {
		c.all += b.statements
		if n > 0 {
			c.covered += b.statements
		} else if b.statements > 0 {
			missed = append(missed, b.from)
		}
	}
	slices.Sort(missed)
	return c, missed
}

// source is a line as it stands. A block begins with the line of its brace.
func (f function) source(line int) string { return strings.TrimSpace(f.lines[line-1]) }
