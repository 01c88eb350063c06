package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// file is one production source file.
type file struct {
	path  string // below the module's root
	lines int
	set   *token.FileSet
	tree  *ast.File
}

func (f file) pkg() string { return path.Dir(f.path) }

func (f file) line(at token.Pos) int { return f.set.Position(at).Line }

// module is the production source of one Go module.
type module struct {
	name  string
	files []file
}

// load reads the module below root: not the modules inside it, no tests, nothing
// generated.
func load(root fs.FS) (module, error) {
	name, err := moduleName(root)
	if err != nil {
		return module{}, err
	}
	m := module{name: name}
	err = fs.WalkDir(root, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped(root, p):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		return m.add(root, p)
	})
	if err != nil {
		return module{}, fmt.Errorf("read the module's source: %w", err)
	}
	return m, nil
}

func moduleName(root fs.FS) (string, error) {
	content, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", errors.New("go.mod names no module")
}

// skipped reports whether a directory is none of the module's: hidden, test data,
// or another module.
func skipped(root fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func (m *module) add(root fs.FS, p string) error {
	content, err := fs.ReadFile(root, p)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, p, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(tree) {
		m.files = append(m.files, file{path: p, lines: bytes.Count(content, []byte("\n")), set: set, tree: tree})
	}
	return nil
}

// below returns an import path as a path below the module's root, empty if it is
// another module's.
func (m *module) below(importPath string) string {
	if below, ok := strings.CutPrefix(importPath, m.name+"/"); ok {
		return below
	}
	return ""
}

// imported is one import of a file.
type imported struct {
	path string
	// name is what the file calls it: the last element unless it says otherwise.
	name string
	at   token.Pos
}

func (f file) imports() []imported {
	list := make([]imported, 0, len(f.tree.Imports))
	for _, spec := range f.tree.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it
		}
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		list = append(list, imported{importPath, name, spec.Pos()})
	}
	return list
}

// standard reports whether an import path is of the standard library: its first
// element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
