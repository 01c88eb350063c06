package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is what became of a cell: one line of the results file.
type result struct {
	cell

	Moment moment `json:"moment"`
	// Answers were judged; Errors are calls without an answer.
	Answers int `json:"answers"`
	Errors  int `json:"errors"`
	Below   int `json:"below"`
	Zeros   int `json:"zeros"`
	Wakes   int `json:"wakes"`
	// Late, Disagreement and Silence are in seconds, Healed in seconds from the cell's start.
	Late         float64  `json:"late"`
	Disagreement float64  `json:"disagreement"`
	Silence      float64  `json:"silence"`
	Healed       float64  `json:"healed"`
	Examples     []string `json:"examples,omitempty"`
}

func (r *result) add(v verdict, failed int) {
	r.Answers += v.Answers
	r.Errors += failed
	r.Below += v.Below
	r.Zeros += v.Zeros
	r.Wakes += v.Wakes
	r.Late = max(r.Late, v.Late.Seconds())
	r.Examples = append(r.Examples, v.Examples...)
}

// good reports whether the cell shows what it has to show.
func (r *result) good() bool {
	return r.Below == 0 && r.Zeros == 0 && r.Wakes == 0 && r.Disagreement <= interval.Seconds()
}

// readResults reads a results file; one that is not there is empty.
func readResults(path string) ([]result, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	var results []result
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		results = append(results, r)
	}
	return results, lines.Err()
}

// appendResult adds a line to a results file.
func appendResult(path string, r result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// row is one line of the table: all seeds of a fault in a set-up.
type row struct {
	fault, setup string
	result
	runs int
}

// rows merges results, in the order of the faults and set-ups.
func rows(results []result) []row {
	var table []row
	for _, f := range faults() {
		for _, setup := range setups {
			r := row{fault: f.name, setup: setup}
			for _, one := range results {
				if one.Fault == f.name && one.Setup == setup {
					r.merge(one)
				}
			}
			if r.runs > 0 {
				table = append(table, r)
			}
		}
	}
	return table
}

func (r *row) merge(one result) {
	r.runs++
	r.add(verdict{Answers: one.Answers, Below: one.Below, Zeros: one.Zeros, Wakes: one.Wakes}, one.Errors)
	r.Late = max(r.Late, one.Late)
	r.Disagreement = max(r.Disagreement, one.Disagreement)
	r.Silence = max(r.Silence, one.Silence)
}

func (r *row) cells() []string {
	return []string{
		r.fault, r.setup, fmt.Sprint(r.runs), fmt.Sprint(r.Answers), fmt.Sprint(r.Below), fmt.Sprint(r.Zeros), fmt.Sprint(r.Wakes),
		fmt.Sprintf("%.1f s", r.Late), fmt.Sprintf("%.1f s", r.Disagreement), fmt.Sprintf("%.1f s", r.Silence),
	}
}

var columns = []string{
	"fault", "Redis", "runs", "answers", "below reference", "wrong zeros", "wrong wake-ups",
	"latest raise", "longest disagreement after healing", "longest silence",
}

// plainTable is for a terminal.
func plainTable(results []result) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, r := range rows(results) {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	_ = w.Flush() // into a strings.Builder
	return out.String()
}

// markdownTable is for a page.
func markdownTable(results []result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, r := range rows(results) {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	return out.String()
}

// The table stands between these lines of the page.
const (
	tableBegin = "<!-- make chaos writes what follows -->\n"
	tableEnd   = "<!-- make chaos wrote this -->\n"
)

// writeTable puts the table of the results into a page.
func writeTable(page string, results []result) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), tableBegin)
	_, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return os.WriteFile(page, []byte(before+tableBegin+"\n"+markdownTable(results)+"\n"+tableEnd+after), 0o600)
}

// missing are the cells of a plan that have no result yet.
func missing(plan []cell, results []result) []cell {
	return slices.DeleteFunc(slices.Clone(plan), func(c cell) bool {
		return slices.ContainsFunc(results, func(r result) bool { return r.cell == c })
	})
}
