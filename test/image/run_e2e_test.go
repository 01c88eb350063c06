//go:build e2e

package image

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
)

// patience is how long what has to happen may take. It is no measure.
const patience = time.Minute

// container is an image that can be run.
type container struct {
	// root is its root file system, unpacked.
	root   string
	config config
}

// enter is a shell's line that makes the directory $0 a read-only root for the user of an
// image, and becomes what runs in it. Nothing else is there: no /proc, no /dev, no /tmp.
const enter = `user=$1; shift; /bin/mount --bind "$0" "$0" && /bin/mount -o remount,bind,ro "$0" &&
	exec /usr/sbin/chroot --groups="${user#*:}" --userspec="$user" "$0" "$@"`

// command is what runs the image's entry point with arguments, and with nothing but the
// image's environment.
func (c container) command(ctx context.Context, args ...string) *exec.Cmd {
	line := asRoot("unshare", "--mount", "--propagation", "private", "env", "-i")
	line = append(line, c.config.Config.Env...)
	line = append(line, "/bin/sh", "-c", enter, c.root, c.config.Config.User)
	line = append(line, c.config.Config.Entrypoint...)
	return exec.CommandContext(ctx, line[0], append(line[1:], args...)...)
}

// run runs it to its end.
func (c container) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := c.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// testRun runs the image of a program.
func testRun(t *testing.T, program string, c container) {
	if code, version, problem := c.run(t, "--version"); code != 0 || version != stamp+"\n" {
		t.Errorf("--version prints %q and %q with the code %d; want %s", version, problem, code, stamp)
	}
	switch program {
	case "scaler":
		testScaler(t, c)
	case "adapter":
		code, _, problem := c.run(t, "--https-address=127.0.0.1:0", "--http-address=127.0.0.1:0")
		if code != 1 || !strings.Contains(problem, "adapter failed") || !strings.Contains(problem, "cluster") {
			t.Errorf("without a cluster the adapter ends with the code %d and\n%s\nwant 1, and that it has no cluster", code, problem)
		}
	}
}

// testScaler: the image's scaler answers KEDA, and keeps its records in Redis.
func testScaler(t *testing.T, c container) {
	server := redistest.Start(t)
	jobs := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer jobs.Close()
	if err := jobs.RPush(t.Context(), "jobs", "a", "b", "c").Err(); err != nil {
		t.Fatal(err)
	}
	log := &logBook{addresses: make(chan [2]string, 10)}
	cmd := c.command(t.Context(), "--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--observe=off",
		"--allow-address=127.0.0.0/8", "--log-format=json", "--redis-url="+server.URL())
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	conn, err := grpc.NewClient(log.wait(t, "serving KEDA", ended), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	health, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v; want SERVING", health, err)
	}
	for value := 0.0; value != 3; value = ask(ctx, t, conn, server.Addr()) { // on a busy machine the first answer may be late
		if ctx.Err() != nil {
			t.Fatalf("a queue of 3 is %v", value)
		}
	}
	if keys, err := jobs.Keys(ctx, "dashpot:*").Result(); err != nil || len(keys) == 0 {
		t.Errorf("Redis has the records %q, %v; want one", keys, err)
	}
	end := asRoot("kill", "-TERM", strconv.Itoa(cmd.Process.Pid)) // sudo passes it on
	if out, err := exec.CommandContext(ctx, end[0], end[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", end, err, out)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("SIGTERM ended it with %v\n%s", err, log)
		}
	case <-time.After(patience):
		t.Error("SIGTERM did not end it")
	}
}

// ask does what KEDA does at a poll: the spec, then the metric of that name.
func ask(ctx context.Context, t *testing.T, conn *grpc.ClientConn, address string) float64 {
	t.Helper()
	client := pb.NewExternalScalerClient(conn)
	ref := &pb.ScaledObjectRef{Namespace: "shop", Name: "worker", ScalerMetadata: map[string]string{
		"scalerAddress": "dashpot:9090", "source": "redis", "address": address, "listName": "jobs", "listLength": "5",
	}}
	spec, err := client.GetMetricSpec(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: spec.GetMetricSpecs()[0].GetMetricName()})
	if err != nil {
		t.Log(err)
		return 0
	}
	return metrics.GetMetricValues()[0].GetMetricValueFloat()
}

// logBook keeps a program's log, and the addresses in it.
type logBook struct {
	mu        sync.Mutex
	text      bytes.Buffer
	read      int
	addresses chan [2]string // message and address
}

// Write takes any part of a log.
func (b *logBook) Write(part []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(part)
	for {
		line, _, whole := bytes.Cut(b.text.Bytes()[b.read:], []byte("\n"))
		if !whole {
			return len(part), nil
		}
		b.read += len(line) + 1
		var entry struct {
			Msg     string `json:"msg"`
			Address string `json:"address"`
		}
		if json.Unmarshal(line, &entry) == nil && entry.Address != "" {
			b.addresses <- [2]string{entry.Msg, entry.Address}
		}
	}
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wait returns the address that a message tells.
func (b *logBook) wait(t *testing.T, message string, ended <-chan error) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case said := <-b.addresses:
			if said[0] == message {
				return said[1]
			}
		case err := <-ended:
			t.Fatalf("it ended before it said %q: %v\n%s", message, err, b)
		case <-deadline:
			t.Fatalf("it did not say %q\n%s", message, b)
		}
	}
}
