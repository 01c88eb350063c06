package quickstart

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// pages are those that a reader can follow on `make cluster`.
var pages = []string{"quickstart-keda.md", "quickstart-native.md", "migrate.md"}

func page(t *testing.T, name string) []Step {
	t.Helper()
	content, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Steps(string(content))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return steps
}

// TestPages: every block of the pages is one that the end-to-end test executes.
func TestPages(t *testing.T) {
	for _, name := range pages {
		steps := page(t, name)
		if len(steps) < 3 || steps[0].Question() {
			t.Errorf("%s: %d steps, the first of which is %+v", name, len(steps), steps[:min(1, len(steps))])
		}
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name, page string
		want       []Step
		err        string
	}{
		{"no block", "# Title\n\nwords", nil, ""},
		{"an order", "a\n```sh\nb\nc\n```\nd", []Step{{Line: 2, Script: "b\nc"}}, ""},
		{"a question", "```sh\nb\n```\nand:\n```text\nc\n```", []Step{{Line: 1, Script: "b", Shown: "c"}}, ""},
		{
			"two orders and a question", "```sh\na\n```\n```sh\nb\n```\n```sh\nc\n```\n```text\nd\n```",
			[]Step{{1, "a", ""}, {4, "b", ""}, {7, "c", "d"}}, "",
		},
		{"another language", "```yaml\na: 1\n```", nil, "line 1: a yaml block that answers no sh block"},
		{"no language", "a\n```\nb\n```", nil, "line 2: a block without a language"},
		{"an answer to nothing", "```text\na\n```", nil, "line 1: a text block"},
		{"two answers", "```sh\na\n```\n```text\nb\n```\n```text\nc\n```", nil, "line 7: a text block"},
		{"no end", "```sh\na\n", nil, "line 1: a block without an end"},
	} {
		got, err := Steps(test.page)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got error %v, want %q", test.name, err, test.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		shown, output string
		want          bool
	}{
		{"a", "a\n", true},
		{"a", "", false},
		{"a", "a\nb", false},
		{"a  b", "a b\n", true},
		{"a b", "ab", false},
		{"a … c", "a bb c", true},
		{"a…c", "a b c", true},
		{"a … c", "a\nc", false},
		{"worker 8/8 …", "worker   8/8     8            8           12s\n", true},
		{"worker 8/8 …", "worker   7/8     8            8           12s\n", false},
		{"NAME\n…\nlast", "NAME\nlast", true},
		{"NAME\n…\nlast", "NAME\nx\n\ny\nlast", true},
		{"NAME\n…", "NAME", true},
		{"…\nlast", "x\nlast", true},
		{"…\nlast", "x\nlast\ny", false},
		{"(1 [x", "(1 [x", true},
	} {
		if got := Matches(test.shown, test.output); got != test.want {
			t.Errorf("%q shown, %q printed: %v", test.shown, test.output, got)
		}
	}
}
