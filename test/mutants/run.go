package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// verdict is what became of a mutant.
type verdict struct {
	mutant
	// Package is the subject's.
	Package string
	// Caught says by detector how the mutant was caught, "" if it was not.
	Caught map[string]string
}

func (v verdict) survives() bool {
	for _, how := range v.Caught {
		if how != "" {
			return false
		}
	}
	return true
}

// run is a whole search for what nobody notices.
type run struct {
	Subject  subject
	Only     *regexp.Regexp
	Workers  int
	Progress io.Writer
}

// Do tries every mutant with every detector. It is an error if the tests fail without one.
func (r run) Do(ctx context.Context) ([]verdict, error) {
	pkg, err := weavePackage(filepath.FromSlash(r.Subject.Package))
	if err != nil {
		return nil, fmt.Errorf("weave %s: %w", r.Subject.Package, err)
	}
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	overlay, err := writeOverlay(work, pkg.Files)
	if err != nil {
		return nil, err
	}
	var verdicts []verdict
	for _, m := range pkg.Mutants {
		if r.Only.MatchString(m.String()) && r.Subject.breaks(m) {
			verdicts = append(verdicts, verdict{m, r.Subject.Package, map[string]string{}})
		}
	}
	for _, d := range r.Subject.Detectors {
		began := time.Now()
		programs, err := d.build(ctx, work, overlay)
		if err != nil {
			return nil, err
		}
		tried := time.Now()
		if err := r.try(ctx, d, programs, verdicts); err != nil {
			return nil, err
		}
		fmt.Fprintf(r.Progress, "%s, %s: %d mutants in %s, after %s without one\n", r.Subject.Package, d.Name, len(verdicts),
			time.Since(tried).Round(time.Second), tried.Sub(began).Round(time.Second))
	}
	return verdicts, nil
}

// try has a detector look at all mutants.
func (r run) try(ctx context.Context, d detector, programs []program, verdicts []verdict) error {
	next := make(chan int, len(verdicts))
	for i := range verdicts {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	done := 0
	for range r.Workers {
		workers.Go(func() {
			for i := range next {
				how, err := caught(ctx, programs, verdicts[i].mutant)
				mu.Lock()
				verdicts[i].Caught[d.Name] = how
				if done++; done%200 == 0 {
					fmt.Fprintf(r.Progress, "%s, %s: %d of %d mutants\n", r.Subject.Package, d.Name, done, len(verdicts))
				}
				if err != nil {
					failures = append(failures, err)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return errors.Join(failures...)
}

// caught says how the tests notice a mutant, "" if they do not.
func caught(ctx context.Context, programs []program, m mutant) (string, error) {
	for _, p := range programs {
		how, err := p.catch(ctx, m)
		if how != "" || err != nil {
			return how, err
		}
	}
	return "", nil
}

// writeOverlay writes the files of the woven package and the overlay that puts them in
// the place of those in the checkout.
func writeOverlay(work string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for path, content := range files {
		replace[path] = filepath.Join(work, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(work, "overlay.json")
	return path, os.WriteFile(path, content, 0o600)
}
