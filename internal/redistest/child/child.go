// Package child starts processes that never outlive the one that started
// them. Tests and the end-to-end harness run databases and control planes as
// plain processes; a panic, a timeout of go test or kill -9 must not leave
// them behind.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a child that has been started. It is reaped as soon as it ends,
// whether or not anyone waits for it.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; set before done is closed
}

// Start starts cmd in a process group of its own, tied to the life of this
// process.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = attributes()
	if err := startOnNursery(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		if p.err = cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, nil
}

// PID is the process id of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the child ended, and is never nil: a server that ends by itself
// has failed, whatever its status. It must only be asked after Done.
func (p *Process) Err() error { return p.err }

// Running reports whether the child has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the child. A child that has ended is an error, so
// that a test notices when it suspends something that is not there.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %s to %s: %w", sig, p.cmd.Path, err)
	}
	return nil
}

// Kill ends the child's whole group with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	p.killGroup()
	<-p.done
}

// Stop asks the child to end with SIGTERM, lets it go on if it was suspended,
// and kills it when it is still there after the grace period.
func (p *Process) Stop(grace time.Duration) {
	_ = p.Signal(syscall.SIGTERM) // already ended is what is wanted
	_ = p.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

func (p *Process) killGroup() {
	if !p.Running() {
		return // the id may belong to another process by now
	}
	if err := syscall.Kill(-p.PID(), syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
		_ = p.cmd.Process.Kill()
	}
}

// nursery is the one goroutine that forks. Linux sends the parent-death
// signal when the *thread* that forked ends, and the Go runtime ends threads
// as it likes: so that goroutine keeps one thread for itself, for ever.
var nursery = sync.OnceValue(func() chan<- func() {
	births := make(chan func())
	go func() {
		runtime.LockOSThread()
		for birth := range births {
			birth()
		}
	}()
	return births
})

func startOnNursery(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	nursery() <- func() { result <- cmd.Start() }
	return <-result
}
