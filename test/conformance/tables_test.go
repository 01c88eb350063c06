package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamsTables runs the cases of upstream's own tests, which testdata/tables has as
// data, and prints a table of them. Every case of upstream's either runs or is named with
// the reason why it does not apply; none is left out, and no row is of a case that
// upstream does not have.
func TestUpstreamsTables(t *testing.T) {
	tests := slices.Concat(upstreamTests(t, "replica_calculator_test.go"), upstreamTests(t, "horizontal_test.go"))
	book := account{}
	for _, row := range tableRows(t) {
		c := row.of()
		verdict := failed
		if t.Run(c.name(), row.check) {
			verdict = passed
		}
		book.enter(t, c.Test, c.Case, verdict)
	}
	for _, n := range readTable[notApplicableCases](t, "not_applicable.yaml") {
		if n.Why == "" {
			t.Errorf("no reason why %s does not apply", n.Test)
		}
		for _, name := range n.of(tests) {
			book.enter(t, n.Test, name, notApplicable)
		}
	}
	book.balance(t, tests)
	t.Log(book.report(tests))
}

// tableRows are the rows of every table.
func tableRows(t *testing.T) []tableCase {
	t.Helper()
	var rows []tableCase
	for _, file := range []string{"calculator_resource.yaml", "calculator_missing.yaml", "calculator_metric.yaml"} {
		rows = appendRows(rows, readTable[calculatorCase](t, file))
	}
	for _, file := range []string{"reconcile_scale.yaml", "reconcile_zero.yaml", "reconcile_limits.yaml", "reconcile_conditions.yaml"} {
		rows = appendRows(rows, readTable[reconcileCase](t, file))
	}
	rows = appendRows(rows, readTable[groupCase](t, "groups.yaml"))
	rows = appendRows(rows, readTable[requestCase](t, "requests.yaml"))
	rows = appendRows(rows, readTable[limitCase](t, "limits.yaml"))
	rows = appendRows(rows, readTable[windowCase](t, "windows.yaml"))
	return appendRows(rows, readTable[eventCase](t, "events.yaml"))
}

func appendRows[R tableCase](rows []tableCase, more []R) []tableCase {
	for _, row := range more {
		rows = append(rows, row)
	}
	return rows
}

// notApplicableCases are cases that do not run: all of the test's if none is named.
type notApplicableCases struct {
	Test  string   `json:"test"`
	Cases []string `json:"cases"`
	Why   string   `json:"why"`
}

func (n notApplicableCases) of(tests []upstreamTest) []string {
	if n.Cases != nil {
		return n.Cases
	}
	for _, test := range tests {
		if test.name == n.Test {
			return test.cases
		}
	}
	return []string{""} // balance finds that upstream has no such test
}

type verdict string

const (
	passed        verdict = "passed"
	failed        verdict = "failed"
	notApplicable verdict = "not applicable"
)

// account has a verdict for each case of each test.
type account map[string]map[string]verdict

func (a account) enter(t *testing.T, test, name string, v verdict) {
	t.Helper()
	if a[test] == nil {
		a[test] = map[string]verdict{}
	}
	if _, twice := a[test][name]; twice {
		t.Errorf("%s has more than one row of the case %q", test, name)
	}
	a[test][name] = v
}

// balance compares the cases that there are with those that upstream has.
func (a account) balance(t *testing.T, tests []upstreamTest) {
	t.Helper()
	theirs := account{}
	for _, test := range tests {
		for _, name := range test.cases {
			theirs.enter(t, test.name, name, "")
			if _, ok := a[test.name][name]; !ok {
				t.Errorf("no row is of upstream's %s, case %q", test.name, name)
			}
		}
	}
	for test, cases := range a {
		for name := range cases {
			if _, ok := theirs[test][name]; !ok {
				t.Errorf("a row is of %s, case %q, which upstream does not have", test, name)
			}
		}
	}
}

// report is a table with a line for each of upstream's tests.
func (a account) report(tests []upstreamTest) string {
	var b strings.Builder
	line := func(name string, n map[verdict]int) {
		fmt.Fprintf(&b, "%-72s %6d %6d %14d %6d\n", name, n[passed]+n[failed]+n[notApplicable], n[passed], n[notApplicable], n[failed])
	}
	fmt.Fprintf(&b, "upstream's own cases\n%-72s %6s %6s %14s %6s\n", "", "total", passed, notApplicable, failed)
	sum := map[verdict]int{}
	for _, test := range tests {
		counts := map[verdict]int{}
		for _, v := range a[test.name] {
			counts[v]++
			sum[v]++
		}
		line(test.name, counts)
	}
	line(fmt.Sprintf("%d tests", len(tests)), sum)
	return b.String()
}
