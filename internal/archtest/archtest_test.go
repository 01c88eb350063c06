package archtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestArchitecture checks this module.
func TestArchitecture(t *testing.T) {
	faults, err := Check(os.DirFS("../.."), Rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// fixture is a module of two packages that breaks no rule.
func fixture() fstest.MapFS {
	return fstest.MapFS{
		"go.mod":                     source("module example.com/m", "", "go 1.26"),
		"pkg/pure/pure.go":           source("package pure", `import "time"`, "type D = time.Duration", "const S = time.Second"),
		"pkg/pure/pure_test.go":      source("package pure", `import "os"`, "var _ = os.Args"),
		"pkg/server/server.go":       source("package server", "import (", `"net"`, `"example.com/m/pkg/pure"`, `"lib.example/grpc/codes"`, ")"),
		"cmd/tool/main.go":           source("package main", "import (", `"example.com/m/pkg/server"`, `"other.example/flags"`, ")"),
		"nested/go.mod":              source("module example.com/nested"),
		"nested/util/util.go":        source("package util"),
		"pkg/pure/testdata/extra.go": source("package broken", `import "example.com/m/pkg/server"`),
		".hidden/hidden.go":          source("this is no Go"),
	}
}

func fixtureRules() []Rule {
	return []Rule{
		{Package: "pkg/pure", Pure: "*.go"},
		{Package: "pkg/server", Imports: []string{"pkg/pure"}, Outside: []string{"lib.example/grpc"}},
		{Package: "cmd/...", Anything: true},
	}
}

func source(lines ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
}

func TestCheckAcceptsTheFixture(t *testing.T) {
	if faults, err := Check(fixture(), fixtureRules()); err != nil || len(faults) > 0 {
		t.Fatalf("faults %q, error %v; want none", faults, err)
	}
}

func TestCheckFindsABreach(t *testing.T) {
	pure := func(lines ...string) fstest.MapFS {
		return fstest.MapFS{"pkg/pure/more.go": source(append([]string{"package pure"}, lines...)...)}
	}
	server := func(lines ...string) fstest.MapFS {
		return fstest.MapFS{"pkg/server/more.go": source(append([]string{"package server"}, lines...)...)}
	}
	tests := []struct {
		name string
		add  fstest.MapFS
		want string
	}{
		{"edge against the flow", pure(`import "example.com/m/pkg/server"`), "pkg/pure/more.go:2: pkg/pure may not import example.com/m/pkg/server"},
		{"edge to a program", server(`import "example.com/m/cmd/tool"`), "pkg/server may not import example.com/m/cmd/tool"},
		{"library of nobody's row", server(`import "other.example/flags"`), "pkg/server may not import other.example/flags"},
		{"library whose name only begins alike", server(`import "lib.example/grpcurl"`), "pkg/server may not import lib.example/grpcurl"},
		{"library in pure code", pure(`import "lib.example/grpc"`), "pkg/pure may not import lib.example/grpc"},
		{"context in pure code", pure(`import "context"`), "more.go:2: pure code may not import context"},
		{"network in pure code", pure(`import "net/http"`), "pure code may not import net/http"},
		{"files in pure code", pure(`import "os"`), "pure code may not import os"},
		{"logging in pure code", pure(`import "log/slog"`), "pure code may not import log/slog"},
		{"lock in pure code", pure(`import "sync/atomic"`), "pure code may not import sync/atomic"},
		{"chance in pure code", pure(`import "math/rand/v2"`), "pure code may not import math/rand/v2"},
		{"clock called", pure(`import "time"`, "func f() { time.Sleep(1) }"), "more.go:3: pure code may not use time.Sleep"},
		{"clock as a value", pure(`import "time"`, "var now = time.Now"), "pure code may not use time.Now"},
		{"clock by another name", pure(`import t "time"`, "func f() { t.Since(t.Time{}) }"), "pure code may not use time.Since"},
		{"clock without a name", pure(`import . "time"`, "func f() { Now() }"), "import time with a dot"},
		{"unlisted package", fstest.MapFS{"pkg/extra/extra.go": source("package extra")}, "package pkg/extra is not in the import table"},
		{"unlisted package below a listed one", fstest.MapFS{"pkg/pure/sub/sub.go": source("package sub")}, "package pkg/pure/sub is not in the import table"},
		{"package util", fstest.MapFS{"cmd/util/util.go": source("package util")}, "package name util says nothing"},
		{"package common in a directory of another name", fstest.MapFS{"cmd/tool/x/x.go": source("package common")}, "package name common says nothing"},
		{"interface of four", server("type I interface { A(); B(); C(); D() }"), "more.go:2: an interface of 4 methods"},
		{"interface of four, two embedded", server("type I interface { J; A(); B() }", "type J interface { C(); D() }"), "an interface of 4 methods"},
		{"nameless interface of four", server("var _ = any(0).(interface { A(); B(); C(); D() })"), "an interface of 4 methods"},
		{"long file", server(strings.Repeat("// line\n", 400)), "402 lines; a file has at most 400"},
		{"long function", server("func f() {", strings.Repeat("\n", 60), "}"), "f has 61 lines; a function has at most 60"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := fixture()
			for path, file := range test.add {
				tree[path] = file
			}
			faults, err := Check(tree, fixtureRules())
			if err != nil {
				t.Fatal(err)
			}
			if len(faults) != 1 || !strings.Contains(faults[0], test.want) {
				t.Errorf("faults %q; want one with %q", faults, test.want)
			}
		})
	}
}

func TestCheckLeavesTheAllowedAlone(t *testing.T) {
	tree := fixture()
	tree["pkg/server/generated.go"] = source("// Code generated by a program. DO NOT EDIT.", "package server", strings.Repeat("\n", 500))
	tree["pkg/server/more.go"] = source("package server", "type I interface { A(); B(); error }", "func f() {", strings.Repeat("\n", 59), "}")
	tree["cmd/tool/large.go"] = source("package main", "type I interface { A(); B(); C(); D(); E() }")
	if faults, err := Check(tree, fixtureRules()); err != nil || len(faults) > 0 {
		t.Errorf("faults %q, error %v; want none", faults, err)
	}
}

func TestCheckFindsARowOfNoPackage(t *testing.T) {
	faults, err := Check(fixture(), append(fixtureRules(), Rule{Package: "pkg/gone"}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "row pkg/gone of the import table is about no package; remove it"; fmt.Sprint(faults) != "["+want+"]" {
		t.Errorf("faults %q; want %q", faults, want)
	}
}

func TestCheckReportsUnreadableSource(t *testing.T) {
	broken := fixture()
	broken["cmd/tool/broken.go"] = source("package")
	headless := fixture()
	delete(headless, "go.mod")
	for name, tree := range map[string]fstest.MapFS{"syntax": broken, "no go.mod": headless} {
		if _, err := Check(tree, fixtureRules()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
