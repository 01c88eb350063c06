package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// allPages are the files of the documentation.
func allPages(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "adr/*.md", "triggers/*.md", "../*.md", "../charts/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// TestLinks: every link within the documentation leads to a file, and to a heading of it.
// Others are at least addresses.
func TestLinks(t *testing.T) {
	checked := 0
	for _, file := range allPages(t) {
		for _, link := range captures(`\]\(([^)\s]+)\)`, read(t, file)) {
			checked++
			if address, ok := strings.CutPrefix(link, "https://"); ok {
				if host, _, _ := strings.Cut(address, "/"); !strings.Contains(host, ".") {
					t.Errorf("%s: %s is no address", file, link)
				}
				continue
			}
			path, anchor, anchored := strings.Cut(link, "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: broken link: %v", file, err)
			} else if anchored && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: %s has no heading #%s", file, target, anchor)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links found", checked)
	}
}

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var names []string
	seen := map[string]int{}
	for _, heading := range captures(`(?m)^#+ (.+)$`, withoutBlocks(page)) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, heading)
		if n := seen[name]; n > 0 {
			names = append(names, name+"-"+string(rune('0'+n)))
		} else {
			names = append(names, name)
		}
		seen[name]++
	}
	return names
}

// withoutBlocks is a page without what stands between fences.
func withoutBlocks(page string) string {
	var text strings.Builder
	inside := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			inside = !inside
		} else if !inside {
			text.WriteString(line)
		}
	}
	return text.String()
}

// TestIndex: README.md of docs leads to every page.
func TestIndex(t *testing.T) {
	index := captures(`\]\(([^)#\s]+)[^)]*\)`, read(t, "README.md"))
	for _, file := range allPages(t) {
		switch {
		case strings.HasPrefix(file, "../"), file == "README.md", strings.HasPrefix(file, "adr/"):
		case !slices.Contains(index, file):
			t.Errorf("README.md does not lead to %s", file)
		}
	}
}
