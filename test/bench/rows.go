package main

import "context"

// row is one figure.
type row struct {
	// Name is what -rows selects by.
	Name string
	// What is measured, the baseline and the goal are columns of the page. Without a goal
	// the figure is there to be known.
	What, Against, Goal string
	// Apart keeps a row out of a plain run.
	Apart bool
	Run   func(ctx context.Context, l *lab) (measured, error)
	// How says how it is measured, Missed why the goal is missed and what would reach it.
	// Missed is on the page only while it is.
	How, Missed string
}

// rows are all figures, in the order of the page.
func rows() []row {
	var all []row
	for _, part := range [][]row{algorithmRows(), doorRows(), policyRows(), streamRows(), clusterRows(), soakRows()} {
		all = append(all, part...)
	}
	return all
}
