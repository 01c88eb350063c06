package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// machine is what a figure depends on.
type machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	MemoryGiB int    `json:"memoryGiB"`
	System    string `json:"system"`
	Go        string `json:"go"`
}

func (m machine) String() string {
	return fmt.Sprintf("%d × %s, %d GiB, %s, %s", m.Cores, m.Processor, m.MemoryGiB, m.System, m.Go)
}

func thisMachine() machine {
	kib, _ := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"))
	return machine{
		Processor: cmp.Or(field("/proc/cpuinfo", "model name"), runtime.GOARCH),
		Cores:     runtime.NumCPU(), MemoryGiB: (kib + 1<<19) >> 20,
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
}

// field is the first value of a name in one of the kernel's files of "name: value" lines;
// empty if there is none.
func field(path, name string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // it is only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is the mean number of runnable processes over the last minute; 0 where the
// system does not tell.
func loadAverage() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// commit names what is checked out, with a + if it was changed outside this program's own
// files.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no",
		"--", "*.go", ":!test/bench", "go.mod", "go.sum").Output()
	if err != nil || len(changed) > 0 {
		name += "+"
	}
	return name
}
