package main

import (
	"os"
	"strings"
	"testing"
)

// TestCurrent: the checkout's file is of what is linked now.
func TestCurrent(t *testing.T) {
	want, err := generate(t.Context(), "../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../" + fileName)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not of what is linked now: run make licenses", fileName)
	}
}

func TestPage(t *testing.T) {
	const (
		mit = "Copyright A\n\nPermission is hereby granted,\nfree of charge, to anybody"
		bsd = "Redistribution and use in source and binary forms. "
	)
	text, err := page([]module{
		{path: "example.org/a", version: "v1.0.0", texts: map[string]string{"LICENSE": mit + "\r\n", "third_party/LICENSE": bsd + "Neither the name of X"}},
		{path: "example.org/b", version: "v2.0.0", texts: map[string]string{"LICENSE": mit, "NOTICE": "made by B"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| example.org/a | v1.0.0 | BSD-3-Clause, MIT |\n| example.org/b | v2.0.0 | MIT |\n",
		"\n## example.org/a LICENSE, example.org/b LICENSE\n\n```text\nCopyright A\n",
		"\n## example.org/b NOTICE\n\n```text\nmade by B\n```\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no\n%s\nit is\n%s", want, text)
		}
	}
	if n := strings.Count(text, "Copyright A"); n != 1 {
		t.Errorf("a text that two modules have stands there %d times; want once", n)
	}
}

func TestKindOf(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms"
	for _, c := range []struct{ text, want, problem string }{
		{text: "Apache License\n  Version 2.0, January 2004", want: "Apache-2.0"},
		{text: "Licensed under the Apache License, Version 2.0 (the \"License\")", want: "Apache-2.0"},
		{text: bsd, want: "BSD-2-Clause"},
		{text: bsd + "\nNeither the\nname of", want: "BSD-3-Clause"},
		{text: "Permission to use, copy, modify, and/or distribute this software", want: "ISC"},
		{text: "Permission is hereby granted, free of charge, and\nApache License Version 2.0", want: "Apache-2.0, MIT"},
		{text: "GNU GENERAL PUBLIC LICENSE Version 3", problem: "general public license"},
		{text: "All rights reserved.", problem: "no licence that is known"},
	} {
		got, err := kindOf(c.text)
		switch {
		case c.problem == "" && (err != nil || got != c.want):
			t.Errorf("%q is %q, %v; want %q", c.text, got, err, c.want)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q is %q, %v; want an error with %q", c.text, got, err, c.problem)
		}
	}
}

// TestWithoutLicence: a module that shows a notice only, or nothing that is known, is an error
// that names it.
func TestWithoutLicence(t *testing.T) {
	for _, texts := range []map[string]string{{"NOTICE": "made by B"}, {"LICENSE": "ask us"}} {
		if _, err := page([]module{{path: "example.org/c", texts: texts}}); err == nil || !strings.Contains(err.Error(), "example.org/c") {
			t.Errorf("texts %v: %v; want an error that names the module", texts, err)
		}
	}
}
