package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/cluster"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// kubernetes is the cluster that a process observes; clients is nil if it observes
// none.
type kubernetes struct {
	clients  *cluster.Clients
	observer *cluster.Observer
	pods     *cluster.Pods
	policies *cluster.Policies
	events   *cluster.Events
}

// observe finds the cluster that the options ask for. It does not talk to it.
func observe(o options, log *slog.Logger) (kubernetes, error) {
	if o.observe == observeOff {
		return kubernetes{}, nil
	}
	config, err := process.ClusterConfig(o.Kubeconfig)
	switch {
	case errors.Is(err, rest.ErrNotInCluster) && o.observe == observeAuto:
		log.Info("no cluster credentials: the last decision is taken as applied")
		return kubernetes{}, nil
	case err != nil:
		return kubernetes{}, fmt.Errorf("--observe is %s: %w", o.observe, err)
	}
	clients, err := cluster.Connect(config)
	if err != nil {
		return kubernetes{}, err
	}
	observer, err := cluster.New(clients, cluster.Options{})
	if err != nil {
		return kubernetes{}, err
	}
	return kubernetes{
		clients: &clients, observer: observer,
		pods:   cluster.NewPods(clients, observer, cluster.PodsOptions{}),
		events: cluster.NewEvents(clients.Kubernetes, "dashpot", observer.Reference, log),
	}, nil
}

// follow adds the StabilizedMetrics, which need to be parsed.
func (k kubernetes) follow(parser cluster.PolicyParser) (kubernetes, error) {
	if k.clients == nil {
		return k, nil
	}
	policies, err := cluster.NewPolicies(*k.clients, parser, cluster.PoliciesOptions{Lazy: true})
	k.policies = policies
	return k, err
}

// measures is what measures pods; nil if no cluster is observed.
func (k kubernetes) measures() source.Pods {
	if k.pods == nil {
		return nil
	}
	return k.pods
}

// view is the observer for the evaluator.
func (k kubernetes) view() scaling.Observer {
	if k.observer == nil {
		return cluster.OpenLoop{}
	}
	return k.observer
}

// decided tells users about decisions, in events of their ScaledObjects.
func (k kubernetes) decided(d *scaling.Decision) {
	if k.events != nil {
		k.events.Report(d)
	}
}

// check says whether the cluster has been seen. What was seen once is served on, so
// passing is for good: one new kind that may not be listed must not stop all else.
func (k kubernetes) check() process.Check {
	return process.Once(process.Check{Name: "cluster", Test: func(context.Context) error {
		if k.observer == nil {
			return nil
		}
		return k.observer.Ready()
	}})
}

// run observes until the context ends.
func (k kubernetes) run(ctx context.Context) error {
	if k.observer == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return k.observer.Run(ctx) })
	group.Go(func() error { return k.pods.Run(ctx) })
	group.Go(func() error { return k.policies.Run(ctx) })
	return group.Wait()
}

// tell writes events until the context ends.
func (k kubernetes) tell(ctx context.Context) error {
	if k.events == nil {
		return nil
	}
	return k.events.Run(ctx)
}

// identity names the cluster; nil if none is observed.
func (k kubernetes) identity() process.ClusterIdentity {
	if k.clients == nil {
		return nil
	}
	return k.clients
}

// metrics finds StabilizedMetrics; nil if no cluster is observed.
func (k kubernetes) metrics() externalscaler.Metrics {
	if k.policies == nil {
		return nil
	}
	return k.policies
}
