package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// constant is a constant expression's new text: each number in it and each name.
func (w *weaver) constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		w.inherit(e, e.X)
	case *ast.UnaryExpr:
		w.inherit(e, e.X)
	case *ast.BasicLit:
		return w.constantValue(e, e)
	case *ast.Ident:
		return w.constantValue(e, e)
	case *ast.SelectorExpr:
		return w.constantValue(e, e.Sel)
	case *ast.BinaryExpr:
		if e.Op == token.SHL || e.Op == token.SHR {
			return w.original(e)
		}
		if w.isNumber(e) {
			w.inherit(e, e.X, e.Y)
			return w.binary(e)
		}
	case *ast.CallExpr: // a conversion, or the length of an array
		if w.info.Types[e.Fun].IsType() {
			return w.spliced(e)
		}
		return w.original(e)
	}
	return w.spliced(e)
}

// inherit gives the untyped parts of a constant expression its type: go/types leaves
// them without, and they are constant no more.
func (w *weaver) inherit(whole ast.Expr, parts ...ast.Expr) {
	for _, part := range parts {
		known := w.info.Types[part]
		if b, ok := known.Type.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			known.Type = w.typeOf(whole)
			w.info.Types[part] = known
		}
	}
}

// constantValue is a literal or a name.
func (w *weaver) constantValue(e, name ast.Expr) string {
	value, t := w.info.Types[e].Value, w.typeOf(e)
	var object types.Object
	if id, ok := name.(*ast.Ident); ok {
		object = w.info.Uses[id]
	}
	switch {
	case value.Kind() == constant.Bool && object != nil && object.Parent() == types.Universe:
		id := w.add(e, inConstant, w.original(e), fmt.Sprint(!constant.BoolVal(value)))
		return fmt.Sprintf("(%s != mutantOn(%d))", w.original(e), id)
	case value.Kind() == constant.String && object != nil:
		return w.renamed(e, w.original(e), w.neighbour(object))
	case value.Kind() == constant.String && types.Unalias(t) != types.Typ[types.String]:
		return w.renamed(e, w.original(e), `"?"`)
	case w.isNumber(e):
		return w.number(e, value, t)
	}
	return w.original(e)
}

// renamed is a constant text or another one.
func (w *weaver) renamed(e ast.Expr, original, other string) string {
	id := w.add(e, inConstant, original, other)
	name := w.typeName(w.typeOf(e))
	return fmt.Sprintf("mutantText[%s](%d, %s, %s)", name, id, original, other)
}

// neighbour is the constant of the same type that is declared next, or a text that
// none has.
func (w *weaver) neighbour(object types.Object) string {
	scope := object.Pkg().Scope()
	var all []types.Object
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), object.Type()) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	i := slices.Index(all, object)
	next := all[(i+1)%len(all)]
	if next == object || types.Unalias(object.Type()) != object.Type() || object.Pkg() != w.pkg {
		return `"?"`
	}
	if _, named := object.Type().(*types.Named); !named {
		return `"?"`
	}
	return next.Name()
}

// number is a number with its mutants: whole ones by 1 up and down and 0, fractions and
// numbers too large for a step of 1, 0 and doubled.
func (w *weaver) number(e ast.Expr, value constant.Value, t types.Type) string {
	original := w.original(e)
	whole := constant.ToInt(value)
	stepped := func(op token.Token) string {
		if _, ok := e.(*ast.BasicLit); ok {
			return constant.BinaryOp(whole, op, constant.MakeInt64(1)).ExactString()
		}
		return original + op.String() + "1"
	}
	var function string
	var mutated []string
	switch {
	case !w.isInteger(e) && (whole.Kind() != constant.Int || constant.BitLen(whole) > 53):
		function, mutated = "Fraction", []string{"0", original + "*2"}
	case constant.BitLen(whole) <= 1: // 0 is there already, or no change
		function, mutated = "Small", []string{stepped(token.ADD), stepped(token.SUB)}
	default:
		function, mutated = "Number", []string{stepped(token.ADD), stepped(token.SUB), "0"}
	}
	id := w.add(e, inConstant, original, mutated...)
	name := w.typeName(t)
	return fmt.Sprintf("mutant%s[%s](%d, %s(%s))", function, name, id, name, original)
}

// alias is a name in the chooser's file for a type of another package, which the file at
// hand may not import.
type alias struct {
	name, definition string
	imports          []string
}

// typeName is a type as it can be written in the package.
func (w *weaver) typeName(t types.Type) string {
	var imports []string
	text := types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		imports = append(imports, p.Path())
		return p.Name()
	})
	if len(imports) == 0 {
		return text
	}
	full := types.TypeString(t, nil)
	if _, ok := w.aliases[full]; !ok {
		w.aliases[full] = alias{fmt.Sprintf("mutantType%d", len(w.aliases)), text, imports}
	}
	return w.aliases[full].name
}

// typeOf is an expression's type; of an untyped constant the one that it takes.
func (w *weaver) typeOf(e ast.Expr) types.Type { return types.Default(w.info.TypeOf(e)) }

func (w *weaver) basic(e ast.Expr) types.BasicInfo {
	if t := w.info.TypeOf(e); t != nil {
		if b, ok := t.Underlying().(*types.Basic); ok {
			return b.Info()
		}
	}
	return 0
}

func (w *weaver) isNumber(e ast.Expr) bool {
	return w.basic(e)&(types.IsInteger|types.IsFloat) != 0
}

func (w *weaver) isInteger(e ast.Expr) bool { return w.basic(e)&types.IsInteger != 0 }
func (w *weaver) isFloat(e ast.Expr) bool   { return w.basic(e)&types.IsFloat != 0 }
func (w *weaver) isOrdered(e ast.Expr) bool { return w.basic(e)&types.IsOrdered != 0 }
func (w *weaver) isBoolean(e ast.Expr) bool { return w.basic(e)&types.IsBoolean != 0 }

// functionOf is what the chooser's function for an operator is called.
func functionOf(op token.Token) string {
	names := map[token.Token]string{
		token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "Greater", token.GEQ: "AtLeast",
		token.EQL: "Equal", token.NEQ: "Unequal",
		token.ADD: "Sum", token.SUB: "Difference", token.MUL: "Product", token.QUO: "Quotient",
	}
	if name, ok := names[op]; ok {
		return name
	}
	return strings.ToUpper(op.String())
}
