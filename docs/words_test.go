package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const troubleshootingFile = "troubleshooting.md"

const explainFile = "../pkg/scaling/explain.go"

// TestConditionsAreDocumented: troubleshooting.md has every condition that the program
// reports with each of its reasons, and no other.
func TestConditionsAreDocumented(t *testing.T) {
	want := map[string]bool{}
	explain := read(t, explainFile)
	for _, c := range regexp.MustCompile(`Condition\{"(\w+)", \w+, "(\w+)"`).FindAllStringSubmatch(explain, -1) {
		want[c[1]+" "+c[2]] = true
	}
	for _, computed := range []struct{ condition, field, file, pattern string }{
		{"AbleToScale", "string(r)", "../pkg/algorithm/stabilize.go", `Reason = "(\w+)"`},
		{"ScalingLimited", "string(r)", "../pkg/algorithm/limit.go", `Reason = "(\w+)"`},
		{"ScaledToZero", "string(d.Stranded)", "../pkg/scaling/decision.go", `Stranded = "(\w+)"`},
	} {
		if !regexp.MustCompile(`"` + computed.condition + `", [^,]+, ` + regexp.QuoteMeta(computed.field)).MatchString(explain) {
			t.Errorf("%s has no %s by %s", explainFile, computed.condition, computed.field)
		}
		for _, reason := range captures(computed.pattern, read(t, computed.file)) {
			want[computed.condition+" "+reason] = true
		}
	}
	for _, reason := range append(captures(`reasonPolicyValid += "(\w+)"`, read(t, "../pkg/cluster/status_page.go")),
		captures(`reasonInvalidPolicy += "(\w+)"`, read(t, "../pkg/cluster/notice.go"))...) {
		want["Ready "+reason] = true
	}

	got := map[string]bool{}
	_, section, _ := strings.Cut(read(t, troubleshootingFile), "\n| condition | reason | |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\|").FindAllStringSubmatch(section, -1) {
		for _, reason := range captures("`(\\w+)`", row[2]) {
			got[row[1]+" "+reason] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s has the conditions\n%q\nand the code\n%q", troubleshootingFile, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestReasonsAreDocumented: a word in code font that is written as reasons are, on the
// page of symptoms, is one that the program or Kubernetes gives; and every one of the
// program's Events is there.
func TestReasonsAreDocumented(t *testing.T) {
	known := map[string]bool{"ScaledObject": true, "StabilizedMetric": true}
	for _, file := range []string{
		explainFile, "../pkg/scaling/decision.go", "../pkg/algorithm/stabilize.go", "../pkg/algorithm/limit.go",
		"../pkg/cluster/notice.go", "../pkg/cluster/status_page.go",
	} {
		for _, word := range captures(`"([A-Z]\w+)"`, read(t, file)) {
			known[word] = true
		}
	}
	text := read(t, troubleshootingFile)
	for _, word := range captures("`;? ?([A-Z][a-z]+[A-Z]?\\w*)[^`]*`", text) {
		if !known[word] && !strings.HasPrefix(word, "HPA") {
			t.Errorf("%s speaks of %s, which nothing says", troubleshootingFile, word)
		}
	}
	for _, reason := range captures(`reason\w+ += "(\w+)"`, read(t, "../pkg/cluster/notice.go")) {
		if !strings.Contains(text, "`"+reason+"`") {
			t.Errorf("%s does not mention the Event %s", troubleshootingFile, reason)
		}
	}
}

// TestWhyIsDocumented: the table of sentences has every one that a decision's why is made
// of, and no other. An entry that ends in … begins one.
func TestWhyIsDocumented(t *testing.T) {
	_, section, found := strings.Cut(read(t, troubleshootingFile), "\n| `why` | |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	entries := captures("(?m)^\\| `([^`]+)` \\|", section)
	if !found || len(entries) == 0 {
		t.Fatalf("%s has no table of sentences", troubleshootingFile)
	}
	said := map[string]bool{}
	for _, sentence := range whySentences(t) {
		i := slices.IndexFunc(entries, func(entry string) bool {
			begin, open := strings.CutSuffix(entry, "…")
			return entry == sentence || open && len(begin) > 20 && strings.HasPrefix(sentence, begin)
		})
		if i < 0 {
			t.Errorf("%s does not explain %q", troubleshootingFile, sentence)
			continue
		}
		said[entries[i]] = true
	}
	for _, entry := range entries {
		if !said[entry] {
			t.Errorf("%s explains %q, which is never said", troubleshootingFile, entry)
		}
	}
}

// whySentences are the texts in the functions that make a why, with … for what is put in
// and N for a number.
func whySentences(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), explainFile, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	verbs := strings.NewReplacer("%s", "…", "%d", "N")
	var sentences []string
	collect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if text, rest := beginning(n); text != nil {
				sentences = append(sentences, unquoted(t, text, verbs)+rest)
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && n.Value != `""` {
				sentences = append(sentences, unquoted(t, n, verbs))
			}
		}
		return true
	}
	makers := map[string]bool{"Why": true, "whyPassThrough": true, "whyStabilised": true, "stranded": true, "upToOthers": true}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if makers[d.Name.Name] {
				ast.Inspect(d.Body, collect)
				delete(makers, d.Name.Name)
			}
		case *ast.GenDecl:
			if value, ok := d.Specs[0].(*ast.ValueSpec); ok && makers[value.Names[0].Name] {
				ast.Inspect(value, collect)
				delete(makers, value.Names[0].Name)
			}
		}
	}
	if len(makers) > 0 {
		t.Errorf("%s has no %v any more", explainFile, slices.Sorted(maps.Keys(makers)))
	}
	return sentences
}

// beginning is the text that a sum begins with, and … if the next summand is no text: of
// texts that are written in parts the first has to do. nil if it begins with another.
func beginning(sum *ast.BinaryExpr) (text *ast.BasicLit, rest string) {
	if first, ok := sum.X.(*ast.BinaryExpr); ok {
		return beginning(first)
	}
	text, ok := sum.X.(*ast.BasicLit)
	if !ok || sum.Op != token.ADD || text.Kind != token.STRING {
		return nil, ""
	}
	if _, ok := sum.Y.(*ast.BasicLit); !ok {
		rest = " …"
	}
	return text, rest
}

func unquoted(t *testing.T, text *ast.BasicLit, verbs *strings.Replacer) string {
	t.Helper()
	plain, err := strconv.Unquote(text.Value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(verbs.Replace(plain))
}

// TestErrorsAreDocumented: what a failure can begin with is on the page of symptoms, and
// nothing else is in its table.
func TestErrorsAreDocumented(t *testing.T) {
	files, err := filepath.Glob("../pkg/scaling/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			want = append(want, captures(`(?m)^\s*(?:var )?Err\w+ += errors\.New\("([^"]+)"\)`, read(t, file))...)
		}
	}
	_, section, _ := strings.Cut(read(t, troubleshootingFile), "\n| text | what it is |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	got := captures("(?m)^\\| `([^`]+)` \\|", section)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%s explains the errors %q; the code has %q", troubleshootingFile, got, want)
	}
}
