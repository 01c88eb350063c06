// Package docs_test keeps the documentation true where the code can say what is: the
// tables of keys, the names of flags and metrics, and the links.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// pages says which tables stand on which page of triggers/.
var pages = map[string][]string{
	"README.md":          {"dashpot"},
	"redis.md":           {"redis", "redis-streams", "connection", "sentinel"},
	"prometheus.md":      {"prometheus"},
	"metrics-api.md":     {"metrics-api"},
	"cron.md":            {"cron"},
	"cpu.md":             {"cpu"},
	"external-metric.md": {"external-metric"},
}

// documented says which of these tables together are the keys of a type.
var documented = map[string][]string{
	"redis":                  {"redis", "connection"},
	"redis-cluster":          {"redis", "connection"},
	"redis-sentinel":         {"redis", "connection", "sentinel"},
	"redis-streams":          {"redis-streams", "connection"},
	"redis-cluster-streams":  {"redis-streams", "connection"},
	"redis-sentinel-streams": {"redis-streams", "connection", "sentinel"},
	"prometheus":             {"prometheus"},
	"metrics-api":            {"metrics-api"},
	"cron":                   {"cron"},
	"cpu":                    {"cpu"},
	"memory":                 {"cpu"},
	"external-metric":        {"external-metric"},
}

// tables are the keys of every table, by the name in its markers.
func tables(types *source.Table) map[string][]metadata.Key {
	list, stream := types.Keys("redis"), types.Keys("redis-streams")
	all := map[string][]metadata.Key{
		"dashpot":       policy.Keys(),
		"redis":         without(list, stream),
		"redis-streams": without(stream, list),
		"connection":    without(list, without(list, stream)),
		"sentinel":      without(types.Keys("redis-sentinel"), list),
	}
	for _, name := range types.Types() {
		if parts := documented[name]; len(parts) == 1 && parts[0] == name {
			all[name] = types.Keys(name)
		}
	}
	return all
}

// without is the keys that the others do not name.
func without(keys, others []metadata.Key) []metadata.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k metadata.Key) bool {
		return slices.ContainsFunc(others, func(o metadata.Key) bool { return o.Name == k.Name })
	})
}

func newTypes(t *testing.T) *source.Table {
	t.Helper()
	types := source.New(source.Options{Addresses: egress.Everywhere()})
	t.Cleanup(types.Close)
	return types
}

// TestTables: the tables of keys are the code's.
func TestTables(t *testing.T) {
	all := tables(newTypes(t))
	for page, names := range pages {
		blocks := map[string]string{}
		for _, name := range names {
			if all[name] == nil {
				t.Errorf("there is no table %s for %s", name, page)
			}
			blocks["keys "+name] = table(all[name])
			delete(all, name)
		}
		checkBlocks(t, filepath.Join("triggers", page), blocks)
	}
	for name := range all {
		t.Errorf("no page has table %s", name)
	}
}

// checkBlocks compares each generated block of a file, between its markers <!-- NAME -->
// and <!-- end -->, with what the code gives, and writes it with -update.
func checkBlocks(t *testing.T, file string, blocks map[string]string) {
	t.Helper()
	text := read(t, file)
	for name, want := range blocks {
		begin := "<!-- " + name + " -->\n"
		before, rest, found := strings.Cut(text, begin)
		got, after, closed := strings.Cut(rest, "<!-- end -->")
		switch {
		case !found || !closed:
			t.Errorf("%s has no block between %q and the end marker", file, begin)
		case *update:
			text = before + begin + want + "<!-- end -->" + after
		case got != want:
			t.Errorf("%s, block %s: run go test ./docs -update\ngot\n%swant\n%s", file, name, got, want)
		}
	}
	if *update {
		write(t, file, text)
	}
}

// TestTablesCoverEveryType: the tables that stand for a type have all of its keys and
// no other, and the list of types has them all.
func TestTablesCoverEveryType(t *testing.T) {
	types := newTypes(t)
	all := tables(types)
	_, list, _ := strings.Cut(read(t, "triggers/README.md"), "| source |")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, name := range types.Types() {
		if !strings.Contains(list, "`"+name+"`") {
			t.Errorf("triggers/README.md does not list type %s", name)
		}
		if documented[name] == nil {
			t.Errorf("no page of triggers/ documents type %s", name)
			continue
		}
		var got []string
		for _, part := range documented[name] {
			got = append(got, rows("", all[part])...)
		}
		want := rows("", types.Keys(name))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("type %s: the tables have\n%s\nand the code\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func table(keys []metadata.Key) string {
	head := "| key | default | legal | meaning |\n|---|---|---|---|\n"
	return head + strings.Join(rows("", keys), "\n") + "\n"
}

// rows describes keys and, below each, its fields: behavior.scaleUp.policies[].type.
func rows(path string, keys []metadata.Key) []string {
	var list []string
	for _, k := range keys {
		name := "`" + path + k.Name + "`"
		for _, alias := range k.Aliases {
			name += " or `" + path + alias + "`"
		}
		list = append(list, fmt.Sprintf("| %s | %s | %s | %s |", name, defaultOf(k), k.Legal(), k.Meaning))
		below := path + k.Name + "."
		if k.Kind == metadata.List {
			below = path + k.Name + "[]."
		}
		list = append(list, rows(below, k.Fields)...)
	}
	return list
}

func defaultOf(k metadata.Key) string {
	switch {
	case k.Required:
		return "required"
	case k.Default != "":
		return "`" + k.Default + "`"
	}
	return ""
}

// TestFlagsAreDocumented: every flag of the two programs is in operating.md, and no
// other is.
func TestFlagsAreDocumented(t *testing.T) {
	var want []string
	for _, file := range []string{"../internal/process/options.go", "../cmd/scaler/options.go", "../cmd/adapter/options.go"} {
		found := captures(`\.\w+Var\(&[\w.]+, "([a-z-]+)"`, read(t, file))
		if len(found) == 0 {
			t.Fatalf("%s has no flags", file)
		}
		want = append(want, found...)
	}
	got := captures("(?m)^\\| `--([a-z-]+)`", read(t, "operating.md"))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("operating.md has tables of flags %v; the programs have %v", got, want)
	}
}

// captures is what the pattern's group matched, in order.
func captures(pattern, text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
