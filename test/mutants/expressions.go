package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// exchanged are the mutants of each operator on numbers, in the order of their numbers.
// The chooser is generated from the same table.
var exchanged = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ},
	token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ, token.LEQ, token.GEQ},
	token.NEQ: {token.EQL, token.LSS, token.GTR},
	token.ADD: {token.SUB},
	token.SUB: {token.ADD},
	token.MUL: {token.QUO},
	token.QUO: {token.MUL},
}

// expression is an expression's new text.
func (w *weaver) expression(e ast.Expr) string {
	known := w.info.Types[e]
	switch {
	case known.IsType():
		return w.original(e)
	case known.Value != nil:
		return w.constant(e)
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return w.binary(e)
	case *ast.UnaryExpr:
		return w.unary(e)
	case *ast.CallExpr:
		return w.condition(e, w.call(e))
	case *ast.SelectorExpr:
		if _, ok := w.info.Types[e.X]; !ok { // a package's function or variable
			return w.condition(e, w.original(e))
		}
		return w.condition(e, w.text(e.X)+w.source[w.offset(e.X.End()):w.offset(e.End())])
	case *ast.Ident, *ast.IndexExpr, *ast.StarExpr:
		return w.condition(e, w.spliced(e))
	case *ast.CompositeLit:
		return w.composite(e)
	case *ast.FuncLit:
		return w.source[w.offset(e.Pos()):w.offset(e.Body.Pos())] + w.text(e.Body)
	}
	return w.spliced(e)
}

// condition is the text of a boolean that is read, or its negation.
func (w *weaver) condition(e ast.Expr, text string) string {
	if !w.isBoolean(e) {
		return text
	}
	id := w.add(e, inNegation, w.original(e), "!"+w.original(e))
	return fmt.Sprintf("(%s != mutantOn(%d))", text, id)
}

func (w *weaver) unary(e *ast.UnaryExpr) string {
	if e.Op == token.AND { // what has an address stays what it is
		if _, ok := e.X.(*ast.CompositeLit); !ok {
			return w.original(e)
		}
	}
	if e.Op == token.SUB && w.isNumber(e.X) {
		id := w.add(e, inArithmetic, w.original(e), w.original(e.X))
		return fmt.Sprintf("mutantNegative[%s](%d, %s)", w.typeName(w.typeOf(e)), id, w.text(e.X))
	}
	return w.spliced(e)
}

func (w *weaver) binary(e *ast.BinaryExpr) string {
	change := func(op fmt.Stringer) string {
		return fmt.Sprintf("%s %s %s", w.original(e.X), op, w.original(e.Y))
	}
	var mutated []string
	for _, op := range exchanged[e.Op] {
		mutated = append(mutated, change(op))
	}
	switch e.Op {
	case token.LAND, token.LOR:
		return w.logical(e, change)
	case token.EQL, token.NEQ:
		if !w.isNumber(e.X) || w.isEmptiness(e) {
			id := w.add(e, inComparison, w.original(e), mutated[0])
			return fmt.Sprintf("((%s) != mutantOn(%d))", w.spliced(e), id)
		}
		return w.operation(e, inComparison, functionOf(e.Op), mutated)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return w.operation(e, inComparison, functionOf(e.Op), mutated)
	case token.QUO:
		if w.isInteger(e.X) { // truncates
			mutated = append(mutated, change(token.QUO)+", rounded up")
			return w.operation(e, inArithmetic, "Divided", mutated)
		}
		return w.operation(e, inArithmetic, functionOf(e.Op), mutated)
	case token.ADD, token.SUB, token.MUL:
		if w.isNumber(e.X) {
			return w.operation(e, inArithmetic, functionOf(e.Op), mutated)
		}
		return w.spliced(e)
	default:
		return w.spliced(e)
	}
}

// operation is a binary expression as a call of the chooser.
func (w *weaver) operation(e *ast.BinaryExpr, operator, function string, mutated []string) string {
	if !w.isOrdered(e.X) {
		return w.spliced(e)
	}
	id := w.add(e, operator, w.original(e), mutated...)
	return fmt.Sprintf("mutant%s[%s](%d, %s, %s)", function, w.typeName(w.typeOf(e.X)), id, w.text(e.X), w.text(e.Y))
}

// logical exchanges && and ||. By De Morgan !(!a && !b) is a || b, and evaluates b in
// just the cases in which a || b does.
func (w *weaver) logical(e *ast.BinaryExpr, change func(fmt.Stringer) string) string {
	other := token.LAND
	if e.Op == token.LAND {
		other = token.LOR
	}
	id := w.add(e, inLogic, w.original(e), change(other))
	on := fmt.Sprintf("mutantOn(%d)", id)
	return fmt.Sprintf("(((%s) != %s %s (%s) != %s) != %s)", w.text(e.X), on, e.Op, w.text(e.Y), on, on)
}

// call is a call's new text.
func (w *weaver) call(e *ast.CallExpr) string {
	switch name := w.original(e.Fun); {
	case w.info.Types[e.Fun].IsType():
		return w.conversion(e)
	case w.isBuiltin(e.Fun, "min") || w.isBuiltin(e.Fun, "max"):
		return w.extreme(e, name)
	case w.isBuiltin(e.Fun, "make") && len(e.Args) == 3:
		// No test sees a capacity.
		to := w.offset(e.Args[1].End())
		return w.source[w.offset(e.Pos()):w.offset(e.Args[1].Pos())] + w.text(e.Args[1]) +
			w.source[to:w.offset(e.End())]
	case roundings[name] != nil:
		mutated := make([]string, 0, len(roundings))
		for _, other := range roundings[name] {
			mutated = append(mutated, other+"("+w.original(e.Args[0])+")")
		}
		w.kept = append(w.kept, name)
		id := w.add(e, inRounding, w.original(e), mutated...)
		return fmt.Sprintf("mutant%s(%d, %s)", strings.TrimPrefix(name, "math."), id, w.text(e.Args[0]))
	}
	return w.spliced(e)
}

// roundings are the functions that round, with what each is exchanged for.
var roundings = map[string][]string{
	"math.Ceil":  {"math.Floor", "math.Trunc", "math.Round"},
	"math.Floor": {"math.Ceil", "math.Trunc", "math.Round"},
	"math.Trunc": {"math.Ceil", "math.Floor", "math.Round"},
	"math.Round": {"math.Ceil", "math.Floor", "math.Trunc"},
}

// conversion is a conversion's new text. One of a float to an integer truncates, unless
// what it converts was rounded just there.
func (w *weaver) conversion(e *ast.CallExpr) string {
	arg := e.Args[0]
	rounded := false
	if call, ok := arg.(*ast.CallExpr); ok {
		rounded = roundings[w.original(call.Fun)] != nil
	}
	if rounded || !w.isFloat(arg) || !w.isInteger(e) {
		return w.spliced(e)
	}
	to, from := w.original(e.Fun), w.original(arg)
	id := w.add(e, inRounding, w.original(e),
		fmt.Sprintf("%s(math.Ceil(%s))", to, from), fmt.Sprintf("%s(math.Round(%s))", to, from))
	return fmt.Sprintf("%s(mutantConverted(%d, float64(%s)))", to, id, w.text(arg))
}

// extreme is min or max of two.
func (w *weaver) extreme(e *ast.CallExpr, name string) string {
	if len(e.Args) != 2 || !w.isOrdered(e) {
		return w.spliced(e)
	}
	other, function := "min", "Max"
	if name == "min" {
		other, function = "max", "Min"
	}
	a, b := w.original(e.Args[0]), w.original(e.Args[1])
	id := w.add(e, inExtreme, w.original(e), fmt.Sprintf("%s(%s, %s)", other, a, b), a, b)
	return fmt.Sprintf("mutant%s[%s](%d, %s, %s)", function, w.typeName(w.typeOf(e)), id, w.text(e.Args[0]), w.text(e.Args[1]))
}

// composite is a composite literal's new text. Keys of arrays are not changed: the
// compiler wants them constant.
func (w *weaver) composite(e *ast.CompositeLit) string {
	out, end := "", w.offset(e.Pos())
	for _, element := range e.Elts {
		value := element
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			value = pair.Value
		}
		out += w.source[end:w.offset(value.Pos())] + w.text(value)
		end = w.offset(value.End())
	}
	return out + w.source[end:w.offset(e.End())]
}

// isEmptiness reports whether e compares a length with 0: there is nothing below.
func (w *weaver) isEmptiness(e *ast.BinaryExpr) bool {
	call, ok := e.X.(*ast.CallExpr)
	return ok && (w.isBuiltin(call.Fun, "len") || w.isBuiltin(call.Fun, "cap")) && w.original(e.Y) == "0"
}

func (w *weaver) isBuiltin(fun ast.Expr, name string) bool {
	id, ok := fun.(*ast.Ident)
	return ok && w.info.Uses[id] == types.Universe.Lookup(name)
}
