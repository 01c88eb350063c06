package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// report is what a person reads: mutants by file and by operator, then every survivor.
func report(verdicts []verdict, detectors []detector, known map[string]string) string {
	var out strings.Builder
	table(&out, "file", verdicts, detectors, func(v verdict) string { return v.File })
	table(&out, "operator", verdicts, detectors, func(v verdict) string { return v.Operator })
	fmt.Fprintln(&out, "Survivors:")
	for _, v := range verdicts {
		if !v.survives() {
			continue
		}
		reason, ok := known[v.Identity()]
		if !ok {
			reason = "NOT LISTED"
		}
		fmt.Fprintf(&out, "\n%s\n\t%s\n\t%s\n", v, v.Source, reason)
	}
	return out.String()
}

// table counts mutants by a property.
func table(out *strings.Builder, title string, verdicts []verdict, detectors []detector, property func(verdict) string) {
	rows := map[string][]int{}
	total := make([]int, len(detectors)+3)
	for _, v := range verdicts {
		key := property(v)
		if rows[key] == nil {
			rows[key] = make([]int, len(total))
		}
		for i, n := range counts(v, detectors) {
			rows[key][i] += n
			total[i] += n
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := []string{title, "mutants"}
	for _, d := range detectors {
		header = append(header, "caught by "+d.Name)
	}
	header = append(header, "by all of them", "by none")
	fmt.Fprintln(w, strings.Join(header, "\t")+"\t")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintln(w, key+"\t"+cells(rows[key]))
	}
	fmt.Fprintln(w, "total\t"+cells(total))
	_ = w.Flush() // into a strings.Builder
	fmt.Fprintln(out)
}

// counts are what one mutant adds to a row: itself, each detector that caught it, all
// of them, none.
func counts(v verdict, detectors []detector) []int {
	row := make([]int, len(detectors)+3)
	row[0] = 1
	by := 0
	for i, d := range detectors {
		if v.Caught[d.Name] != "" {
			row[1+i] = 1
			by++
		}
	}
	if by == len(detectors) {
		row[len(row)-2] = 1
	}
	if by == 0 {
		row[len(row)-1] = 1
	}
	return row
}

func cells(row []int) string {
	var out strings.Builder
	for _, n := range row {
		fmt.Fprintf(&out, "%d\t", n)
	}
	return out.String()
}

// summary counts the mutants of every package by operator and by what caught them: a test
// that failed, the end of the whole program, or that it did not end.
func summary(verdicts []verdict) string {
	type row struct{ pkg, operator string }
	rows := map[row][5]int{}
	for _, v := range verdicts {
		for _, r := range []row{{v.Package, v.Operator}, {v.Package, "all"}} {
			n := rows[r]
			n[0]++
			n[v.fate()]++
			rows[r] = n
		}
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "package\toperator\tmutants\ta test failed\tpanic or deadlock\ttime-out\tsurvivors\t")
	sorted := slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), cmp.Compare(rows[b][0], rows[a][0]), strings.Compare(a.operator, b.operator))
	})
	for _, r := range sorted {
		n := rows[r]
		fmt.Fprintln(w, r.pkg+"\t"+r.operator+"\t"+cells(n[:]))
	}
	_ = w.Flush() // into a strings.Builder
	return out.String()
}

// fate is the column in which a mutant is counted. Of several detectors that caught it, a
// test that failed is the best witness.
func (v verdict) fate() int {
	fate := 4
	for _, how := range v.Caught {
		switch how {
		case "":
		case crash, memory:
			fate = min(fate, 2)
		case timeout:
			fate = min(fate, 3)
		default:
			fate = 1
		}
	}
	return fate
}

// everyVerdict has a line for each mutant: how each detector caught it, and which it is.
func everyVerdict(verdicts []verdict, detectors []detector) string {
	var out strings.Builder
	for _, v := range verdicts {
		for _, d := range detectors {
			how := v.Caught[d.Name]
			if how == "" {
				how = "survived"
			}
			fmt.Fprintf(&out, "%s %s\t", d.Name, how)
		}
		fmt.Fprintf(&out, "%s\t%s\n", v, v.Source)
	}
	return out.String()
}
