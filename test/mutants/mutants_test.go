package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every operator, with all its mutants.
func TestWeaveEveryOperator(t *testing.T) {
	for _, tt := range []struct {
		source string
		want   []string
	}{
		{
			"func f(a, b int) bool { return a < b }",
			[]string{"f: comparison: a < b -> a <= b", "f: comparison: a < b -> a >= b"},
		},
		{
			"func f(a, b int) bool { return a == b }",
			[]string{"f: comparison: a == b -> a != b", "f: comparison: a == b -> a <= b", "f: comparison: a == b -> a >= b"},
		},
		{
			"func f(a *int) bool { return a == nil }",
			[]string{"f: comparison: a == nil -> a != nil"},
		},
		{
			"func f(a, b bool) bool { return a && !b }",
			[]string{"f: logic: a && !b -> a || !b", "f: negation: a -> !a", "f: negation: b -> !b"},
		},
		{
			"func f(a int32) int32 { return a * 7 }",
			[]string{"f: arithmetic: a * 7 -> a / 7", "f: constant: 7 -> 8", "f: constant: 7 -> 6", "f: constant: 7 -> 0"},
		},
		{
			"func f(a, b int) int { return a / b }",
			[]string{"f: arithmetic: a / b -> a * b", "f: arithmetic: a / b -> a / b, rounded up"},
		},
		{
			"func f(a, b float64) float64 { return -(a / b) }",
			[]string{"f: arithmetic: -(a / b) -> (a / b)", "f: arithmetic: a / b -> a * b"},
		},
		{
			"func f() float64 { return 0.1 }",
			[]string{"f: constant: 0.1 -> 0", "f: constant: 0.1 -> 0.1*2"},
		},
		{ // 0 is one of the neighbours of 1
			"func f() (int, bool) { return 1, true }",
			[]string{"f: constant: 1 -> 2", "f: constant: 1 -> 0", "f: constant: true -> false"},
		},
		{
			"type colour string\nconst red, green colour = `r`, `g`\nfunc f() colour { return red }",
			[]string{"red: constant: `r` -> \"?\"", "red: constant: `g` -> \"?\"", "f: constant: red -> green"},
		},
		{
			"func f(a float64) int { return int(a) + int(math.Floor(a)) }",
			[]string{
				"f: arithmetic: int(a) + int(math.Floor(a)) -> int(a) - int(math.Floor(a))",
				"f: rounding: int(a) -> int(math.Ceil(a))", "f: rounding: int(a) -> int(math.Round(a))",
				"f: rounding: math.Floor(a) -> math.Ceil(a)", "f: rounding: math.Floor(a) -> math.Trunc(a)",
				"f: rounding: math.Floor(a) -> math.Round(a)",
			},
		},
		{
			"func f(a, b int) int { return max(a, b) }",
			[]string{"f: extreme: max(a, b) -> min(a, b)", "f: extreme: max(a, b) -> a", "f: extreme: max(a, b) -> b"},
		},
		{
			"func (p *point) f(a int) { p.x += a; p.x = a }\ntype point struct{ x int }",
			[]string{
				"point.f: statement: p.x += a -> nothing", "point.f: arithmetic: p.x += a -> p.x -= a",
				"point.f: statement: p.x = a -> nothing",
			},
		},
		{
			"func f(all []bool) { for _, a := range all { if a { continue }; panic(a) } }",
			[]string{
				"f: statement: if a {...} -> nothing", "f: negation: a -> !a", "f: statement: continue -> nothing",
				"f: statement: panic(a) -> nothing", "f: negation: a -> !a #2",
			},
		},
		{ // no length is below 0
			"func f(a string) bool { return len(a) == 0 }",
			[]string{"f: comparison: len(a) == 0 -> len(a) != 0", "f: constant: 0 -> 1", "f: constant: 0 -> -1"},
		},
		{ // nobody may read the 1
			"func f(err error) (int, error) { if err != nil { return 1, err }; return 1, nil }",
			[]string{
				"f: statement: if err != nil {...} -> nothing", "f: comparison: err != nil -> err == nil",
				"f: constant: 1 -> 2", "f: constant: 1 -> 0",
			},
		},
		{ // what a case of a select waits for stays; what it does does not
			"func f(a chan bool, b *int) { select { case <-a: *b = 1; default: } }",
			[]string{"f: statement: *b = 1 -> nothing", "f: constant: 1 -> 2", "f: constant: 1 -> 0"},
		},
		{ // the length of an array is changed where it is used only
			"const most = 3\nfunc f(a [most]int) int { return most }",
			[]string{"f: constant: most -> most+1", "f: constant: most -> most-1", "f: constant: most -> 0"},
		},
		{ // and so is a number that is used as several types
			"const most = 3\nfunc f(a float64) float64 { return a - most }",
			[]string{"f: arithmetic: a - most -> a + most", "f: constant: most -> most+1", "f: constant: most -> most-1", "f: constant: most -> 0"},
		},
		{ // a capacity, a key and a type are no constants that anything depends on
			"func f() []int { _ = [3]int{2: 5}; return make([]int, 4, 9) }",
			[]string{
				"f: statement: _ = [3]int{2: 5} -> nothing", "f: constant: 5 -> 6", "f: constant: 5 -> 4", "f: constant: 5 -> 0",
				"f: constant: 4 -> 5", "f: constant: 4 -> 3", "f: constant: 4 -> 0",
			},
		},
	} {
		pkg := weaveSource(t, "package p\n\nimport \"math\"\n\nvar _ = math.Ceil\n\n"+tt.source+"\n")
		var got []string
		for _, m := range pkg.Mutants {
			got = append(got, m.Identity())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", tt.source, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

func weaveSource(t *testing.T, source string) woven {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	pkg, err := weavePackage(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// tiny runs the whole program on the package in testdata.
func tiny(t *testing.T, only string) []verdict {
	t.Helper()
	dir := filepath.Join("testdata", "tiny")
	r := run{
		Only: regexp.MustCompile(only), Workers: 2, Progress: &bytes.Buffer{},
		Subject: subject{Package: dir, Detectors: []detector{{Name: "tests", Module: dir, Packages: []string{"."}}}},
	}
	verdicts, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

func TestRunCatchesWhatTheTestsDo(t *testing.T) {
	verdicts := tiny(t, "")
	caught := map[string]string{}
	for _, v := range verdicts {
		caught[v.Identity()] = v.Caught["tests"]
	}
	for identity, want := range map[string]string{
		"Most: constant: 10 -> 11":                                         "TestClip",
		"Clip: comparison: n > Most -> n <= Most":                          "TestClip",
		"Clip: comparison: n > Most -> n >= Most":                          "",
		"Clip: statement: if n > Most {...} -> nothing":                    "TestClip",
		"Pages: rounding: math.Ceil(lines / 10) -> math.Floor(lines / 10)": "",
		"Pages: constant: 10 -> 11":                                        "",
		"Pages: constant: 10 -> 9":                                         "TestPages",
		"Countdown: statement: n-- -> nothing":                             "timeout",
		"Countdown: arithmetic: steps++ -> steps--":                        "TestCountdown",
		"Positive: logic: n != nil && *n > 0 -> n != nil || *n > 0":        "",
	} {
		if got, ok := caught[identity]; !ok || got != want {
			t.Errorf("%s: caught by %q (tried: %v), not by %q", identity, got, ok, want)
		}
	}
}

func TestJudge(t *testing.T) {
	clip := "Clip: comparison: n > Most -> n >= Most"
	caught := "Clip: comparison: n > Most -> n <= Most"
	verdicts := tiny(t, "Clip: comparison")
	for name, tt := range map[string]struct {
		known []string
		whole bool
		want  string // "" for no complaint
	}{
		"listed":             {[]string{clip}, true, ""},
		"not listed":         {nil, true, "survives, yet not listed: testdata/tiny/tiny.go:11: " + clip},
		"listed, yet caught": {[]string{clip, caught}, true, "listed, yet caught: testdata/tiny/tiny.go:11: " + caught},
		"listed, yet gone":   {[]string{clip, "Clap: gone"}, true, "listed, yet gone: Clap: gone"},
		"not asked for":      {[]string{clip, "Clap: gone"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			known := map[string]string{}
			for _, identity := range tt.known {
				known[identity] = "a reason"
			}
			err := judge(verdicts, known, tt.whole)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, not %q", err, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	d := []detector{{Name: "tests"}, {Name: "oracle"}}
	m := mutant{File: "clip.go", Line: 3, Function: "Clip", Operator: inComparison, Original: "n > 1", Mutated: "n >= 1", Source: "if n > 1 {"}
	verdicts := []verdict{
		{m, "clip", map[string]string{"tests": "TestClip", "oracle": "TestOracle"}},
		{m, "clip", map[string]string{"tests": "TestClip", "oracle": ""}},
		{m, "clip", map[string]string{"tests": "", "oracle": ""}},
	}
	got := report(verdicts, d, map[string]string{m.Identity(): "It is the same."})
	for _, want := range []string{
		"     file  mutants  caught by tests  caught by oracle  by all of them  by none\n" +
			"  clip.go        3                2                 1               1        1\n",
		"\nclip.go:3: Clip: comparison: n > 1 -> n >= 1\n\tif n > 1 {\n\tIt is the same.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no\n%s\nin\n%s", want, got)
		}
	}
}

func TestSummary(t *testing.T) {
	compared, counted := mutant{Operator: inComparison}, mutant{Operator: inConstant}
	got := summary([]verdict{
		{compared, "pkg/a", map[string]string{"tests": "TestClip", "oracle": ""}},
		{compared, "pkg/a", map[string]string{"tests": timeout, "oracle": "TestOracle"}},
		{compared, "pkg/a", map[string]string{"tests": crash, "oracle": timeout}},
		{counted, "pkg/a", map[string]string{"tests": "", "oracle": ""}},
		{counted, "pkg/b", map[string]string{"tests": timeout}},
	})
	const want = "" +
		"  package    operator  mutants  a test failed  panic or deadlock  time-out  survivors\n" +
		"    pkg/a         all        4              2                  1         0          1\n" +
		"    pkg/a  comparison        3              2                  1         0          0\n" +
		"    pkg/a    constant        1              0                  0         0          1\n" +
		"    pkg/b         all        1              0                  0         1          0\n" +
		"    pkg/b    constant        1              0                  0         1          0\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChosen(t *testing.T) {
	for name, tt := range map[string]struct{ packages, detectors, want string }{
		"all that the oracle sees": {allPackages(), byOracle, "pkg/algorithm by conformance"},
		"two packages":             {"pkg/watch,pkg/store/memstore", "tests,conformance", "pkg/watch by tests, pkg/store/memstore by tests"},
		"both detectors":           {"pkg/algorithm", "conformance,tests", "pkg/algorithm by tests and conformance"},
		"no such package":          {"pkg/nothing", byTests, `-package "pkg/nothing": there are pkg/algorithm`},
		"no such detector":         {"pkg/watch", "luck", `-detectors "luck": there are tests and conformance`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			found, err := chosen(tt.packages, tt.detectors)
			for _, s := range found {
				var names []string
				for _, d := range s.Detectors {
					names = append(names, d.Name)
				}
				got = append(got, s.Package+" by "+strings.Join(names, " and "))
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if !strings.HasPrefix(strings.Join(got, ", "), tt.want) {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestSurvivorsNeedReasons(t *testing.T) {
	for name, tt := range map[string]struct{ content, want string }{
		"fine":      {"# why\nf: a\ng: b\n\tBoth are\n\tthe same.\nh: c\n\tTrue.\n", ""},
		"no reason": {"f: a\n\tTrue.\ng: b\n", "no reason for g: b"},
		"twice":     {"f: a\n\tTrue.\nf: a\n\tTrue.\n", "f: a is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "survivors.txt")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			known, err := readSurvivors(path)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, not %q", err, tt.want)
				}
				return
			}
			if err != nil || len(known) != 3 || known["f: a"] != "Both are the same." || known["h: c"] != "True." {
				t.Errorf("got %v, %v", known, err)
			}
		})
	}
}
