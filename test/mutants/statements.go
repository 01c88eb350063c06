package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// listed is a statement of a list. What can be left out without breaking what the
// compiler demands, is: an if around it asks.
func (w *weaver) listed(n ast.Node) string {
	var original string
	switch s := n.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return w.text(n)
		}
		original = w.original(s)
	case *ast.IncDecStmt:
		original = w.original(s)
	case *ast.ExprStmt:
		original = w.original(s)
	case *ast.BranchStmt:
		if s.Label != nil || s.Tok != token.CONTINUE {
			return w.text(n)
		}
		original = w.original(s)
	case *ast.IfStmt: // without else: a guard
		if s.Else != nil {
			return w.text(n)
		}
		original = "if " + w.original(s.Cond) + " {...}"
	default:
		return w.text(n)
	}
	id := w.add(n, inStatement, original, "nothing")
	return fmt.Sprintf("if !mutantOn(%d) { %s }", id, w.text(n))
}

// statement is a statement's new text.
func (w *weaver) statement(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		op, other := token.ADD, "--"
		if s.Tok == token.DEC {
			op, other = token.SUB, "++"
		}
		id := w.add(s, inArithmetic, w.original(s), w.original(s.X)+other)
		return w.updated(id, s.X, op, "1")
	case *ast.AssignStmt:
		if op, ok := assigned[s.Tok]; ok && w.isNumber(s.Lhs[0]) {
			id := w.add(s, inArithmetic, w.original(s),
				fmt.Sprintf("%s %s= %s", w.original(s.Lhs[0]), exchanged[op][0], w.original(s.Rhs[0])))
			return w.updated(id, s.Lhs[0], op, w.text(s.Rhs[0]))
		}
		// The left side is no value: it stays.
		from, to := w.offset(s.Pos()), w.offset(s.Rhs[0].Pos())
		out, end := w.source[from:to], to
		for _, right := range s.Rhs {
			out += w.source[end:w.offset(right.Pos())] + w.text(right)
			end = w.offset(right.End())
		}
		return out
	case *ast.ExprStmt: // a call whose result nobody reads
		return w.spliced(s.X)
	case *ast.ReturnStmt:
		return w.returned(s)
	case *ast.DeferStmt, *ast.GoStmt, *ast.LabeledStmt:
		return w.original(s)
	case *ast.RangeStmt: // key and value are no values either
		from, to := w.offset(s.Pos()), w.offset(s.X.Pos())
		return w.source[from:to] + w.text(s.X) +
			w.source[w.offset(s.X.End()):w.offset(s.Body.Pos())] + w.text(s.Body)
	}
	return w.spliced(s)
}

// returned is a return statement's new text. A constant beside an error is no answer, and
// nobody may read it.
func (w *weaver) returned(s *ast.ReturnStmt) string {
	if len(s.Results) < 2 || !w.isError(s.Results[len(s.Results)-1]) {
		return w.spliced(s)
	}
	out, end := "", w.offset(s.Pos())
	for _, result := range s.Results {
		text := w.original(result)
		if w.info.Types[result].Value == nil {
			text = w.text(result)
		}
		out += w.source[end:w.offset(result.Pos())] + text
		end = w.offset(result.End())
	}
	return out
}

func (w *weaver) isError(e ast.Expr) bool {
	t := w.info.Types[e]
	return !t.IsNil() && types.Identical(t.Type, types.Universe.Lookup("error").Type())
}

var assigned = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB,
	token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
}

// updated is x += y, x++ and their like, written as x = x + y.
func (w *weaver) updated(id int, x ast.Expr, op token.Token, y string) string {
	name := w.original(x)
	return fmt.Sprintf("%s = mutant%s[%s](%d, %s, %s)", name, functionOf(op), w.typeName(w.typeOf(x)), id, name, y)
}

// general is a declaration of constants, variables or types.
func (w *weaver) general(d *ast.GenDecl) string {
	switch d.Tok {
	case token.VAR:
		return w.values(d)
	case token.CONST:
		if w.staysConstant(d) {
			return w.original(d)
		}
		return w.values(d)
	default:
		return w.original(d)
	}
}

// values are constants or variables, as variables: a constant that has mutants is none.
func (w *weaver) values(d *ast.GenDecl) string {
	outer := w.function
	defer func() { w.function = outer }()
	end := w.offset(d.Pos()) + len(d.Tok.String())
	out := "var"
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if outer == "package" {
			w.function = s.Names[0].Name
		}
		for _, value := range s.Values {
			out += w.source[end:w.offset(value.Pos())] + w.declared(d, value)
			end = w.offset(value.End())
		}
	}
	return out + w.source[end:w.offset(d.End())]
}

// declared is the value that a constant or variable is declared with. A constant's text
// is changed too: a reason that is spelt wrong is a wrong reason.
func (w *weaver) declared(d *ast.GenDecl, value ast.Expr) string {
	lit, ok := value.(*ast.BasicLit)
	if d.Tok == token.CONST && ok && lit.Kind == token.STRING {
		return w.renamed(lit, lit.Value, `"?"`)
	}
	return w.text(value)
}

// staysConstant reports whether the values of a const declaration follow from one another,
// or one of them is bound to be constant.
func (w *weaver) staysConstant(d *ast.GenDecl) bool {
	found := false
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		found = found || !ok || len(s.Values) != len(s.Names)
		found = found || slices.ContainsFunc(s.Names, func(name *ast.Ident) bool { return w.bound[name.Pos()] })
	}
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || w.info.Uses[id] == types.Universe.Lookup("iota")
		}
		return true
	})
	return found
}
