// Package redistest runs real Redis servers for tests: one server, a cluster,
// or a primary with a replica and a sentinel. It brings its own server (see
// [Binary]) and fails, never skips, when it cannot.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

const (
	startTimeout = 20 * time.Second
	stopGrace    = 3 * time.Second
	pollPeriod   = 10 * time.Millisecond
)

// Server is a Redis server on a port of its own. It survives being killed,
// suspended and restarted: the address stays the same.
type Server struct {
	dir  string
	port int
	args []string
	env  []string // added to this process's own
	// sentinel is the configuration that makes it a sentinel; empty for a server of data.
	sentinel string
	fail     func(error) // how a fault that cannot be injected is reported

	mu      sync.Mutex
	process *child.Process
}

// Option changes how a server is started.
type Option func(*Server)

// WithArgs adds arguments to the server's command line, such as
// "--appendonly", "yes" for data that survives a restart.
func WithArgs(args ...string) Option {
	return func(s *Server) { s.args = append(s.args, args...) }
}

// OnPort has the server listen on a port of the caller's, from child.FreePort, for those
// who have to know it before the server runs.
func OnPort(port int) Option {
	return func(s *Server) { s.port = port }
}

// WithEnv adds variables, each NAME=value, to the server's environment, such as those
// that give it another clock.
func WithEnv(variables ...string) Option {
	return func(s *Server) { s.env = append(s.env, variables...) }
}

// AsSentinel makes the server a sentinel with a configuration, which it rewrites as the
// primary changes and finds again when it restarts.
func AsSentinel(configuration string) Option {
	return func(s *Server) { s.sentinel = configuration }
}

// Start runs a server until the test ends.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	server, err := Launch(opts...)
	if err != nil {
		tb.Fatalf("start a Redis server: %v", err)
	}
	server.fail = func(err error) {
		tb.Helper()
		tb.Errorf("redistest: %v", err)
	}
	tb.Cleanup(server.Close)
	return server
}

// Launch runs a server outside a test; Close ends it. Injecting a fault that
// makes no sense (suspending a dead server) panics, as there is no test to
// fail.
func Launch(opts ...Option) (*Server, error) {
	dir, err := os.MkdirTemp("", "dashpot-redis-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for Redis: %w", err)
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	server := &Server{dir: dir, port: port, fail: func(err error) { panic(err) }}
	for _, opt := range opts {
		opt(server)
	}
	if err := server.start(); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}

// Addr is the server's address, host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's address as a redis:// URL, of database 0.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Stop ends the server in an orderly way. Stopping twice is fine.
func (s *Server) Stop() {
	if process := s.current(); process != nil {
		process.Stop(stopGrace)
	}
}

// Kill ends the server with SIGKILL, as a crash would.
func (s *Server) Kill() {
	if process := s.current(); process != nil {
		process.Kill()
	}
}

// Suspend stops the server's execution: connections stay open and new ones
// are accepted by the kernel, but nothing answers.
func (s *Server) Suspend() { s.signal(syscall.SIGSTOP) }

// Resume lets a suspended server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Restart starts the server again on the same port, after ending it when it
// still runs, and returns when it answers.
func (s *Server) Restart() {
	s.Stop()
	if err := s.start(); err != nil {
		s.fail(fmt.Errorf("restart: %w", err))
	}
}

func (s *Server) signal(sig syscall.Signal) {
	process := s.current()
	if process == nil {
		s.fail(errors.New("the server was never started"))
		return
	}
	if err := process.Signal(sig); err != nil {
		s.fail(err)
	}
}

func (s *Server) current() *child.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Close ends the server for good and removes its data. Start does this by
// itself when the test ends.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// start runs the program and waits until it answers.
func (s *Server) start() error {
	binary, err := Binary()
	if err != nil {
		return err
	}
	if s.sentinel != "" && !exists(s.sentinelConfig()) {
		if err := os.WriteFile(s.sentinelConfig(), []byte(s.sentinel), 0o600); err != nil {
			return fmt.Errorf("write the sentinel's configuration: %w", err)
		}
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of Redis: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has a copy of its own
	cmd := exec.Command(binary, s.commandLine()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(os.Environ(), s.env...)
	process, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.process = process
	s.mu.Unlock()
	return s.waitReady(process)
}

func (s *Server) commandLine() []string {
	var args []string
	if s.sentinel != "" {
		args = append(args, s.sentinelConfig(), "--sentinel")
	} else {
		args = append(args, "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0")
	}
	args = append(args, "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir)
	return append(args, s.args...)
}

func (s *Server) waitReady(process *child.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := s.client()
	defer client.Close() //nolint:errcheck // nothing is in flight
	return poll(ctx, func() error {
		if !process.Running() {
			return permanentError{fmt.Errorf("redis ended: %w\n%s", process.Err(), s.logTail())}
		}
		err := client.Ping(ctx).Err()
		if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil // started with a password, which is the caller's to know
		}
		return err
	})
}

// client is a connection for the package's own administration.
func (s *Server) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
}

func (s *Server) logPath() string        { return filepath.Join(s.dir, "log") }
func (s *Server) sentinelConfig() string { return filepath.Join(s.dir, "sentinel.conf") }

func (s *Server) logTail() string {
	content, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-2000):])
}
