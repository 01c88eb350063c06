package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// TestYAMLBombs: the YAML of a policy, in which a few lines stand for a great many, or which
// only opens, is wrong, and no more than that.
func TestYAMLBombs(t *testing.T) {
	sources := source.New(source.Options{})
	t.Cleanup(sources.Close)
	parser := policy.Parser{Sources: sources}
	laughs := "scaleUp: {a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf(", a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	laughs += "}"
	for name, text := range map[string]string{
		"laughs": laughs, "nested lists": strings.Repeat("[", 60_000), "nested maps": strings.Repeat("{a: ", 15_000),
		"itself": "scaleUp: &a {policies: *a}",
	} {
		for _, key := range []string{"behavior", "fallback"} {
			got := parser.Parse(jobs(values{key: text}))
			if got.Invalid == nil || len(got.Invalid.Error()) > 8<<10 {
				t.Errorf("%s as %s: got %.200v, want a short error", name, key, got.Invalid)
			}
		}
	}
}
