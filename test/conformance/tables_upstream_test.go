package conformance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// upstreamTest is a test function of upstream's and its cases.
type upstreamTest struct {
	name  string
	cases []string
}

// upstreamTests reads a file of upstream's tests in the module cache.
func upstreamTests(t *testing.T, file string) []upstreamTest {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("where is k8s.io/kubernetes? %v", err)
	}
	path := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "controller", "podautoscaler", file)
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var tests []upstreamTest
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		cases, err := casesOf(f)
		if err != nil {
			t.Fatalf("%s: %v", f.Name.Name, err)
		}
		tests = append(tests, upstreamTest{f.Name.Name, cases})
	}
	return tests
}

// casesOf are the entries of the tables that a test function loops over; of one without a
// table the runs, "#1", "#2"; or "" if there is only one.
func casesOf(f *ast.FuncDecl) ([]string, error) {
	tables := map[string]*ast.CompositeLit{}
	var cases []string
	var failure error
	subtests, runs := false, 0
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if table, ok := n.Rhs[0].(*ast.CompositeLit); ok {
				if name, ok := n.Lhs[0].(*ast.Ident); ok {
					tables[name.Name] = table
				}
			}
		case *ast.RangeStmt:
			table, _ := n.X.(*ast.CompositeLit)
			if name, ok := n.X.(*ast.Ident); ok {
				table = tables[name.Name]
			}
			if table != nil && failure == nil {
				var names []string
				names, failure = entries(table)
				cases = append(cases, names...)
			}
		case *ast.CallExpr:
			switch calledName(n) {
			case "t.Run":
				subtests = true
			case "runTest", "runTestWithController", "assertResourceReplicas":
				runs++
			}
		}
		return true
	})
	switch {
	case failure != nil || cases != nil:
		return cases, failure
	case subtests:
		return nil, fmt.Errorf("it has subtests, and no table that can be read")
	case runs > 1:
		for i := range runs {
			cases = append(cases, fmt.Sprintf("#%d", i+1))
		}
		return cases, nil
	}
	return []string{""}, nil
}

// calledName is the name of the method that a call is of, t.Run with its receiver.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "t" {
			return "t." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}

// entries are the names of a table's: the key of a map, the field called name or
// annotation, the first of fields without names, or the value itself.
func entries(table *ast.CompositeLit) ([]string, error) {
	var names []string
	for _, e := range table.Elts {
		name, err := entryName(e)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func entryName(entry ast.Expr) (string, error) {
	switch e := entry.(type) {
	case *ast.KeyValueExpr:
		return entryName(e.Key)
	case *ast.Ident:
		return e.Name, nil
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return strconv.Unquote(e.Value)
		}
	case *ast.CompositeLit:
		for i, field := range e.Elts {
			named, ok := field.(*ast.KeyValueExpr)
			switch {
			case ok && isName(named.Key):
				return entryName(named.Value)
			case !ok && i == 0:
				return entryName(field)
			}
		}
	}
	return "", fmt.Errorf("an entry of its table has no name that can be read")
}

func isName(field ast.Expr) bool {
	key, ok := field.(*ast.Ident)
	return ok && (key.Name == "name" || key.Name == "annotation")
}
