package externalscaler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Metrics finds the StabilizedMetrics whose policies ScaledObjects share. Its error
// wraps scaling.ErrNoSuchMetric or scaling.ErrUnobserved.
type Metrics interface {
	Metric(ctx context.Context, namespace, name string) (scaling.Metric, error)
}

var (
	errNoCluster = errors.New("this scaler observes no cluster, so it knows no StabilizedMetrics")
	// errReplaced ends a stream whose shared policy has given way to another.
	errReplaced = errors.New("policy replaced")
)

// retryShared is how long a stream lives whose shared policy is not to be had.
const retryShared = 10 * time.Second

// followed is the policy to follow: its own, or that of the StabilizedMetric which it
// names, and then a channel that is closed when that is another one. One that is not to
// be had is a policy that cannot be followed, so that what runs is held.
func (s *Service) followed(ctx context.Context, ref scaling.Ref, policy *scaling.Policy) (*scaling.Policy, <-chan struct{}) {
	if policy.Shared == "" || policy.Invalid != nil {
		return policy, nil
	}
	metric, err := scaling.Metric{}, errNoCluster
	if s.metrics != nil {
		metric, err = s.metrics.Metric(ctx, ref.Namespace, policy.Shared)
	}
	if err == nil {
		return metric.Policy.SharedAs(policy), metric.Replaced
	}
	missing := *policy
	missing.Invalid = fmt.Errorf("metric: %w", err)
	if !errors.Is(err, scaling.ErrUnobserved) { // it is the user's to mend
		missing.Invalid = fmt.Errorf("%w: %w", scaling.ErrBadPolicy, missing.Invalid)
	}
	return &missing, nil
}

// watchShared watches a stream whose policy is shared. It ends it cleanly when that
// policy gives way to another: KEDA opens the next one 2 s later.
func (s *Service) watchShared(ctx context.Context, ref scaling.Ref, policy *scaling.Policy, send func() error) error {
	policy, replaced := s.followed(ctx, ref, policy)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var retry <-chan time.Time
	if policy.Invalid != nil {
		retry = time.After(retryShared)
	}
	go func() {
		select {
		case <-replaced:
			cancel(errReplaced)
		case <-retry:
			cancel(errReplaced)
		case <-ctx.Done():
		}
	}()
	err := s.watcher.Watch(ctx, ref, policy, send)
	if errors.Is(context.Cause(ctx), errReplaced) {
		return nil
	}
	return err
}
