package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// replica is a process of the scaler or of the adapter.
type replica struct {
	name    string
	dir     string
	program string
	args    []string
	env     []string
	addr    string // where it answers
	// door is how the client reaches it, kubernetes how it reaches the API server.
	door, kubernetes *link

	mu      sync.Mutex
	process *child.Process
}

// startLimit is how long a process may take until it answers on a busy machine.
const startLimit = 2 * time.Minute

// start runs the process, and returns when it accepts connections.
func (r *replica) start(ctx context.Context) error {
	log, err := os.OpenFile(r.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.name, err)
	}
	defer log.Close() //nolint:errcheck // the child has a copy of its own
	cmd := exec.Command(r.program, r.args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(append(os.Environ(), "NO_PROXY=*", "no_proxy=*"), r.env...)
	process, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.name, err)
	}
	r.mu.Lock()
	r.process = process
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-process.Done():
			return fmt.Errorf("%s ended: %w\n%s", r.name, process.Err(), r.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", r.name, ctx.Err(), r.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// replaced ends the process as Kubernetes would, and starts another program in its place.
func (r *replica) replaced(ctx context.Context, program string, env ...string) error {
	r.current().Stop(20 * time.Second)
	r.program, r.env = program, env
	return r.start(ctx)
}

func (r *replica) kill() {
	if process := r.current(); process != nil {
		process.Kill()
	}
}

func (r *replica) current() *child.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

func (r *replica) logPath() string { return filepath.Join(r.dir, r.name+".log") }

func (r *replica) logTail() string {
	content, err := os.ReadFile(r.logPath())
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-2000):])
}
