package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
)

// drainTimeout bounds how long calls under way may take after SIGTERM. Every one has a
// deadline of 2 s; only a client that does not read takes longer.
const drainTimeout = 10 * time.Second

// door is the gRPC server's life. KEDA's round robin knows nothing of readiness:
// it calls every address that accepts connections. So none is accepted before the
// process can answer, nor once it ends.
type door struct {
	address string
	server  *grpc.Server
	probes  *process.Probes
	health  *externalscaler.Health
	log     *slog.Logger
}

// run opens the door when the process is ready, and closes it when the context
// ends.
func (d door) run(ctx context.Context) error {
	if !d.probes.Await(ctx, d.log) {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", d.address)
	if err != nil {
		return fmt.Errorf("serve KEDA: %w", err)
	}
	d.health.SetReady(true)
	d.log.Info("serving KEDA", "address", listener.Addr().String())
	failed := make(chan error, 1)
	go func() { failed <- d.server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve KEDA: %w", err)
	case <-ctx.Done():
	}
	d.probes.Drain()
	d.health.SetReady(false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	externalscaler.Stop(ctx, d.server)
	return nil
}
