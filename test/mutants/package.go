package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// woven is a package with all its mutants in it.
type woven struct {
	Mutants []mutant
	// Files are the new contents by absolute path: those of the package, and one more
	// that decides which mutant is alive.
	Files map[string]string
}

// weavePackage reads the package in dir, without its tests, and weaves every mutant into
// it.
func weavePackage(dir string) (woven, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return woven{}, err
	}
	paths, err := sources(dir)
	if err != nil {
		return woven{}, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return woven{}, err
		}
		files = append(files, file)
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	imports, err := exported(dir, files)
	if err != nil {
		return woven{}, err
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", imports)}
	pkg, err := config.Check(dir, fset, files, info)
	if err != nil {
		return woven{}, err
	}

	w := &weaver{
		fset: fset, info: info, pkg: pkg, aliases: map[string]alias{}, seen: map[string]int{},
		bound: bound(files, info),
	}
	result := woven{Files: map[string]string{}}
	for i, file := range files {
		content, err := os.ReadFile(paths[i])
		if err != nil {
			return woven{}, err
		}
		result.Files[paths[i]] = w.file(file, string(content))
	}
	result.Files[filepath.Join(dir, "zz_mutants.go")] = w.chooser()
	result.Mutants = w.mutants
	return result, nil
}

// exported opens what the compiler has exported of the packages that the files import.
func exported(dir string, files []*ast.File) (importer.Lookup, error) {
	wanted := map[string]bool{}
	for _, file := range files {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			wanted[path] = true
		}
	}
	at := map[string]string{}
	if len(wanted) > 0 {
		list := exec.Command("go", append([]string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Sorted(maps.Keys(wanted))...)...)
		list.Dir, list.Stderr = dir, os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("find what %s imports: %w", dir, err)
		}
		for line := range strings.Lines(string(out)) {
			path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
			at[path] = export
		}
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(at[path]) }, nil
}

// bound are where the constants are declared that have to stay constant: the lengths of
// arrays are made of them, or they are numbers without a type that is used as several.
// They are changed where they are used.
func bound(files []*ast.File, info *types.Info) map[token.Pos]bool {
	found := map[token.Pos]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ArrayType:
				if n.Len != nil {
					ast.Inspect(n.Len, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok && info.Uses[id] != nil {
							found[info.Uses[id].Pos()] = true
						}
						return true
					})
				}
			case *ast.Ident:
				if c, ok := info.Uses[n].(*types.Const); ok && !types.Identical(info.TypeOf(n), types.Default(c.Type())) {
					found[c.Pos()] = true
				}
			}
			return true
		})
	}
	return found
}

// sources are the Go files of a directory that are no tests, sorted.
func sources(dir string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, path := range all {
		if !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	sort.Strings(paths)
	return paths, nil
}
