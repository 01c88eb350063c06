package metadata

import "strings"

// Nearest returns the known name that a misspelled one most likely stands for, or
// nothing. Names count as near within two typing errors (a character too many, too
// few, wrong, or two swapped), within one where a name is so short that two would
// make another word of it (port, host). Capitals do not count: listname is listName.
func Nearest(name string, known []string) string {
	best, near := maxTypos+1, ""
	for _, candidate := range known {
		allowed := maxTypos
		if min(len(name), len(candidate)) < shortName {
			allowed = 1
		}
		if d := typos(strings.ToLower(name), strings.ToLower(candidate)); d <= allowed && d < best {
			best, near = d, candidate
		}
	}
	return near
}

const (
	maxTypos  = 2
	shortName = 6
)

// typos is the optimal string alignment distance of two strings, byte by byte; any
// number above maxTypos where it is above maxTypos.
func typos(a, b string) int {
	if d := len(a) - len(b); d > maxTypos || d < -maxTypos {
		return maxTypos + 1
	}
	// rows are the distances of a's prefixes, two before, one before and now.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
