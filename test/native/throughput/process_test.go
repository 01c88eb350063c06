//go:build e2e

package throughput_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// kedaProcesses are KEDA's two, the adapter and the operator that it asks: those that
// were given the cluster's certificates as a directory.
func kedaProcesses(t *testing.T, c *cluster.Cluster) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	directory := "--cert-dir=" + filepath.Join(filepath.Dir(c.Kubeconfig()), "pki")
	var pids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), directory) {
			continue // it has ended, or is another
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 2 {
		t.Fatalf("%d processes run with %s, want KEDA's adapter and operator", len(pids), directory)
	}
	return pids
}

// cpu is the processor time that processes have used.
func cpu(t *testing.T, pids []int) time.Duration {
	t.Helper()
	var total time.Duration
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		// After the name, which may hold anything: state is field 3, the times in user
		// and in kernel mode 14 and 15, in hundredths of a second.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatalf("process %d: %v", pid, err)
			}
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total
}

// memory is the resident memory of a process, at present and at its most.
func memory(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "VmHWM:") {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(found, ", ")
}
