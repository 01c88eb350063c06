package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageText string

// section is a row with its result on the page.
type section struct {
	row
	result

	Measured bool
	Anchor   string
}

// writePage writes the page from the last result of each row.
func writePage(path string, all []row, kept results) error {
	text, err := page(all, kept)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// page is the text of the page.
func page(all []row, kept results) (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"cell": cell, "goal": goalCell}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var sections []section
	for _, r := range all {
		result, ok := kept[r.Name]
		sections = append(sections, section{row: r, result: result, Measured: ok, Anchor: r.Name})
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]any{"Sections": sections, "Machines": machines(all, kept)}); err != nil {
		return "", err
	}
	return b.String(), nil
}

// machines are the distinct machines of the results, each with the commits that were
// measured on it, in the order of the rows.
func machines(all []row, kept results) []string {
	var order []machine
	commits := map[machine][]string{}
	for _, r := range all {
		result, ok := kept[r.Name]
		switch {
		case !ok:
			continue
		case commits[result.Machine] == nil:
			order = append(order, result.Machine)
		case slices.Contains(commits[result.Machine], result.Commit):
			continue
		}
		commits[result.Machine] = append(commits[result.Machine], result.Commit)
	}
	var lines []string
	for _, m := range order {
		lines = append(lines, fmt.Sprintf("%s: commits %s", m, strings.Join(commits[m], ", ")))
	}
	return lines
}

// cell is a text within a table.
func cell(text string) string {
	if text == "" {
		return "–"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// goalCell is a goal with whether it is met.
func goalCell(s section) string {
	switch s.Verdict {
	case met:
		return cell(s.Goal) + " ✓"
	case missed:
		return cell(s.Goal) + " **missed**"
	default:
		return cell(s.Goal)
	}
}
