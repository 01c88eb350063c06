package policy_test

import (
	"testing"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// TestTables: every key that a user may write says what it is for, and its default
// is legal by its own description.
func TestTables(t *testing.T) {
	sources := source.New(source.Options{})
	defer sources.Close()
	checkTable(t, "own", policy.Keys())
	for _, name := range sources.Types() {
		checkTable(t, name, sources.Keys(name))
	}
}

func checkTable(t *testing.T, path string, keys []metadata.Key) {
	t.Helper()
	names := map[string]bool{}
	for _, k := range keys {
		at := path + "." + k.Name
		if k.Name == "" || k.Meaning == "" || k.Legal() == "" {
			t.Errorf("%s: not described", at)
		}
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if names[name] {
				t.Errorf("%s: described twice", at)
			}
			names[name] = true
		}
		if k.Required && k.Default != "" {
			t.Errorf("%s: required and yet has a default", at)
		}
		m := metadata.New(nil)
		if k.Default != "" {
			readByKind(m, k)
		}
		if err := m.Err(); err != nil {
			t.Errorf("%s: illegal default: %v", at, err)
		}
		checkTable(t, at, k.Fields)
	}
}

func readByKind(m *metadata.Map, k metadata.Key) {
	switch k.Kind {
	case metadata.Number:
		m.Number(k)
	case metadata.Whole:
		m.Whole(k)
	case metadata.Seconds:
		m.Seconds(k)
	case metadata.Flag:
		m.Flag(k)
	case metadata.Text, metadata.Mapping, metadata.List:
		m.Text(k)
	}
}
