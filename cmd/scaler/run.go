package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/credentials"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// errStarting is why a process is not ready before it knows what it needs.
var errStarting = errors.New("starting")

// run serves until the context ends, and returns nil when all calls under way then
// have been answered. HTTP comes first and goes last, so that the probes tell what
// the process waits for at both ends of its life.
func run(ctx context.Context, o options, log *slog.Logger) error {
	view, err := observe(o, log)
	if err != nil {
		return err
	}
	var certificates *process.Certificates
	if o.tls.Cert != "" {
		if certificates, err = process.LoadCertificates(o.tls); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.httpAddress)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	log.Info("serving HTTP", "address", listener.Addr().String(), "version", process.Version())
	p := parts{
		options: o, log: log, view: view, certificates: certificates,
		mux: http.NewServeMux(), metrics: process.NewMetrics(),
		probes: process.NewProbes(process.Check{Name: "process", Test: func(context.Context) error { return errStarting }}),
	}
	p.probes.Register(p.mux)
	p.mux.Handle("GET /metrics", p.metrics.Handler())

	group, ctx := errgroup.WithContext(ctx)
	httpCtx, stopHTTP := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return process.ServeHTTP(httpCtx, listener, p.mux) })
	group.Go(func() error {
		defer stopHTTP()
		return p.run(ctx)
	})
	return group.Wait()
}

// parts are what the scaler is made of before it knows its instance.
type parts struct {
	options      options
	log          *slog.Logger
	view         kubernetes
	certificates *process.Certificates // nil to serve plaintext
	mux          *http.ServeMux
	metrics      *process.Metrics
	probes       *process.Probes
}

// run puts the rest together and serves KEDA until the context ends.
func (p parts) run(ctx context.Context) (err error) {
	instance, err := p.view.instance(ctx, p.options, p.probes)
	if err != nil {
		return nil // only the end of the context ends the search
	}
	records, err := openStore(p.options.redisURL, instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.close()) }()
	p.log.Info("records", "shared", records.redis != nil, "instance", instance)
	triggers := source.New(source.Options{})
	defer triggers.Close()
	p.probes.Replace(p.view.check(), records.check())

	measured := p.metrics.Source(triggers)
	evaluator := scaling.NewEvaluator(scaling.Options{
		Source: measured, Store: p.metrics.Store(records), Observer: p.view.view(), OnDecision: p.onDecision(),
	})
	watcher := watch.New(evaluator, measured, watch.Options{})
	p.metrics.ShowPolicies(evaluator.Decisions)
	p.mux.Handle("/v1/", httpapi.New(evaluator, records.poke(watcher), p.log))
	kedaDoor := p.door(externalscaler.New(evaluator, policy.Parser{Sources: triggers}, watcher))

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.view.run(ctx) })
	group.Go(func() error { return p.view.tell(ctx) })
	group.Go(func() error { return records.listen(ctx, watcher) })
	group.Go(func() error { return watcher.Run(ctx) })
	group.Go(func() error { return kedaDoor.run(ctx) })
	if p.certificates != nil {
		group.Go(func() error {
			p.certificates.Run(ctx, p.log)
			return nil
		})
	}
	return group.Wait()
}

// onDecision tells a decision to all who want to know.
func (p parts) onDecision() func(scaling.Decision) {
	changes := process.NewDecisionLog(p.log)
	return func(d scaling.Decision) {
		p.metrics.Decided(d)
		changes.Decided(d)
		p.view.decided(d)
	}
}

func (p parts) door(service *externalscaler.Service) door {
	health := externalscaler.NewHealth()
	o := externalscaler.Options{Observe: p.metrics.RPC, Health: health, Logger: p.log}
	if p.certificates != nil {
		o.Credentials = credentials.NewTLS(p.certificates.Config())
	}
	return door{
		address: p.options.grpcAddress, server: externalscaler.NewServer(service, o),
		probes: p.probes, health: health, log: p.log,
	}
}
