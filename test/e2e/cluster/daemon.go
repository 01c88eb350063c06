package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

const (
	pollPeriod = 50 * time.Millisecond
	tailBytes  = 3000
)

// daemon is a process of the cluster, with its log. It can be started again
// after it ended.
type daemon struct {
	name    string
	path    string
	args    []string
	env     []string // added to the harness's own
	logPath string
	process *child.Process
}

// launch starts a daemon that Stop will end.
func (c *Cluster) launch(name, path string, args []string, env ...string) (*daemon, error) {
	d := &daemon{name: name, path: path, args: args, env: env, logPath: c.logPath(name)}
	if err := d.start(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.daemons = append(c.daemons, d)
	return d, nil
}

func (d *daemon) start() error {
	log, err := os.OpenFile(d.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", d.name, err)
	}
	defer log.Close() //nolint:errcheck // the child has a copy of its own
	cmd := exec.Command(d.path, d.args...)
	cmd.Stdout, cmd.Stderr = log, log
	// Everything is on loopback: a proxy of the environment is never meant.
	cmd.Env = append(append(os.Environ(), "NO_PROXY=*", "no_proxy=*"), d.env...)
	process, err := child.Start(cmd)
	if err != nil {
		return err
	}
	d.process = process
	return nil
}

// await waits until the daemon is ready. When it ends or does not get there,
// the error has the end of its log.
func (d *daemon) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	process := d.process // a later start replaces it
	go func() {
		select {
		case <-process.Done():
			ended(fmt.Errorf("it ended: %w", process.Err()))
		case <-ctx.Done():
		}
	}()
	if err := eventually(ctx, ready); err != nil {
		return fmt.Errorf("%s: %w\n--- end of %s\n%s", d.name, err, d.logPath, d.tail())
	}
	return nil
}

func (d *daemon) kill()          { d.process.Kill() }
func (d *daemon) stop()          { d.process.Stop(30 * time.Second) }
func (d *daemon) suspend() error { return d.process.Signal(syscall.SIGSTOP) }
func (d *daemon) resume() error  { return d.process.Signal(syscall.SIGCONT) }
func (d *daemon) alive() bool    { return d.process.Running() }
func (d *daemon) pid() int       { return d.process.PID() }

// tail is the end of the log.
func (d *daemon) tail() string {
	content, err := os.ReadFile(d.logPath)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-tailBytes):])
}

// eventually repeats attempt until it succeeds or the context ends; the error
// has both the context's cause and the last failure.
func eventually(ctx context.Context, attempt func(context.Context) error) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
