package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// profileCPU keeps a profile of the scaler's next seconds, if the command line asks for
// any. What it returns waits until that is done.
func (l *lab) profileCPU(ctx context.Context, p *program) func() error {
	if l.profiles == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		seconds := int(l.lasts(profileLasts).Seconds())
		done <- p.keepProfile(ctx, fmt.Sprintf("profile?seconds=%d", seconds), filepath.Join(l.profiles, l.row+".cpu"))
	}()
	return func() error { return <-done }
}

// profileLasts is within what every load lasts.
const profileLasts = 15 * time.Second

// profile returns one of the scaler's profiles.
func (p *program) profile(ctx context.Context, kind string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.profiles+"/debug/pprof/"+kind, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("profile %s: %s: %s", kind, response.Status, data)
	}
	return data, nil
}

// keepProfile writes one of the scaler's profiles to a file.
func (p *program) keepProfile(ctx context.Context, kind, path string) error {
	data, err := p.profile(ctx, kind)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// heapAlloc is the line of a heap profile in words that has the heap's size before the
// profile itself, of a megabyte and more, was written.
var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// heap is what is alive after two collections: what is pooled survives one.
func (p *program) heap(ctx context.Context) (mebibytes, error) {
	var words []byte
	for range 2 {
		var err error
		if words, err = p.profile(ctx, "heap?gc=1&debug=1"); err != nil {
			return 0, err
		}
	}
	found := heapAlloc.FindSubmatch(words)
	if found == nil {
		return 0, errors.New("the heap profile does not say HeapAlloc")
	}
	bytes, err := strconv.ParseFloat(string(found[1]), 64)
	return mebibytes(bytes / (1 << 20)), err
}

// heapLines is how many functions of a heap profile the page shows.
const heapLines = 14

// keepHeap writes a profile of what is alive in the scaler after a collection.
func (l *lab) keepHeap(ctx context.Context, p *program, name string) (path string, err error) {
	path = filepath.Join(l.dir, name)
	if l.profiles != "" {
		path = filepath.Join(l.profiles, l.row+"."+name)
	}
	return path, p.keepProfile(ctx, "heap?gc=1", path)
}

// heapProfile is what is alive in the scaler after a collection, by the function that
// allocated it, the largest first; less what was in an earlier profile, unless its path is
// empty.
func (l *lab) heapProfile(ctx context.Context, p *program, earlier string) (string, error) {
	path, err := l.keepHeap(ctx, p, "heap")
	if err != nil {
		return "", err
	}
	arguments := []string{"tool", "pprof", "-sample_index=inuse_space", "-unit=MB", fmt.Sprintf("-nodecount=%d", heapLines), "-top"}
	if earlier != "" {
		arguments = append(arguments, "-base="+earlier)
	}
	out, err := exec.CommandContext(ctx, "go", append(arguments, l.scaler, path)...).Output()
	if err != nil {
		return "", fmt.Errorf("read the heap profile: %w", err)
	}
	// The first lines name the file, its build and its time.
	_, table, ok := strings.Cut(string(out), "Showing nodes")
	if !ok {
		return "", fmt.Errorf("go tool pprof printed no table:\n%s", out)
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(lines[i], "github.com/dashpot-project/dashpot/", ""), " ")
	}
	return strings.Join(lines[1:], "\n"), nil
}
