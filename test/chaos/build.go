package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// clockVariable gives a program of the kind wrongClock a wall clock that is wrong by so
// many seconds.
const clockVariable = "CHAOS_CLOCK"

// programs are the paths of what is run.
type programs struct {
	scaler, adapter string
	// newScaler and newAdapter write records of the next layout, and read the present one.
	newScaler, newAdapter string
	// wrongClock is the scaler with a wall clock that can be wrong.
	wrongClock string
}

// The variants of programs that some faults need.
const (
	nextLayout = "next"
	faultClock = "clock"
)

// build compiles the programs, with the variants that are needed, into a directory. The
// variants are made by go build's overlays: the checkout is not touched. The one of the
// wall clock changes the standard library, so that all is compiled anew: ten minutes on
// two cores, once.
func build(ctx context.Context, dir string, variants map[string]bool) (programs, error) {
	p := programs{}
	err := errors.Join(
		compile(ctx, dir, &p.scaler, "scaler", ""),
		compile(ctx, dir, &p.adapter, "adapter", ""))
	if variants[nextLayout] && err == nil {
		var list string
		if list, err = overlay(dir, nextLayout, "pkg/scaling/record.go", "const RecordVersion = 1\n", "const RecordVersion = 2\n"); err == nil {
			err = errors.Join(
				compile(ctx, dir, &p.newScaler, "scaler", list),
				compile(ctx, dir, &p.newAdapter, "adapter", list))
		}
	}
	if variants[faultClock] && err == nil {
		var list string
		if list, err = overlayClock(ctx, dir); err == nil {
			err = compile(ctx, dir, &p.wrongClock, "scaler", list)
		}
	}
	return p, err
}

// compile builds a command, with an overlay if it is not empty, and sets its path.
func compile(ctx context.Context, dir string, path *string, program, overlay string) error {
	*path = filepath.Join(dir, program)
	if overlay != "" {
		*path += "-" + strings.TrimSuffix(filepath.Base(overlay), ".json")
	}
	args := []string{"build", "-o", *path, "-overlay", overlay}
	out, err := exec.CommandContext(ctx, "go", append(args, "github.com/dashpot-project/dashpot/cmd/"+program)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", *path, err, out)
	}
	return nil
}

// overlayClock is the overlay of a standard library with a wrong wall clock.
func overlayClock(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find Go: %w", err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n"
	const local = "\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}"
	return overlay(dir, faultClock, filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"),
		"import (\n", "import (\n\t\"syscall\"\n",
		now+local, now+"\tsec += wrongBy\n"+local,
		"\nfunc unixTime(", `
// wrongBy is by how many seconds the wall clock of this program is wrong.
var wrongBy = func() int64 {
	text, _ := syscall.Getenv("`+clockVariable+`")
	seconds, _ := atoi(text)
	return int64(seconds)
}()

func unixTime(`)
}

// overlay writes a changed copy of a file, and returns the path of go build's overlay.
// edits are pairs of a text that is in the file once and what takes its place.
func overlay(dir, name, path string, edits ...string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("make a variant: %w", err)
	}
	text := string(content)
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(text, edits[i]) != 1 {
			return "", fmt.Errorf("make a variant of %s: it has not once %q", path, edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	changed, list := filepath.Join(dir, name+".go"), filepath.Join(dir, name+".json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(list, replace, 0o600))
}

// clockSetting is the environment of a program whose wall clock is wrong by so much.
func clockSetting(by time.Duration) string {
	return fmt.Sprintf("%s=%d", clockVariable, int(by.Seconds()))
}
