package process

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultInstance is the instance of a process that knows no cluster.
const DefaultInstance = "default"

// ClusterConfig holds the credentials of the files, listed as the variable KUBECONFIG
// does, or of the pod's service account; rest.ErrNotInCluster if there are none. The
// file in the home directory is not looked at: a program that somebody tries out must
// not write events to whatever cluster their kubectl is about.
func ClusterConfig(kubeconfig string) (*rest.Config, error) {
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

// ClusterIdentity names a cluster, as cluster.Clients does.
type ClusterIdentity interface {
	InstanceID(ctx context.Context) (string, error)
}

// Instance is what separates this cluster's records from others' in one Redis: what the
// options say, or the cluster's identity, for which it asks until the cluster answers:
// with a guess, the replicas would not meet. probes say meanwhile why the process is
// not ready. cluster is nil if the process knows none. The error is the context's.
func Instance(ctx context.Context, o Options, cluster ClusterIdentity, probes *Probes) (string, error) {
	switch {
	case o.Instance != "":
		return o.Instance, nil
	case cluster == nil, o.RedisURL == "": // nobody shares what is in memory
		return DefaultInstance, nil
	}
	for {
		id, err := cluster.InstanceID(ctx)
		if err == nil {
			return id, nil
		}
		probes.Replace(Check{Name: "cluster", Test: func(context.Context) error { return err }})
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
