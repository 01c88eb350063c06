package main

import (
	"fmt"
	"strings"
)

// The operators: what is changed.
const (
	inComparison = "comparison" // < to <= and >=, == to != and, of numbers, to <= and >=
	inLogic      = "logic"      // && and || exchanged
	inNegation   = "negation"   // a condition that is not a comparison
	inConstant   = "constant"   // by 1 up and down, to 0; a fraction doubled; another name
	inArithmetic = "arithmetic" // + and -, * and / exchanged
	inRounding   = "rounding"   // Ceil, Floor, Trunc and Round exchanged, conversions too
	inExtreme    = "extreme"    // min and max exchanged, or one argument taken as it is
	inStatement  = "statement"  // an assignment, a call, a continue or a guard left out
)

// Left out by rule, as no caller can or may notice:
//   - the capacity of a make, and keys of array literals, which have to be constant;
//   - constants returned beside an error;
//   - lengths below 0;
//   - texts that are not of a type of their own: messages for people;
//   - the second rounding of a conversion whose operand was rounded just there.
//
// And for want of a need: shifts, bit operations, defer, go, and constants by iota.

// mutant is one change of the source.
type mutant struct {
	ID int // from 1
	// Site is the number of the first mutant of the same expression.
	Site     int
	File     string
	Line     int
	Function string
	Operator string
	// Original and Mutated are the expression before and after.
	Original, Mutated string
	// Occurrence counts, from 1, the same change in the same function.
	Occurrence int
	// Source is the line it stands in.
	Source string
}

// Identity names a mutant so that it stays the same when lines are added elsewhere.
func (m mutant) Identity() string {
	id := fmt.Sprintf("%s: %s: %s -> %s", m.Function, m.Operator, m.Original, m.Mutated)
	if m.Occurrence > 1 {
		id += fmt.Sprintf(" #%d", m.Occurrence)
	}
	return id
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Identity())
}

// oneLine makes source text fit into an Identity.
func oneLine(source string) string { return strings.Join(strings.Fields(source), " ") }
