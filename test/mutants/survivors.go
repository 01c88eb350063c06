package main

import (
	"fmt"
	"os"
	"strings"
)

// readSurvivors reads the known survivors: the reason by the mutant's Identity. A line
// that is not indented is an Identity; the indented lines below are the reason, and are
// that of every Identity since the last reason. # begins a comment.
func readSurvivors(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	var group, reason []string
	finish := func() error {
		if len(group) > 0 && len(reason) == 0 {
			return fmt.Errorf("%s: no reason for %s", path, group[0])
		}
		for _, identity := range group {
			if _, ok := known[identity]; ok {
				return fmt.Errorf("%s: %s is there twice", path, identity)
			}
			known[identity] = strings.Join(reason, " ")
		}
		group, reason = nil, nil
		return nil
	}
	for line := range strings.Lines(string(content)) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			reason = append(reason, text)
		default:
			if len(reason) > 0 {
				if err := finish(); err != nil {
					return nil, err
				}
			}
			group = append(group, text)
		}
	}
	return known, finish()
}

// judge compares the survivors with those known. whole says that every mutant was tried,
// so that a known one that is not among them is gone.
func judge(verdicts []verdict, known map[string]string, whole bool) error {
	var problems []string
	tried := map[string]bool{}
	for _, v := range verdicts {
		tried[v.Identity()] = true
		_, listed := known[v.Identity()]
		switch {
		case v.survives() && !listed:
			problems = append(problems, "survives, yet not listed: "+v.String())
		case !v.survives() && listed:
			problems = append(problems, "listed, yet caught: "+v.String())
		}
	}
	for identity := range known {
		if whole && !tried[identity] {
			problems = append(problems, "listed, yet gone: "+identity)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d differences from the known survivors:\n%s", len(problems), strings.Join(problems, "\n"))
}
