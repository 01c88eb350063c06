package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

type options struct {
	example    string
	scalers    int
	hpaSync    time.Duration
	dir        string
	scalerArgs []string // added to the scalers' command lines
}

// session is everything that runs, for the text that says how to use it.
type session struct {
	cluster   *cluster.Cluster
	redis     *redistest.Server
	scalers   *cluster.Scalers
	namespace string
	streams   bool // the example reads a stream
}

func run(ctx context.Context, o options) error {
	scaler, err := buildScaler(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(scaler)) //nolint:errcheck // a temporary directory
	s := &session{}
	if s.redis, err = redistest.Launch(); err != nil { //nolint:contextcheck // a server's start is bounded by itself
		return err
	}
	defer s.redis.Close()
	s.cluster, err = cluster.Start(ctx, cluster.Options{HPASync: o.hpaSync, Dir: o.dir, Logf: logf})
	if err != nil {
		return err
	}
	defer s.cluster.Stop()
	s.scalers, err = s.cluster.StartScalers(ctx, scaler, o.scalers, func(_ int, grpcAddr, httpAddr string) []string {
		return append([]string{
			"--grpc-address=" + grpcAddr, "--http-address=" + httpAddr,
			"--redis-url=" + s.redis.URL(), "--kubeconfig=" + s.cluster.Kubeconfig(),
		}, o.scalerArgs...)
	})
	if err != nil {
		return err
	}
	if s.namespace, err = s.cluster.CreateNamespace(ctx, "demo"); err != nil {
		return err
	}
	if o.example != "" {
		if err := s.apply(ctx, o.example); err != nil {
			return err
		}
	}
	fmt.Print(s)
	<-ctx.Done()
	return nil
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// buildScaler compiles this checkout's scaler into a directory of its own.
func buildScaler(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "dashpot-scaler-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the scaler: %w", err)
	}
	path := filepath.Join(dir, "scaler")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/dashpot-project/dashpot/cmd/scaler")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the scaler: %w\n%s", err, output)
	}
	return path, nil
}

// The addresses in a manifest that are those of a real installation.
var (
	scalerAddress = regexp.MustCompile(`(\bscalerAddress:\s*)[^\s,}]+`)
	redisAddress  = regexp.MustCompile(`(\baddress:\s*)[^\s,}]+`)
)

// apply applies a manifest with the addresses of this session in it. The
// workloads that it scales are created when the manifest has none.
func (s *session) apply(ctx context.Context, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the example: %w", err)
	}
	s.streams = strings.Contains(string(content), "stream:")
	manifest := scalerAddress.ReplaceAllString(string(content), "${1}"+s.scalers.Target())
	manifest = redisAddress.ReplaceAllString(manifest, "${1}"+s.redis.Addr())
	if err := s.cluster.Apply(ctx, s.namespace, manifest); err != nil {
		return err
	}
	if strings.Contains(manifest, "kind: Deployment") {
		return nil
	}
	for document := range strings.SplitSeq(manifest, "\n---") {
		var object struct {
			Kind string `json:"kind"`
			Spec struct {
				ScaleTargetRef struct {
					Name string `json:"name"`
				} `json:"scaleTargetRef"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return fmt.Errorf("read the example: %w", err)
		}
		if target := object.Spec.ScaleTargetRef.Name; object.Kind == "ScaledObject" && target != "" {
			if err := s.cluster.CreateDeployment(ctx, s.namespace, target, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// String tells how to use the session.
func (s *session) String() string {
	var text strings.Builder
	host, port, _ := strings.Cut(s.redis.Addr(), ":")
	kubectl := s.cluster.Kubectl() + " -n " + s.namespace
	redis := fmt.Sprintf("%s -h %s -p %s", redistest.CLI(), host, port)
	fmt.Fprintf(&text, "\nexport KUBECONFIG=%s\n\n", s.cluster.Kubeconfig())
	fmt.Fprintf(&text, "logs        %s\n", s.cluster.LogDir())
	fmt.Fprintf(&text, "redis       %s\n", s.redis.URL())
	fmt.Fprintf(&text, "scalers     %s (scalerAddress of all replicas)\n", s.scalers.Target())
	for i := range s.scalers.Count() {
		fmt.Fprintf(&text, "replica %d   grpc %s   http://%s\n", i, s.scalers.GRPCAddr(i), s.scalers.HTTPAddr(i))
	}
	fmt.Fprintf(&text, "\nTry:\n  %s get scaledobject,hpa,deployment\n", kubectl)
	fmt.Fprintf(&text, "  %s get deployment -w\n", kubectl)
	push := "seq 37 | xargs " + redis + " rpush jobs"
	if s.streams {
		push = "for i in $(seq 37); do " + redis + " xadd jobs '*' n $i; done"
	}
	fmt.Fprintf(&text, "  %s      # 8 replicas within seconds\n", push)
	fmt.Fprintf(&text, "  %s del jobs      # and back to zero, as slowly as the example says\n", redis)
	for i := range s.scalers.Count() { // each shows what it was asked last
		fmt.Fprintf(&text, "  curl -s http://%s/v1/policies/%s/worker      # why?\n", s.scalers.HTTPAddr(i), s.namespace)
	}
	fmt.Fprintf(&text, "\nCtrl-C ends everything.\n")
	return text.String()
}
