package main

import (
	"context"
	"errors"
	"log/slog"

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

// run serves until the context ends, and returns nil when all calls under way then
// have been answered.
func run(ctx context.Context, o options, log *slog.Logger) error {
	delegates, err := o.ConnectDelegates()
	if err != nil {
		return err
	}
	view, err := observe(o, log)
	if err != nil {
		return err
	}
	triggers := source.New(source.Options{Addresses: o.Addresses, Delegates: delegates, Pods: view.measures()})
	defer triggers.Close()
	if view, err = view.follow(policy.Parser{Sources: triggers}); err != nil {
		return err
	}
	return process.Serve(ctx, o.Options, log, func(ctx context.Context, base process.Base) error {
		return parts{base, o, view, triggers}.run(ctx)
	})
}

// parts are what the scaler is made of before it knows its instance.
type parts struct {
	process.Base
	options  options
	view     kubernetes
	triggers *source.Table
}

// run puts the rest together and serves KEDA until the context ends.
func (p parts) run(ctx context.Context) (err error) {
	instance, err := process.Instance(ctx, p.options.Options, p.view.identity(), p.Probes)
	if err != nil {
		return nil // only the end of the context ends the search
	}
	records, err := process.OpenRecords(p.options.RedisURL, instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	p.Log.Info("records", "shared", records.Redis != nil, "instance", instance)
	p.Probes.Replace(p.view.check(), records.Check())

	measured := p.Metrics.Source(p.triggers)
	evaluator := scaling.NewEvaluator(scaling.Options{
		Source: measured, Store: p.Metrics.Store(records), Observer: p.view.view(), OnDecision: p.onDecision(),
		MaxPolicies: p.options.MaxPolicies, MaxPerNamespace: p.options.MaxPerNamespace, ForgetAfter: p.options.ForgetAfter,
	})
	watcher := watch.New(evaluator, measured, watch.Options{MaxStreams: p.options.maxStreams, MaxPerNamespace: p.options.MaxPerNamespace})
	pokes := pokes{records.Redis, watcher}
	p.Metrics.ShowPolicies(evaluator.Decisions)
	p.Mux.Handle("/v1/", httpapi.New(p.options.Decisions, evaluator, pokes.send, p.Log))
	parser := externalscaler.Cached(policy.Parser{Sources: p.triggers}, p.options.MaxPolicies)
	kedaDoor := p.door(externalscaler.New(evaluator, parser, watcher, p.view.metrics()))

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.view.run(ctx) })
	group.Go(func() error { return p.view.tell(ctx) })
	group.Go(func() error { return pokes.listen(ctx) })
	group.Go(func() error { return watcher.Run(ctx) })
	group.Go(func() error { return kedaDoor.run(ctx) })
	return group.Wait()
}

// onDecision tells a decision to all who want to know.
func (p parts) onDecision() func(before, d *scaling.Decision) {
	return func(before, d *scaling.Decision) {
		p.Metrics.Decided(d)
		process.LogDecision(p.Log, before, d)
		p.view.decided(d)
	}
}

func (p parts) door(service *externalscaler.Service) door {
	health := externalscaler.NewHealth()
	o := externalscaler.Options{Observe: p.Metrics.RPC, Health: health, Reflection: p.options.reflection, Logger: p.Log}
	if p.Certificates != nil {
		o.Credentials = credentials.NewTLS(p.Certificates.Config())
	}
	return door{
		address: p.options.grpcAddress, server: externalscaler.NewServer(service, o),
		probes: p.Probes, health: health, log: p.Log,
	}
}
