package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/cluster"
	"github.com/dashpot-project/dashpot/pkg/delegate"
	"github.com/dashpot-project/dashpot/pkg/externalmetrics"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// writesPerSecond is what the API server is asked for at most: a status for each of
// 1,000 metrics every 20 s, with a read before the first, and Events.
const writesPerSecond = 100

// run serves until the context ends, and returns nil when all requests under way then
// have been answered.
func run(ctx context.Context, o options, log *slog.Logger) error {
	config, err := process.ClusterConfig(o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("the adapter needs a cluster (--kubeconfig is %q): %w", o.Kubeconfig, err)
	}
	config.QPS, config.Burst = writesPerSecond, 2*writesPerSecond
	clients, err := cluster.Connect(config)
	if err != nil {
		return err
	}
	observer, err := cluster.New(clients, cluster.Options{Native: true})
	if err != nil {
		return err
	}
	pods := cluster.NewPods(clients, observer, cluster.PodsOptions{})
	delegates, err := o.ConnectDelegates()
	if err != nil {
		return err
	}
	triggers := source.New(source.Options{Addresses: o.Addresses, Delegates: delegates, Pods: pods})
	defer triggers.Close()
	policies, err := cluster.NewPolicies(clients, policy.Parser{Sources: triggers}, cluster.PoliciesOptions{})
	if err != nil {
		return err
	}
	return process.Serve(ctx, o.Options, log, func(ctx context.Context, base process.Base) error {
		return parts{base, o, config, clients, observer, pods, policies, triggers, delegates, make(chan struct{})}.run(ctx)
	})
}

// parts are what the adapter is made of before it knows its instance.
type parts struct {
	process.Base
	options  options
	config   *rest.Config
	clients  cluster.Clients
	observer *cluster.Observer
	pods     *cluster.Pods
	policies *cluster.Policies
	triggers *source.Table
	// delegates are asked for what is no StabilizedMetric.
	delegates *delegate.Set
	// ready is closed when the process can answer.
	ready chan struct{}
}

// run puts the rest together and serves HPAs until the context ends.
func (p parts) run(ctx context.Context) (err error) {
	instance, err := process.Instance(ctx, p.options.Options, p.clients, p.Probes)
	if err != nil {
		return nil // only the end of the context ends the search
	}
	records, err := process.OpenRecords(p.options.RedisURL, instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	p.Log.Info("records", "shared", records.Redis != nil, "instance", instance)

	told := newReports(p.clients, p.policies, p.Log)
	evaluator := scaling.NewEvaluator(scaling.Options{
		Source: p.Metrics.Source(p.triggers), Store: p.Metrics.Store(records), Observer: p.observer, OnDecision: p.onDecision(told),
		MaxPolicies: p.options.MaxPolicies, MaxPerNamespace: p.options.MaxPerNamespace, ForgetAfter: p.options.ForgetAfter,
	})
	server, err := p.server(evaluator)
	if err != nil {
		return err
	}
	p.Probes.Replace(
		process.Once(process.Check{Name: "cluster", Test: func(context.Context) error { return errors.Join(p.observer.Ready(), p.policies.Ready()) }}),
		process.Once(process.Check{Name: "aggregation", Test: server.Ready}),
		records.Check(),
	)
	p.Metrics.ShowPolicies(evaluator.Decisions)
	p.Mux.Handle("/v1/", httpapi.New(p.options.Decisions, evaluator, nil, p.Log))

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.observer.Run(ctx) })
	group.Go(func() error { return p.pods.Run(ctx) })
	group.Go(func() error { return p.policies.Run(ctx) })
	group.Go(func() error { return p.lead(ctx, told, evaluator) })
	group.Go(func() error { return server.Run(ctx, p.open) })
	return group.Wait()
}

// onDecision tells a decision to all who want to know.
func (p parts) onDecision(told reports) func(before, d *scaling.Decision) {
	return func(before, d *scaling.Decision) {
		p.Metrics.Decided(d)
		process.LogDecision(p.Log, before, d)
		told.events.Report(d)
	}
}

func (p parts) server(evaluator *scaling.Evaluator) (*externalmetrics.Server, error) {
	o := externalmetrics.Options{
		Policies: p.policies, Evaluator: evaluator, Cluster: p.config, Group: p.options.apiGroup,
		Certificate: p.options.TLS.Cert, Key: p.options.TLS.Key, MinTLSVersion: p.options.TLS.MinVersion,
		Ready: p.Probes.Ready, Logger: p.Log,
		Observe: func(c externalmetrics.Call) { p.Metrics.Served(c.By, c.Status, c.Took) },
	}
	if names := p.delegates.Names(); len(names) > 0 {
		p.Log.Info("delegates", "names", names)
		o.Others = p.delegates
	}
	return externalmetrics.New(o)
}

// open listens once the process can answer: an HPA that asks a replica which has not
// seen the cluster gets an error where another one would have had a count.
func (p parts) open(ctx context.Context) (net.Listener, error) {
	if !p.Probes.Await(ctx, p.Log) {
		return nil, ctx.Err()
	}
	close(p.ready)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.options.httpsAddress)
	if err != nil {
		return nil, err
	}
	p.Log.Info("serving metrics", "address", listener.Addr().String(), "group", p.options.apiGroup)
	context.AfterFunc(ctx, p.Probes.Drain)
	return listener, nil
}

// reports are where the elected replica tells users what is decided.
type reports struct {
	events   *cluster.Events
	statuses *cluster.Statuses
}

func newReports(clients cluster.Clients, policies *cluster.Policies, log *slog.Logger) reports {
	return reports{
		cluster.NewEvents(clients.Kubernetes, "dashpot", policies.Reference, log),
		cluster.NewStatuses(clients.Dynamic, log),
	}
}

// lead writes statuses and Events while this replica is the elected one, for which it
// stands once it has seen the cluster.
func (p parts) lead(ctx context.Context, told reports, evaluator *scaling.Evaluator) error {
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil
	}
	identity, err := process.Identity()
	if err != nil {
		return err
	}
	lease := types.NamespacedName{Namespace: p.options.namespace, Name: p.options.leaseName}
	patrol := externalmetrics.NewPatrol(p.policies, evaluator, told.statuses.Report)
	return process.Lead(ctx, p.clients.Kubernetes, lease, identity, p.Log, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return told.events.Run(ctx) })
		group.Go(func() error { return told.statuses.Run(ctx) })
		group.Go(func() error { return patrol.Run(ctx) })
		return group.Wait()
	})
}
