package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// subject is a package that is broken.
type subject struct {
	// Package is its directory below the module's root.
	Package string
	// Files matches the names of its files that are; nil for all.
	Files     *regexp.Regexp
	Detectors []detector
}

// The detectors' names.
const (
	byTests  = "tests"
	byOracle = "conformance"
)

// subjects are the packages that can be broken, in the order in which they are.
func subjects() []subject {
	return []subject{
		{Package: "pkg/algorithm", Detectors: []detector{
			// What make test runs that sees pkg/algorithm, the package's own tests first.
			tests("./pkg/algorithm", "./pkg/scaling"),
			// The comparison with Kubernetes' own code: short, because a difference that is
			// there shows within thousands of cases, not millions.
			{
				Name: byOracle, Module: filepath.Join("test", "conformance"),
				Packages:  []string{"."},
				Arguments: []string{"-calculations", "20000", "-reconciles", "10000", "-seed", "1"},
			},
		}},
		{Package: "pkg/activation", Detectors: []detector{tests("./pkg/activation", "./pkg/scaling")}},
		// What is remembered, how old that is, how two memories become one, and what is decided.
		{
			Package: "pkg/scaling", Files: regexp.MustCompile(`^(memory|record|scope|step|step_(decide|readings|sight))\.go$`),
			Detectors: []detector{tests("./pkg/scaling")},
		},
		{Package: "pkg/store/memstore", Detectors: []detector{tests("./pkg/store/memstore")}},
		{Package: "pkg/store/redisstore", Detectors: []detector{redisTests()}},
		{Package: "pkg/watch", Detectors: []detector{tests("./pkg/watch")}},
	}
}

// tests are those of packages of this module.
func tests(packages ...string) detector {
	return detector{Name: byTests, Module: ".", Packages: packages, Properties: []string{"./pkg/scaling"}}
}

// redisTests are those of the store in Redis that take a few seconds at most, with one
// server. What takes longer, as a Sentinel or a Cluster does, or measures time, is left out:
// a run would take an hour.
func redisTests() detector {
	d := tests("./pkg/store/redisstore")
	d.Without = regexp.MustCompile(`^Test(Conformance|Pokes|SentinelFailover|ClusterNodeThatHangsBarsNoOther|` +
		`BrokenConnectionsNeverSwapTwice|ConcurrentUseWhileRedisComesAndGoes|SuspendedServer)$`)
	return d
}

// breaks reports whether a mutant is in one of the subject's files.
func (s subject) breaks(m mutant) bool {
	return s.Files == nil || s.Files.MatchString(filepath.Base(m.File))
}

// survivors is the file with those that are known.
func (s subject) survivors(dir string) string {
	return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(s.Package, "pkg/"))+".txt")
}

// chosen are the subjects in a list of packages, each with those of the detectors that look
// at it. One that none looks at is left out.
func chosen(packages, detectors string) ([]subject, error) {
	names := map[string]bool{}
	for _, name := range strings.Split(detectors, ",") {
		if name != byTests && name != byOracle {
			return nil, fmt.Errorf("-detectors %q: there are %s and %s", name, byTests, byOracle)
		}
		names[name] = true
	}
	var found []subject
	for _, name := range strings.Split(packages, ",") {
		s, err := subjectOf(name)
		if err != nil {
			return nil, err
		}
		var looking []detector
		for _, d := range s.Detectors {
			if names[d.Name] {
				looking = append(looking, d)
			}
		}
		if s.Detectors = looking; len(looking) > 0 {
			found = append(found, s)
		}
	}
	return found, nil
}

func subjectOf(name string) (subject, error) {
	for _, s := range subjects() {
		if s.Package == strings.TrimSuffix(name, "/") {
			return s, nil
		}
	}
	return subject{}, fmt.Errorf("-package %q: there are %s", name, allPackages())
}

// allPackages is the list of all of them.
func allPackages() string {
	var names []string
	for _, s := range subjects() {
		names = append(names, s.Package)
	}
	return strings.Join(names, ",")
}
