package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// verdict says whether a figure reached its goal.
type verdict string

const (
	met    verdict = "met"
	missed verdict = "missed"
	noGoal verdict = "" // a figure to know, without a goal
)

// judge turns a comparison into a verdict.
func judge(reached bool) verdict {
	if reached {
		return met
	}
	return missed
}

// measured is what a row came to, in words for the page.
type measured struct {
	Figure   string  `json:"figure"`
	Baseline string  `json:"baseline,omitempty"`
	Ratio    string  `json:"ratio,omitempty"`
	Verdict  verdict `json:"verdict,omitempty"`
	// Details are further figures, a line each.
	Details []string `json:"details,omitempty"`
	// Profile is the part of a profile that the page shows.
	Profile string `json:"profile,omitempty"`
}

// result is a measured row with where and when that was.
type result struct {
	measured

	Machine machine   `json:"machine"`
	Commit  string    `json:"commit"`
	At      time.Time `json:"at"`
	Seconds int       `json:"seconds"`
	// The load averages of one minute. Above half of the processors before a row, somebody
	// else was at work.
	LoadBefore float64 `json:"loadBefore"`
	LoadAfter  float64 `json:"loadAfter"`
}

// text is a result for the terminal.
func (r result) text(of row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  figure   %s\n", r.Figure)
	for _, field := range []struct{ name, value string }{
		{"baseline", r.Baseline}, {"ratio", r.Ratio}, {"goal", of.Goal}, {"verdict", string(r.Verdict)},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", field.name, field.value)
		}
	}
	for _, line := range r.Details {
		fmt.Fprintf(&b, "  · %s\n", line)
	}
	if r.Profile != "" {
		fmt.Fprintln(&b, r.Profile)
	}
	fmt.Fprintf(&b, "  %d s, load average %.1f before and %.1f after", r.Seconds, r.LoadBefore, r.LoadAfter)
	return b.String()
}

// results are the last result of each row, by its name.
type results map[string]result

// readResults reads a file of results. One that does not exist has none.
func readResults(path string) (results, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return results{}, nil
	case err != nil:
		return nil, err
	}
	all := results{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func (r results) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
