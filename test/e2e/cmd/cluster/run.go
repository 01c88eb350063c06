package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// crds are the definitions of the adapter's objects, from the checkout's root.
const crds = "charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml"

//go:embed pods.yaml
var podsManifest string

type options struct {
	withoutKEDA bool
	replicas    int
	hpaSync     time.Duration
	dir         string
	env         string
	args        []string // added to the replicas' command lines
}

func run(ctx context.Context, o options) error {
	programs, err := os.MkdirTemp("", "dashpot-programs-")
	if err != nil {
		return fmt.Errorf("make a directory for the programs: %w", err)
	}
	defer os.RemoveAll(programs)     //nolint:errcheck // a temporary directory
	redis, err := redistest.Launch() //nolint:contextcheck // a server's start is bounded by itself
	if err != nil {
		return err
	}
	defer redis.Close()
	c, err := cluster.Start(ctx, cluster.Options{HPASync: o.hpaSync, Dir: o.dir, WithoutKEDA: o.withoutKEDA, Logf: logf})
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.ApplyTemplate(ctx, "", podsManifest, struct{ Node string }{cluster.NodeName}); err != nil {
		return err
	}
	s := &session{cluster: c, redis: redis, env: o.env}
	start := s.startScalers
	if o.withoutKEDA {
		start = s.startAdapters
	}
	if err := start(ctx, programs, o); err != nil {
		return err
	}
	if err := s.link(programs); err != nil {
		return err
	}
	if err := s.writeEnv(); err != nil {
		return err
	}
	defer os.Remove(o.env) //nolint:errcheck // there is nobody to tell
	fmt.Print(s)
	<-ctx.Done()
	return nil
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// startScalers runs the scaler for KEDA.
func (s *session) startScalers(ctx context.Context, dir string, o options) error {
	program, err := build(ctx, dir, "scaler")
	if err != nil {
		return err
	}
	scalers, err := s.cluster.StartScalers(ctx, program, o.replicas, func(_ int, grpcAddr, httpAddr string) []string {
		return append([]string{
			"--grpc-address=" + grpcAddr, "--http-address=" + httpAddr,
			"--redis-url=" + s.redis.URL(), "--kubeconfig=" + s.cluster.Kubeconfig(),
		}, o.args...)
	})
	if err != nil {
		return err
	}
	s.replicas, s.scalerAddress = scalers.Replicas, scalers.Target()
	return nil
}

// startAdapters runs the adapter for HPAs.
func (s *session) startAdapters(ctx context.Context, dir string, o options) error {
	program, err := build(ctx, dir, "adapter")
	if err != nil {
		return err
	}
	adapters, err := s.cluster.StartAdapters(ctx, cluster.AdapterOptions{
		Program: program, Replicas: o.replicas, CRDs: crds, Args: append([]string{"--redis-url=" + s.redis.URL()}, o.args...),
	})
	if err != nil {
		return err
	}
	s.replicas = adapters.Replicas
	return nil
}

// build compiles one of this checkout's programs into a directory.
func build(ctx context.Context, dir, program string) (string, error) {
	path := filepath.Join(dir, program)
	command := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/dashpot-project/dashpot/cmd/"+program)
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the %s: %w\n%s", program, err, output)
	}
	return path, nil
}
