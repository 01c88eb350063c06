package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// value is a row of the README's table: a key of values.yaml with a comment "# --".
type value struct{ key, standard, meaning string }

// values reads the rows of values.yaml. A key without such a comment has to be a mapping of
// keys with one.
func values(t *testing.T) []value {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(chartDir, "values.yaml"))), &document); err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf("", document.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func rowsOf(path string, mapping *yaml.Node) ([]value, error) {
	var rows []value
	for i := 0; i < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		name := path + key.Value
		lines := strings.Split(key.HeadComment, "\n")
		if meaning, found := strings.CutPrefix(lines[len(lines)-1], "# -- "); found {
			var standard any
			if err := node.Decode(&standard); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			text, err := json.Marshal(standard)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			rows = append(rows, value{name, string(text), meaning})
			continue
		}
		if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
			return nil, fmt.Errorf("%s has no comment that begins with \"# -- \"", name)
		}
		below, err := rowsOf(name+".", node)
		if err != nil {
			return nil, err
		}
		rows = append(rows, below...)
	}
	return rows, nil
}

// The markers of the README's table.
const tableBegin, tableEnd = "<!-- values -->\n", "<!-- end -->"

// TestReadme: the README's table is that of values.yaml.
func TestReadme(t *testing.T) {
	var table strings.Builder
	table.WriteString("| value | default | meaning |\n|---|---|---|\n")
	for _, v := range values(t) {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.key, v.standard, strings.ReplaceAll(v.meaning, "|", "\\|"))
	}
	path := filepath.Join(chartDir, "README.md")
	before, rest, found := strings.Cut(read(t, path), tableBegin)
	got, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", path, tableBegin, tableEnd)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+tableBegin+table.String()+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != table.String() {
		t.Errorf("%s: run go test . -run TestReadme -update\n%s", path, firstDifference(got, table.String()))
	}
}

// node is a part of values.schema.json.
type node struct {
	Ref         string          `json:"$ref"`
	Properties  map[string]node `json:"properties"`
	Additional  any             `json:"additionalProperties"`
	Definitions map[string]node `json:"definitions"`
}

// TestSchemaKnowsTheValues, and no others: a key that only one of the two has is a typing
// error that nobody would see. Below a value of the table, the schema may say more.
func TestSchemaKnowsTheValues(t *testing.T) {
	var root node
	if err := json.Unmarshal([]byte(read(t, filepath.Join(chartDir, "values.schema.json"))), &root); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, v := range values(t) {
		known[v.key] = false
	}
	var walk func(path string, s node)
	walk = func(path string, s node) {
		if name, found := strings.CutPrefix(s.Ref, "#/definitions/"); found {
			s = root.Definitions[name]
		}
		if _, isValue := known[path]; isValue {
			known[path] = true
			return
		}
		if s.Properties == nil && path != "global" {
			t.Errorf("the schema has %s, and values.yaml has not", path)
		}
		if path != "global" && s.Additional != false {
			t.Errorf("the schema lets %s have any keys", path)
		}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			walk(strings.TrimPrefix(path+"."+key, "."), s.Properties[key])
		}
	}
	walk("", root)
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if !known[key] {
			t.Errorf("values.yaml has %s, and the schema has not", key)
		}
	}
}
