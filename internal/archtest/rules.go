package archtest

import (
	"path"
	"strings"
)

// Rule is one row of the import table. The standard library is always allowed,
// except to pure files.
type Rule struct {
	// Package is a path below the module's root. A * stands for one element, a
	// closing /... for everything below.
	Package string
	// Imports are the packages of this module that it may import.
	Imports []string
	// Outside are the import paths of other modules that it may import, and all
	// below them.
	Outside []string
	// Pure is the pattern of the files that must be pure: no context, no
	// input or output, no locks, no chance, no clock.
	Pure string
	// Anything lifts the limits on imports.
	Anything bool
}

// Rules is the import table. Data flows one way: source → activation → algorithm →
// store → servers, so nothing below pkg/scaling knows it, and no server knows
// another.
func Rules() []Rule {
	const (
		algorithm = "pkg/algorithm"
		scaling   = "pkg/scaling"
		metadata  = "pkg/metadata"
		egress    = "pkg/egress"
		recent    = "pkg/recent"
		apis      = "pkg/apis/v1alpha1"
		redis     = "github.com/redis/go-redis/v9"
		keda      = "github.com/kedacore/keda/v2"
	)
	return []Rule{
		{Package: algorithm, Pure: "*.go"},
		{Package: "pkg/activation", Pure: "*.go"},
		{Package: scaling, Imports: []string{algorithm, "pkg/activation"}, Pure: "step*.go"},
		{Package: metadata},
		{Package: egress},
		{Package: recent},
		{
			Package: "pkg/policy", Imports: []string{scaling, algorithm, metadata},
			Outside: []string{"sigs.k8s.io/yaml", "k8s.io/apimachinery/pkg/api/resource"},
		},
		{
			Package: "pkg/source", Imports: []string{scaling, algorithm, metadata, egress, recent},
			Outside: []string{
				redis, "github.com/robfig/cron/v3", "github.com/tidwall/gjson", "go.yaml.in/yaml/v3", "github.com/prometheus/common", "github.com/prometheus/client_model",
				"sigs.k8s.io/yaml", "k8s.io/apimachinery",
			},
		},
		{Package: "pkg/delegate", Outside: []string{"k8s.io", "sigs.k8s.io/yaml"}},
		{Package: "pkg/store/*", Imports: []string{scaling, algorithm, recent}, Outside: []string{redis}},
		{Package: apis, Outside: []string{"k8s.io/apimachinery"}},
		{Package: "pkg/cluster", Imports: []string{scaling, algorithm, apis}, Outside: []string{"k8s.io"}},
		{Package: "pkg/watch", Imports: []string{scaling}},
		{
			Package: "pkg/externalscaler", Imports: []string{scaling},
			Outside: []string{"google.golang.org/grpc", keda + "/pkg/scalers/externalscaler"},
		},
		{
			Package: "pkg/externalmetrics", Imports: []string{scaling},
			Outside: []string{"k8s.io", "sigs.k8s.io/custom-metrics-apiserver", "github.com/emicklei/go-restful/v3"},
		},
		{Package: "internal/...", Anything: true},
		{Package: "cmd/...", Anything: true},
		{Package: "test/...", Anything: true},
	}
}

// covers reports whether the rule is about a package.
func (r Rule) covers(pkg string) bool {
	if below, ok := strings.CutSuffix(r.Package, "/..."); ok {
		return within(pkg, below)
	}
	matched, err := path.Match(r.Package, pkg)
	return err == nil && matched
}

// allows reports whether an import that is not of the standard library is in the
// rule's row. pkg is the imported package below this module's root, empty if it is
// another module's.
func (r Rule) allows(importPath, pkg string) bool {
	if r.Anything {
		return true
	}
	if pkg != "" {
		for _, allowed := range r.Imports {
			if pkg == allowed {
				return true
			}
		}
		return false
	}
	for _, allowed := range r.Outside {
		if within(importPath, allowed) {
			return true
		}
	}
	return false
}

// pure reports whether a file has to be pure.
func (r Rule) pure(file string) bool {
	matched, err := path.Match(r.Pure, file)
	return err == nil && matched
}

// within reports whether a slash-separated path is root or below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }
