//go:build e2e

package quickstart

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long a question is asked. The slowest answer is a workload's way
	// to zero, with both cooldowns: two minutes on a quiet machine.
	patience = 8 * time.Minute
	// askAgain is the time between two questions.
	askAgain = time.Second
)

// TestFollow does what the pages say.
func TestFollow(t *testing.T) {
	for _, name := range pages {
		t.Run(name, func(t *testing.T) { follow(t, page(t, name)) })
	}
}

func follow(t *testing.T, steps []Step) {
	t.Helper()
	env := filepath.Join("..", "..", "bin", "cluster.env")
	if err := os.Remove(env); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ended := background(t, steps[0].Script)
	for !exists(env) {
		select {
		case err := <-ended:
			t.Fatalf("line %d ended: %v", steps[0].Line, err)
		case <-time.After(askAgain):
		}
	}
	terminal := openShell(t)
	for _, step := range steps[1:] {
		if step.Question() {
			ask(t, terminal, step)
			continue
		}
		if output, err := terminal.execute(step.Script); err != nil {
			t.Fatalf("line %d: %v\n%s\n%s", step.Line, err, step.Script, output)
		}
	}
}

// ask asks until the answer is the one that the page shows.
func ask(t *testing.T, terminal *shell, step Step) {
	t.Helper()
	begin := time.Now()
	for {
		output, err := terminal.execute(step.Script)
		if Matches(step.Shown, output) {
			t.Logf("line %d, after %s:\n%s", step.Line, time.Since(begin).Round(time.Second), output)
			return
		}
		if time.Since(begin) > patience {
			t.Fatalf("line %d: %v\n%s\nprinted\n%s\nand the page shows\n%s", step.Line, err, step.Script, output, step.Shown)
		}
		time.Sleep(askAgain)
	}
}

// background types a script into a terminal of its own, which gets a Ctrl-C when the
// test ends: SIGINT to all that runs in it.
func background(t *testing.T, script string) (ended <-chan error) {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-c", script)
	command.Dir = filepath.Join("..", "..")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait(); close(done) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT)
		<-done
	})
	return done
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// shell is one bash in the checkout's root, which remembers variables and functions
// from one script to the next.
type shell struct {
	input  io.Writer
	output *bufio.Reader
	script string // file of the script that is typed
}

func openShell(t *testing.T) *shell {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "bash")
	command.Dir = filepath.Join("..", "..")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close() // which ends it
		_ = command.Wait()
	})
	return &shell{input, bufio.NewReader(output), filepath.Join(t.TempDir(), "script")}
}

// endMark ends what a script prints; its exit status follows.
const endMark = "\x04 "

// execute runs a script and returns what it prints to both of its outputs. It is an
// error if the last command fails.
func (s *shell) execute(script string) (string, error) {
	if err := os.WriteFile(s.script, []byte(script+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the script: %w", err)
	}
	if _, err := fmt.Fprintf(s.input, "source %s </dev/null; echo $'\\x04' $?\n", s.script); err != nil {
		return "", fmt.Errorf("type: %w", err)
	}
	var output strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		if err != nil {
			return output.String(), fmt.Errorf("read what is printed: %w", err)
		}
		text, status, ended := strings.Cut(line, endMark)
		output.WriteString(text)
		if !ended {
			continue
		}
		if status = strings.TrimSpace(status); status != "0" {
			return output.String(), fmt.Errorf("exit status %s", status)
		}
		return output.String(), nil
	}
}
