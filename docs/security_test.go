package docs_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestAttacksAreTried: each test that the table of attacks names is in the tree, and each
// attack has one.
func TestAttacksAreTried(t *testing.T) {
	exists := map[string]bool{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, name := range captures(`(?m)^func ((?:[Tt]est|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`, read(t, "../"+path)) {
			exists[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(read(t, "security.md"), "| attack | test |")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(table, -1)
	if !found || len(rows) < 10 || len(rows) != strings.Count(table, "\n|")-1 {
		t.Fatalf("the table has %d rows of three columns in %d lines", len(rows), strings.Count(table, "\n|"))
	}
	for _, row := range rows {
		for _, name := range strings.Split(row[2], ", ") {
			if !exists[name] {
				t.Errorf("attack %q: there is no test %q", row[1], name)
			}
		}
	}
}
