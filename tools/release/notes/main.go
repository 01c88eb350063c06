// Command notes prints the release notes of a version: its section of CHANGELOG.md. A version
// that the changelog or the chart does not have is an error, so that nothing is published
// under a name that they do not know:
//
//	cd tools/release && go run ./notes v0.1.0
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:], "../..", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

func run(args []string, source string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("one argument is wanted, the tag of the release, such as v0.1.0")
	}
	version, err := versionOf(args[0])
	if err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	chart, err := os.ReadFile(filepath.Join(source, "charts", "dashpot", "Chart.yaml"))
	if err != nil {
		return err
	}
	text, err := section(string(changelog), version)
	if err := errors.Join(err, checkChart(string(chart), version)); err != nil {
		return err
	}
	fmt.Fprintln(stdout, text)
	return nil
}

// tag is how releases are tagged: v and a semantic version.
var tag = regexp.MustCompile(`^v((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?)$`)

// versionOf is a tag's version, as images and the chart are called: without the v.
func versionOf(name string) (string, error) {
	match := tag.FindStringSubmatch(name)
	if match == nil {
		return "", fmt.Errorf("the tag is %q; it must be v and a semantic version, such as v0.1.0 or v0.2.0-rc.1", name)
	}
	return match[1], nil
}

// section is what a changelog says of a version, without the heading, which has the day of
// the release.
func section(changelog, version string) (string, error) {
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(version) + `\] - \d{4}-\d{2}-\d{2}$`)
	place := heading.FindStringIndex(changelog)
	if place == nil {
		return "", fmt.Errorf("CHANGELOG.md has no heading \"## [%s] - YYYY-MM-DD\"", version)
	}
	text := changelog[place[1]:]
	if next := regexp.MustCompile(`(?m)^(## |\[[^\]]+\]: )`).FindStringIndex(text); next != nil {
		text = text[:next[0]]
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing below [%s]", version)
	}
	return text, nil
}

// checkChart is an error unless the chart is of the version too, and takes its images by it.
func checkChart(chart, version string) error {
	var problems []error
	for _, key := range []string{"version", "appVersion"} {
		match := regexp.MustCompile(`(?m)^` + key + `: "?([^"\n]*)"?$`).FindStringSubmatch(chart)
		if len(match) < 2 || match[1] != version {
			problems = append(problems, fmt.Errorf("%s of charts/dashpot/Chart.yaml is not %s", key, version))
		}
	}
	return errors.Join(problems...)
}
