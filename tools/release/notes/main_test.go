package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const changelog = `# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

* B.

## [0.1.0-rc.1] - 2026-11-01

* A.

## [0.0.1] - 2026-10-01

[0.2.0]: https://example.org/compare
`

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, tag, chart string
		want, problem    string
	}{
		{name: "a section in the middle", tag: "v0.2.0", chart: "version: 0.2.0\nappVersion: \"0.2.0\"\n", want: "### Added\n\n* B.\n"},
		{name: "a candidate", tag: "v0.1.0-rc.1", chart: "version: 0.1.0-rc.1\nappVersion: \"0.1.0-rc.1\"\n", want: "* A.\n"},
		{name: "nothing to say", tag: "v0.0.1", chart: "version: 0.0.1\nappVersion: \"0.0.1\"\n", problem: "says nothing below [0.0.1]"},
		{name: "not in the changelog", tag: "v0.3.0", chart: "version: 0.3.0\nappVersion: \"0.3.0\"\n", problem: "no heading \"## [0.3.0] - YYYY-MM-DD\""},
		{name: "the start of a version", tag: "v0.2", problem: "must be v and a semantic version"},
		{name: "no v", tag: "0.2.0", problem: "must be v and a semantic version"},
		{name: "a chart of before", tag: "v0.2.0", chart: "version: 0.1.0\nappVersion: \"0.2.0\"\n", problem: "version of charts/dashpot/Chart.yaml is not 0.2.0"},
		{name: "images of before", tag: "v0.2.0", chart: "version: 0.2.0\nappVersion: \"0.1.0\"\n", problem: "appVersion of charts/dashpot/Chart.yaml is not 0.2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "CHANGELOG.md"), changelog)
			write(t, filepath.Join(dir, "charts", "dashpot", "Chart.yaml"), c.chart)
			var out bytes.Buffer
			err := run([]string{c.tag}, dir, &out)
			switch {
			case c.problem == "" && (err != nil || out.String() != c.want):
				t.Errorf("prints %q, %v; want %q", out.String(), err, c.want)
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || out.Len() > 0):
				t.Errorf("prints %q, %v; want nothing, and an error with %q", out.String(), err, c.problem)
			}
		})
	}
}

// TestOurs: the project's own files are of the form that a release needs.
func TestOurs(t *testing.T) {
	chart, err := os.ReadFile("../../../charts/dashpot/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(chart), "\nversion: ")
	version, _, _ = strings.Cut(version, "\n")
	if err := checkChart(string(chart), version); err != nil {
		t.Error(err)
	}
	ours, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	released := strings.Replace(string(ours), "## [Unreleased]", "## ["+version+"] - 2026-12-01", 1)
	if text, err := section(released, version); err != nil || !strings.HasPrefix(text, "### ") {
		t.Errorf("the changelog's first section, as a release, is %.60q, %v", text, err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
