package main

import (
	_ "embed"
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed chooser.go.txt
var choices string

// The environment variables that the chooser reads: the number of the mutant that is
// alive, the time of the processor that it may take, and the file for the sites that
// were reached.
const (
	alive       = "MUTANT_ALIVE"
	cpuLimit    = "MUTANT_CPU"
	reachedFile = "MUTANT_REACHED"
)

// chooser is the file that is added to the package: what chooses between an expression
// and its mutants.
func (w *weaver) chooser() string {
	imports := []string{"cmp", "fmt", "math", "os", "runtime", "strconv", "sync/atomic", "syscall", "time"}
	var aliases strings.Builder
	for _, full := range slices.Sorted(maps.Keys(w.aliases)) {
		a := w.aliases[full]
		imports = append(imports, a.imports...)
		fmt.Fprintf(&aliases, "type %s = %s\n", a.name, a.definition)
	}
	slices.Sort(imports)
	var out strings.Builder
	fmt.Fprintf(&out, "package %s\n\nimport (\n", w.pkg.Name())
	for _, path := range slices.Compact(imports) {
		fmt.Fprintf(&out, "\t%q\n", path)
	}
	fmt.Fprintf(&out, ")\n\n%s\n%s%s%s", aliases.String(), choices, operations(), roundingChoices())
	return out.String()
}

// operations are the functions of the operators in exchanged.
func operations() string {
	var out strings.Builder
	for _, op := range slices.Sorted(maps.Keys(exchanged)) {
		constraint, result := "cmp.Ordered", "bool"
		if token.ADD <= op && op <= token.QUO {
			constraint, result = "mutantNumeric", "T"
		}
		fmt.Fprintf(&out, "func mutant%s[T %s](site int, a, b T) %s {\n\tswitch mutantOf(site) {\n", functionOf(op), constraint, result)
		for i, other := range exchanged[op] {
			fmt.Fprintf(&out, "\tcase %d:\n\t\treturn a %s b\n", i, other)
		}
		fmt.Fprintf(&out, "\t}\n\treturn a %s b\n}\n\n", op)
	}
	return out.String()
}

// roundingChoices are the functions of roundings.
func roundingChoices() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(roundings)) {
		fmt.Fprintf(&out, "func mutant%s(site int, v float64) float64 {\n\tswitch mutantOf(site) {\n", strings.TrimPrefix(name, "math."))
		for i, other := range roundings[name] {
			fmt.Fprintf(&out, "\tcase %d:\n\t\treturn %s(v)\n", i, other)
		}
		fmt.Fprintf(&out, "\t}\n\treturn %s(v)\n}\n\n", name)
	}
	return out.String()
}

// relative is a path as seen from the working directory, where that is shorter.
func relative(path string) string {
	if here, err := filepath.Abs("."); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}
