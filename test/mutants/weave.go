package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// weaver rewrites source text so that each place that has mutants asks which of them is
// alive: a < b becomes mutantLSS[int32](7, a, b), where 7 and 8 are a <= b and a >= b.
// Operands are evaluated as before, once and in order. Lines keep their numbers.
type weaver struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	mutants []mutant
	aliases map[string]alias // by the type's full name
	seen    map[string]int   // how often an identity was met
	bound   map[token.Pos]bool

	// Of the file at hand:
	source   string
	function string
	kept     []string // functions that are named at its end, so that imports stay in use
}

// file is a file's new text.
func (w *weaver) file(file *ast.File, source string) string {
	w.source, w.kept = source, nil
	var out strings.Builder
	end := 0
	for _, decl := range file.Decls {
		from, to := w.offset(decl.Pos()), w.offset(decl.End())
		out.WriteString(source[end:from])
		out.WriteString(w.declaration(decl))
		end = to
	}
	out.WriteString(source[end:])
	slices.Sort(w.kept)
	for _, name := range slices.Compact(w.kept) {
		fmt.Fprintf(&out, "\nvar _ = %s\n", name)
	}
	return out.String()
}

// declaration is the new text of a declaration in a file.
func (w *weaver) declaration(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Body == nil {
			return w.original(d)
		}
		w.function = functionName(d)
		return w.source[w.offset(d.Pos()):w.offset(d.Body.Pos())] + w.text(d.Body)
	case *ast.GenDecl:
		w.function = "package"
		return w.general(d)
	}
	return w.original(decl)
}

// functionName is Combine, or Tolerance.Contains.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	receiver := d.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// text is the new text of a node.
func (w *weaver) text(n ast.Node) string {
	switch n := n.(type) {
	case ast.Stmt:
		return w.statement(n)
	case ast.Expr:
		return w.expression(n)
	case *ast.GenDecl:
		return w.general(n)
	}
	return w.spliced(n)
}

// spliced is a node's source with its children's new texts.
func (w *weaver) spliced(n ast.Node) string {
	var children []ast.Node
	ast.Inspect(n, func(child ast.Node) bool {
		if child != nil && child != n {
			children = append(children, child)
		}
		return child == n
	})
	slices.SortFunc(children, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	var out strings.Builder
	end := w.offset(n.Pos())
	for _, child := range children {
		out.WriteString(w.source[end:w.offset(child.Pos())])
		if inList(n, child) {
			out.WriteString(w.listed(child))
		} else {
			out.WriteString(w.text(child))
		}
		end = w.offset(child.End())
	}
	out.WriteString(w.source[end:w.offset(n.End())])
	return out.String()
}

// inList reports whether child is a statement of a list, where an if may stand around it.
func inList(parent, child ast.Node) bool {
	if _, ok := child.(ast.Stmt); !ok {
		return false
	}
	switch parent := parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	case *ast.CommClause:
		return child != parent.Comm
	}
	return false
}

// add registers the mutants of one place and returns the first's number. The others'
// follow it.
func (w *weaver) add(n ast.Node, operator, original string, mutated ...string) int {
	position := w.fset.Position(n.Pos())
	first := len(w.mutants) + 1
	for i, text := range mutated {
		m := mutant{
			ID: first + i, Site: first, File: relative(position.Filename), Line: position.Line, Function: w.function,
			Operator: operator, Original: oneLine(original), Mutated: oneLine(text),
			Source: w.lineOf(n),
		}
		w.seen[m.Identity()]++
		m.Occurrence = w.seen[m.Identity()]
		w.mutants = append(w.mutants, m)
	}
	return first
}

func (w *weaver) lineOf(n ast.Node) string {
	at := w.offset(n.Pos())
	start := strings.LastIndexByte(w.source[:at], '\n') + 1
	line, _, _ := strings.Cut(w.source[start:], "\n")
	return strings.TrimSpace(line)
}

func (w *weaver) offset(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *weaver) original(n ast.Node) string {
	return w.source[w.offset(n.Pos()):w.offset(n.End())]
}
