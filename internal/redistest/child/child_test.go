package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable turns this test binary into a parent that starts a child,
// prints its id and waits to be killed.
const parentVariable = "DASHPOT_TEST_CHILD_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		os.Exit(m.Run())
	}
	process, err := Start(exec.Command("sleep", "600"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(process.PID())
	select {}
}

func TestChildDiesWithAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux has a parent-death signal")
		return
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	if !alive(pid) {
		t.Fatal("the child is dead before its parent")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for alive(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the child outlives its parent")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reads /proc, where a child that nobody has reaped yet is a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestStopAndKill(t *testing.T) {
	for name, end := range map[string]func(*Process){
		"stop": func(p *Process) { p.Stop(time.Minute) },
		"kill": (*Process).Kill,
	} {
		process, err := Start(exec.Command("sleep", "600"))
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		end(process)
		end(process)
		if process.Running() || process.Err() == nil {
			t.Errorf("%s: running %v, err %v", name, process.Running(), process.Err())
		}
	}
}

func TestFreePortsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Errorf("port %d twice", port)
		}
		seen[port] = true
	}
}
