// Package quickstart reads pages of the documentation as scripts: its test does
// literally what they say, on a real control plane, and sees what they show.
//
// A page's blocks of the language sh are typed into one shell, in their order:
//
//   - A block that a text block follows is a question. It is asked until it answers
//     with that text, so it must change nothing.
//   - Any other is an order. It is given once, and must succeed.
//   - A page's first block keeps running: it is typed into a terminal of its own.
//
// In a text block … stands for any text within a line, and on a line of its own for
// any lines. How much white space there is does not count.
package quickstart

import (
	"fmt"
	"regexp"
	"strings"
)

// Step is one block of shell commands with what it should print.
type Step struct {
	// Line is the page's line at which the block begins.
	Line   int
	Script string
	// Shown is the pattern of what is printed; empty for an order.
	Shown string
}

// Question reports whether the step only asks.
func (s Step) Question() bool { return s.Shown != "" }

// Steps reads a page. A block that is neither sh nor the text that follows one is an
// error: nothing would check it.
func Steps(page string) ([]Step, error) {
	var steps []Step
	var block []string
	language, begin, answered := "", 0, true
	for i, line := range strings.Split(page, "\n") {
		fence, rest, fenced := strings.Cut(line, "```")
		switch {
		case !fenced || strings.TrimSpace(fence) != "":
			if language != "" {
				block = append(block, line)
			}
		case language == "":
			language, begin, block = rest, i+1, nil
			if language == "" {
				return nil, fmt.Errorf("line %d: a block without a language", begin)
			}
		default:
			text := strings.Join(block, "\n")
			switch {
			case language == "sh":
				steps = append(steps, Step{Line: begin, Script: text})
				answered = false
			case language == "text" && !answered:
				steps[len(steps)-1].Shown = text
				answered = true
			default:
				return nil, fmt.Errorf("line %d: a %s block that answers no sh block", begin, language)
			}
			language = ""
		}
	}
	if language != "" {
		return nil, fmt.Errorf("line %d: a block without an end", begin)
	}
	return steps, nil
}

// Matches reports whether an output is what a page shows.
func Matches(shown, output string) bool {
	var pattern strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(shown), "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		var words []string
		for _, word := range strings.Fields(line) {
			words = append(words, strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
		}
		pattern.WriteString(`[ \t]*` + strings.Join(words, `[ \t]+`) + `[ \t]*\n`)
	}
	text := strings.TrimSpace(output) + "\n"
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(text)
}
