package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"sort"
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
// it. The imports of the package must be found without its module: the standard library.
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
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := config.Check(dir, fset, files, info)
	if err != nil {
		return woven{}, err
	}

	w := &weaver{fset: fset, info: info, pkg: pkg, aliases: map[string]alias{}, seen: map[string]int{}}
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
