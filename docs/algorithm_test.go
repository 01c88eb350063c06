package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const algorithmFile = "algorithm.md"

// blocks are what stands between the markers of algorithm.md, <!-- NAME --> and
// <!-- end -->.
func (c *chapter) blocks() map[string]string {
	blocks := map[string]string{
		"yaml transparent": "```yaml\n" + scaling.TransparentBehavior + "```\n",
	}
	for _, r := range c.rules {
		if r.picture.lines == nil {
			blocks["table "+r.name] = r.table
			continue
		}
		blocks["rule "+r.name] = "![" + r.picture.inWords() + "](" + r.file() + ")\n\n" + r.table
	}
	return blocks
}

func (r rule) file() string { return "algorithm/" + r.name + ".svg" }

// TestAlgorithm: the pictures and the tables of algorithm.md are what the algorithm does.
func TestAlgorithm(t *testing.T) {
	checkBlocks(t, algorithmFile, newChapter().blocks())
}

// TestPictures: algorithm/ has the pictures of algorithm.md, and no other.
func TestPictures(t *testing.T) {
	var want []string
	for _, r := range newChapter().rules {
		if r.picture.lines == nil {
			continue
		}
		want = append(want, r.file())
		if *update {
			write(t, r.file(), r.picture.svg())
		}
		if read(t, r.file()) != r.picture.svg() {
			t.Errorf("%s is out of date: run go test ./docs -update", r.file())
		}
	}
	slices.Sort(want)
	got, err := filepath.Glob("algorithm/*")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("algorithm/ has %v, want %v (%v)", got, want, err)
	}
}

// TestSentences: every number in the sentences of algorithm.md is one that the code
// computes.
func TestSentences(t *testing.T) {
	text := sentences(read(t, algorithmFile))
	for _, claim := range newChapter().claims(t) {
		if !strings.Contains(text, claim) {
			t.Errorf("%s does not say %q", algorithmFile, claim)
		}
		text = strings.ReplaceAll(text, claim, " … ")
	}
	for _, unchecked := range captures(`((?:\S+ ){0,6}\S*[0-9]\S*(?: \S+){0,6})`, text) {
		t.Errorf("%s: nothing checks the number in %q", algorithmFile, unchecked)
	}
}

// sentences are a text on one line, without generated blocks, the addresses of links,
// the numbers of list items, and the names that have digits in them.
func sentences(text string) string {
	for _, pattern := range []string{`(?s)<!-- (rule|table|yaml) .*?<!-- end -->`, `\]\([^)]*\)`, `(?m)^\d+\. `, `keda#\d+`, `Kubernetes 1\.37`} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, "")
	}
	return strings.Join(strings.Fields(text), " ")
}
