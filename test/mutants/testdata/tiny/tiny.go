// Package tiny has mutants that its tests catch, miss or cannot catch.
package tiny

import "math"

// Most is the highest count.
const Most = 10

// Clip is n, at most Most. n >= Most is the same: Most is the answer either way.
func Clip(n int) int {
	if n > Most {
		return Most
	}
	return n
}

// Pages is how many pages of 10 the lines fill. No test asks for a page that is not full.
func Pages(lines float64) int { return int(math.Ceil(lines / 10)) }

// Countdown is how many steps there are to 0. Without a step it never gets there.
func Countdown(n int) int {
	steps := 0
	for ; n > 0; steps++ {
		n--
	}
	return steps
}

// Positive reports whether there is a number above 0. Nobody tests it.
func Positive(n *int) bool { return n != nil && *n > 0 }
