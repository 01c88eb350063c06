package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResultsAreResumed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	if results, err := readResults(path); err != nil || len(results) > 0 {
		t.Fatalf("%v, %v; want none of a file that is not there", results, err)
	}
	done := result{cell: cell{"FLUSHALL", single, 1}, Moment: inDip, Answers: 100, Late: 2.5, Silence: 1.5}
	if err := appendResult(path, done); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	todo := missing([]cell{{"FLUSHALL", single, 1}, {"FLUSHALL", single, 2}}, results)
	if len(todo) != 1 || todo[0].Seed != 2 {
		t.Errorf("still to run: %v, want seed 2", todo)
	}
	if err := os.WriteFile(path, []byte("{}\nno line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(path); err == nil || !strings.Contains(err.Error(), path+":2") {
		t.Errorf("error %v; want one that names the line", err)
	}
}

func TestTable(t *testing.T) {
	results := []result{
		{cell: cell{"FLUSHALL", single, 1}, Answers: 100, Late: 2.5, Silence: 1.5},
		{cell: cell{"FLUSHALL", single, 2}, Answers: 50, Below: 1, Zeros: 2, Wakes: 3, Disagreement: 4.25, Silence: 1},
		{cell: cell{"none", sentinel, 1}, Answers: 10},
	}
	page := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(page, results); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const want = "before\n" + tableBegin + `
| fault | Redis | runs | answers | below reference | wrong zeros | wrong wake-ups | latest raise | longest disagreement after healing | longest silence |
|---|---|---|---|---|---|---|---|---|---|
| none | sentinel | 1 | 10 | 0 | 0 | 0 | 0.0 s | 0.0 s | 0.0 s |
| FLUSHALL | single | 2 | 150 | 1 | 2 | 3 | 2.5 s | 4.2 s | 1.5 s |

` + tableEnd + "after\n"
	if string(content) != want {
		t.Errorf("the page is\n%s\nwant\n%s", content, want)
	}
	if err := faultsOf(results, []cell{{"FLUSHALL", single, 1}}); err != nil {
		t.Errorf("a good cell: %v", err)
	}
	for _, bad := range []cell{{"FLUSHALL", single, 2}, {"FLUSHALL", single, 3}} {
		if faultsOf(results, []cell{bad}) == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// TestEveryCellHasAGoodResult: the committed results have each fault in each set-up that it
// applies to, with two scripts, and the page has what they say.
func TestEveryCellHasAGoodResult(t *testing.T) {
	results, err := readResults("results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all, err := plan("", "", "1,2")
	if err != nil {
		t.Fatal(err)
	}
	if err := faultsOf(results, all); err != nil {
		t.Error(err)
	}
	known := map[cell]bool{}
	for _, r := range results {
		if known[r.cell] || !slices.Contains(all, r.cell) {
			t.Errorf("%v: a result twice, or of a fault that there is no more", r.cell)
		}
		known[r.cell] = true
	}
	page, err := os.ReadFile("../../docs/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), tableBegin+"\n"+markdownTable(results)+"\n"+tableEnd) {
		t.Error("docs/failures.md has another table than the results make: go run ./test/chaos -write")
	}
}

// TestFaults: every fault has a name of its own and a set-up.
func TestFaults(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults() {
		if f.name == "" || seen[f.name] || len(f.setups) == 0 || f.inject == nil {
			t.Errorf("fault %q, in %v", f.name, f.setups)
		}
		seen[f.name] = true
	}
}
