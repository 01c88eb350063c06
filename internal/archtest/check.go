package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
)

// The sizes beyond which code is split.
const (
	maxFileLines        = 400
	maxFunctionLines    = 60
	maxInterfaceMethods = 3
)

// Check reads the Go module below root and returns every breach of the rules, as
// file:line: what is wrong. An error means that the source could not be read.
func Check(root fs.FS, rules []Rule) ([]string, error) {
	m, err := load(root)
	if err != nil {
		return nil, err
	}
	c := checker{module: m, rules: rules, interfaces: m.interfaces()}
	unused := slices.Clone(rules)
	for _, f := range m.files {
		c.names(f)
		c.sizes(f)
		rule, ok := c.rule(f.pkg())
		if !ok {
			c.fault(f, 1, "package %s is not in the import table; add its row to internal/archtest/rules.go", f.pkg())
			continue
		}
		unused = slices.DeleteFunc(unused, func(r Rule) bool { return r.Package == rule.Package })
		c.edges(f, rule)
		if rule.pure(path.Base(f.path)) {
			c.purity(f)
		}
	}
	for _, r := range unused {
		c.faults = append(c.faults, fmt.Sprintf("row %s of the import table is about no package; remove it", r.Package))
	}
	return c.faults, nil
}

type checker struct {
	module
	rules      []Rule
	interfaces map[string]*ast.InterfaceType
	faults     []string
}

func (c *checker) fault(f file, line int, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: ", f.path, line)+fmt.Sprintf(format, args...))
}

// rule is the first row that covers a package.
func (c *checker) rule(pkg string) (Rule, bool) {
	for _, r := range c.rules {
		if r.covers(pkg) {
			return r, true
		}
	}
	return Rule{}, false
}

func (c *checker) edges(f file, rule Rule) {
	for _, i := range f.imports() {
		below := c.below(i.path)
		if (below != "" || !standard(i.path)) && !rule.allows(i.path, below) {
			c.fault(f, f.line(i.at), "%s may not import %s", f.pkg(), i.path)
		}
	}
}

// names finds packages that are called after nothing.
func (c *checker) names(f file) {
	for _, name := range []string{f.tree.Name.Name, path.Base(f.pkg())} {
		switch name {
		case "util", "utils", "common", "helper", "helpers", "misc":
			c.fault(f, f.line(f.tree.Name.Pos()), "package name %s says nothing about what it provides", name)
			return
		}
	}
}

// purity finds what makes a file's functions depend on more than their arguments.
func (c *checker) purity(f file) {
	for _, i := range f.imports() {
		for _, impure := range []string{"context", "net", "os", "log", "sync", "syscall", "math/rand", "crypto/rand"} {
			if within(i.path, impure) {
				c.fault(f, f.line(i.at), "pure code may not import %s", i.path)
			}
		}
		if i.path == "time" {
			c.clock(f, i.name)
		}
	}
}

// clock finds uses of the functions of package time that read a clock or wait,
// called or not.
func (c *checker) clock(f file, timeName string) {
	if timeName == "." {
		c.fault(f, 1, "pure code may not import time with a dot, which hides its clock")
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); !ok || from.Name != timeName {
			return true
		}
		switch selector.Sel.Name {
		case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer":
			c.fault(f, f.line(selector.Pos()), "pure code may not use time.%s; time is an argument", selector.Sel.Name)
		}
		return true
	})
}

// sizes finds files, functions and interfaces that are too large.
func (c *checker) sizes(f file) {
	if f.lines > maxFileLines {
		c.fault(f, f.lines, "%d lines; a file has at most %d", f.lines, maxFileLines)
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := f.line(n.End()) - f.line(n.Pos()) - 1; lines > maxFunctionLines {
				c.fault(f, f.line(n.Pos()), "%s has %d lines; a function has at most %d", n.Name.Name, lines, maxFunctionLines)
			}
		case *ast.InterfaceType:
			if methods := c.methods(f.pkg(), n); within(f.pkg(), "pkg") && methods > maxInterfaceMethods {
				c.fault(f, f.line(n.Pos()), "an interface of %d methods; one in pkg has at most %d", methods, maxInterfaceMethods)
			}
		}
		return true
	})
}

// methods counts an interface's methods, with those that it embeds. An embedded
// interface of another package counts as one.
func (c *checker) methods(pkg string, i *ast.InterfaceType) int {
	count := 0
	for _, field := range i.Methods.List {
		if len(field.Names) > 0 {
			count += len(field.Names)
			continue
		}
		name, _ := field.Type.(*ast.Ident)
		if embedded := c.embedded(pkg, name); embedded != nil {
			count += c.methods(pkg, embedded)
			continue
		}
		count++
	}
	return count
}

// embedded is the interface that a name stands for in a package, nil if it is not
// declared there.
func (c *checker) embedded(pkg string, name *ast.Ident) *ast.InterfaceType {
	if name == nil {
		return nil
	}
	return c.interfaces[pkg+"."+name.Name]
}

// interfaces is every declared interface of the module, by package and name.
func (m *module) interfaces() map[string]*ast.InterfaceType {
	found := map[string]*ast.InterfaceType{}
	for _, f := range m.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					found[f.pkg()+"."+spec.Name.Name] = i
				}
			}
			return true
		})
	}
	return found
}
