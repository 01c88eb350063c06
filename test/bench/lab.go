package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// startPatience is how long a program may take to answer, on a machine that is busy.
const startPatience = time.Minute

// lab starts what is measured.
type lab struct {
	dir      string
	short    bool
	profiles string
	row      string // that is being measured
	scaler   string // the program, once it is built
}

func newLab(short bool, profiles string) (*lab, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	if profiles != "" {
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			return nil, fmt.Errorf("make the directory for profiles: %w", err)
		}
	}
	return &lab{dir: dir, short: short, profiles: profiles}, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// lasts shortens a time of measuring for a short run, to a second at least.
func (l *lab) lasts(full time.Duration) time.Duration {
	if l.short {
		return max(time.Second, full/20)
	}
	return full
}

// count shortens a number of policies or streams for a short run.
func (l *lab) count(full int) int {
	if l.short {
		return max(1, full/20)
	}
	return full
}

// doorFile is added to the scaler, so that its profiles can be fetched: the program has no
// such door, for whoever may fetch a profile may also make the process work for it.
const doorFile = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

func init() {
	go func() { _ = http.ListenAndServe(os.Getenv("` + doorVariable + `"), nil) }()
}
`

const doorVariable = "BENCH_PROFILES"

// build builds cmd/scaler as it is in the checkout, with the door for profiles as one more
// file, which never is in the checkout.
func (l *lab) build(ctx context.Context) (string, error) {
	if l.scaler != "" {
		return l.scaler, nil
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	door, overlay := filepath.Join(l.dir, "door.go"), filepath.Join(l.dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "cmd", "scaler", "profiles.go"): door},
	})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(door, []byte(doorFile), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	program := filepath.Join(l.dir, "scaler")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o", program, "./cmd/scaler")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the scaler: %w\n%s", err, out)
	}
	l.scaler = program
	return program, nil
}

// program is one under test: a process of its own that serves KEDA's gRPC service.
type program struct {
	*child.Process

	connection *grpc.ClientConn
	client     pb.ExternalScalerClient
	log        string // the file that has what it writes
	http       string // the scaler's HTTP address
	profiles   string // the address of the scaler's profiles
}

// startScaler runs the real scaler with records in a Redis, or in memory if the URL is
// empty, and with further flags, and returns when it is ready.
func (l *lab) startScaler(ctx context.Context, redisURL string, flags ...string) (*program, error) {
	path, err := l.build(ctx)
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, append([]string{
		"--observe=off", "--log-level=error", "--redis-url=" + redisURL,
		"--grpc-address=" + addresses[0], "--http-address=" + addresses[1], "--allow-address=127.0.0.0/8",
	}, flags...)...)
	cmd.Env = append(os.Environ(), doorVariable+"="+addresses[2])
	p, err := l.start(cmd, addresses[0])
	if err != nil {
		return nil, err
	}
	p.http, p.profiles = addresses[1], addresses[2]
	if err := p.await(ctx, func() error { return ready("http://" + p.http + "/readyz") }); err != nil {
		return nil, err
	}
	err = p.await(ctx, func() error { return accepts(addresses[0]) })
	return p, err
}

// startBaseline runs this program as one of the baselines.
func (l *lab) startBaseline(ctx context.Context, kind, redisAddress string) (*program, error) {
	addresses, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := l.start(exec.Command(self, serveCommand, kind, addresses[0], redisAddress), addresses[0])
	if err != nil {
		return nil, err
	}
	err = p.await(ctx, func() error { return accepts(addresses[0]) })
	return p, err
}

// start runs a program, and connects to it as KEDA does: one connection for all triggers.
// What it writes goes to a file, for a terminal would slow it down.
func (l *lab) start(cmd *exec.Cmd, address string) (*program, error) {
	log, err := os.Create(filepath.Join(l.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has a copy of its own
	cmd.Stdout, cmd.Stderr = log, log
	process, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin":{}}]}`))
	if err != nil {
		process.Kill()
		return nil, err
	}
	return &program{Process: process, connection: connection, client: pb.NewExternalScalerClient(connection), log: log.Name()}, nil
}

// await tries until it works. A program that does not come up is ended.
func (p *program) await(ctx context.Context, attempt func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			said, _ := os.ReadFile(p.log)
			return fmt.Errorf("the program ended: %w\n%s", p.Err(), said)
		case <-ctx.Done():
			p.stop()
			return fmt.Errorf("the program is not ready: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// stop ends the program and the connection.
func (p *program) stop() {
	_ = p.connection.Close()
	p.Kill()
}

func freeAddresses(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		port, err := child.FreePort()
		if err != nil {
			return nil, err
		}
		addresses[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return addresses, nil
}

func ready(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

func accepts(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// database is a Redis with a client and its process.
type database struct {
	*redistest.Server

	client *redis.Client
	pid    int
}

func startRedis(ctx context.Context) (*database, error) {
	server, err := redistest.Launch() //nolint:contextcheck // it has a time limit of its own
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	d := &database{Server: server, client: redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})}
	if d.pid, err = processID(ctx, d.client); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

func (d *database) stop() {
	_ = d.client.Close()
	d.Close()
}
