package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

var (
	errNoMapping = errors.New("not a mapping")
	errEmptyList = errors.New("an empty list")
)

// mapping reads one level of a YAML mapping. An entry that is itself a mapping or a
// list stays text, to be read by whoever knows what it should be; null is empty, as
// if the entry was absent. A repeated key is an error.
func mapping(text string) (map[string]string, error) {
	var tree map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &tree); err != nil {
		return nil, err
	}
	if tree == nil {
		return nil, errNoMapping
	}
	entries := make(map[string]string, len(tree))
	for name, value := range tree {
		entry, err := entryText(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		entries[name] = entry
	}
	return entries, nil
}

// list reads one level of a YAML list, as mapping does. An empty one is an error.
func list(text string) ([]string, error) {
	var items []any
	if err := yaml.UnmarshalStrict([]byte(text), &items); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, errEmptyList
	}
	entries := make([]string, len(items))
	for i, item := range items {
		entry, err := entryText(item)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		entries[i] = entry
	}
	return entries, nil
}

// entryText is a value as text: a string as it is, anything else as JSON, which
// is YAML too.
func entryText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	encoded, err := json.Marshal(value)
	return string(encoded), err
}
