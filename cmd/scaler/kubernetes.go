package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/cluster"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// defaultInstance is the instance of a process that knows no cluster.
const defaultInstance = "default"

// kubernetes is the cluster that a process observes; clients is nil if it observes
// none.
type kubernetes struct {
	clients  *cluster.Clients
	observer *cluster.Observer
	events   *cluster.Events
}

// observe finds the cluster that the options ask for. It does not talk to it.
func observe(o options, log *slog.Logger) (kubernetes, error) {
	if o.observe == observeOff {
		return kubernetes{}, nil
	}
	config, err := clusterConfig(o.kubeconfig)
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
	events := cluster.NewEvents(clients.Kubernetes, "dashpot", observer.Reference, log)
	return kubernetes{&clients, observer, events}, nil
}

// clusterConfig holds the credentials of the files, listed as the variable KUBECONFIG
// does, or of the pod's service account; rest.ErrNotInCluster if there are none. The
// file in the home directory is not looked at: a scaler that somebody tries out must
// not write events to whatever cluster their kubectl is about.
func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(kubeconfig)}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

// view is the observer for the evaluator.
func (k kubernetes) view() scaling.Observer {
	if k.observer == nil {
		return cluster.OpenLoop{}
	}
	return k.observer
}

// decided tells users about decisions, in events of their ScaledObjects.
func (k kubernetes) decided(d scaling.Decision) {
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
	return k.observer.Run(ctx)
}

// tell writes events until the context ends.
func (k kubernetes) tell(ctx context.Context) error {
	if k.events == nil {
		return nil
	}
	return k.events.Run(ctx)
}

// instance is what separates this cluster's records from others' in one Redis. It
// asks until the cluster answers: with a guess, the replicas would not meet. probes
// say meanwhile why the process is not ready. The error is the context's.
func (k kubernetes) instance(ctx context.Context, o options, probes *process.Probes) (string, error) {
	switch {
	case o.instance != "":
		return o.instance, nil
	case k.clients == nil, o.redisURL == "": // nobody shares what is in memory
		return defaultInstance, nil
	}
	for {
		id, err := k.clients.InstanceID(ctx)
		if err == nil {
			return id, nil
		}
		probes.Replace(process.Check{Name: "cluster", Test: func(context.Context) error { return err }})
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
