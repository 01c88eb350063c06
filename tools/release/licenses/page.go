package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const head = `# Licences of what is linked

The programs are linked of these modules, besides Dashpot itself, which has the [Apache License
2.0](LICENSE). Made by ` + "`make licenses`" + `; images have it in ` + "`/licenses`" + `.

| module | version | licences |
|---|---|---|
`

// page is the table, and below it every text once, with whose it is.
func page(linked []module) (string, error) {
	var table, texts strings.Builder
	owners := map[string][]string{} // by text
	var order []string
	for _, m := range linked {
		var kinds []string
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			text := tidy(m.texts[name])
			if len(owners[text]) == 0 {
				order = append(order, text)
			}
			owners[text] = append(owners[text], strings.TrimSpace(m.path+" "+name))
			if !isLicence(name) {
				continue
			}
			kind, err := kindOf(text)
			if err != nil {
				return "", fmt.Errorf("%s of module %s: %w", name, m.path, err)
			}
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) == 0 {
			return "", fmt.Errorf("module %s has a notice and no licence", m.path)
		}
		slices.Sort(kinds)
		fmt.Fprintf(&table, "| %s | %s | %s |\n", m.path, m.version, strings.Join(kinds, ", "))
	}
	for _, text := range order {
		fmt.Fprintf(&texts, "\n## %s\n\n```text\n%s\n```\n", strings.Join(owners[text], ", "), text)
	}
	return head + table.String() + texts.String(), nil
}

// tidy is a text without what a reader does not see.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// isLicence tells licences from notices, grants of patents and lists of authors.
func isLicence(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasPrefix(base, "licen") || strings.HasPrefix(base, "copying")
}

// kindOf returns the SPDX names of the licences in a text, each told by a sentence that no
// other has.
func kindOf(text string) (string, error) {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	var kinds []string
	for _, k := range []struct{ name, has, hasNot string }{
		{"Apache-2.0", "apache license version 2.0", ""},
		{"Apache-2.0", "licensed under the apache license, version 2.0", "apache license version 2.0"},
		{"BSD-2-Clause", "redistribution and use in source and binary forms", "neither the name"},
		{"BSD-3-Clause", "neither the name", ""},
		{"ISC", "permission to use, copy, modify, and/or distribute this software", ""},
		{"MIT", "permission is hereby granted, free of charge", ""},
		{"MPL-2.0", "mozilla public license version 2.0", ""},
	} {
		if strings.Contains(words, k.has) && (k.hasNot == "" || !strings.Contains(words, k.hasNot)) {
			kinds = append(kinds, k.name)
		}
	}
	if copyleft := "general public license"; strings.Contains(words, copyleft) && !slices.Contains(kinds, "MPL-2.0") {
		return "", fmt.Errorf("it names a %s", copyleft)
	}
	if len(kinds) == 0 {
		return "", fmt.Errorf("it is no licence that is known; it begins %.60q", words)
	}
	return strings.Join(kinds, ", "), nil
}
