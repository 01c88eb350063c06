package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// standins do with the scaler's answers what KEDA and the HPA do, over real gRPC.
type standins struct {
	client pb.ExternalScalerClient
	ref    *pb.ScaledObjectRef
	world  *world
	script script
	metric string

	mu         sync.Mutex
	lastActive time.Time
}

func newStandins(ctx context.Context, addr string, w *world, s script, metadata map[string]string) (*standins, func(), error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, fmt.Errorf("dial the scaler: %w", err)
	}
	k := &standins{
		client: pb.NewExternalScalerClient(conn), world: w, script: s,
		ref: &pb.ScaledObjectRef{Namespace: namespace, Name: workloadName, ScalerMetadata: metadata},
	}
	spec, err := k.client.GetMetricSpec(ctx, k.ref)
	if err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("ask for the metric: %w", err)
	}
	k.metric = spec.MetricSpecs[0].MetricName
	return k, func() { _ = conn.Close() }, nil
}

// run polls, syncs and listens until the context ends.
func (k *standins) run(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, loop := range []func(context.Context) error{k.keda, k.hpa, k.stream} {
		wg.Go(func() { errs[i] = loop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// keda polls once a unit: it wakes what is active, and after its own cooldown switches
// off what is not.
func (k *standins) keda(ctx context.Context) error {
	return every(ctx, k.script.unit, func() error {
		running := k.world.count()
		answer, err := k.client.IsActive(ctx, k.ref)
		switch {
		case err != nil:
			return err
		case answer.Result:
			k.activate("KEDA's poll")
		case running > 0 && time.Since(k.seenActive()) >= kedaCooldownUnits*k.script.unit:
			k.world.scale(running, 0, "KEDA, after its cooldown")
		}
		return nil
	})
}

// activate does what KEDA does for an active trigger.
func (k *standins) activate(who string) {
	k.mu.Lock()
	k.lastActive = time.Now()
	k.mu.Unlock()
	k.world.scale(0, 1, who)
}

func (k *standins) seenActive() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lastActive
}

// hpa syncs once a unit: a transparent HPA with target 1 rounds the value up.
func (k *standins) hpa(ctx context.Context) error {
	return every(ctx, k.script.unit, func() error {
		running := k.world.count()
		if running == 0 {
			return nil // an HPA at zero asks nobody
		}
		answer, err := k.client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: k.ref, MetricName: k.metric})
		if err != nil {
			return err
		}
		wanted := int32(math.Ceil(answer.MetricValues[0].MetricValueFloat))
		k.world.scale(running, min(max(wanted, 1), maxReplicas), "HPA")
		return nil
	})
}

// stream listens for activity, as KEDA does for external-push.
func (k *standins) stream(ctx context.Context) error {
	stream, err := k.client.StreamIsActive(ctx, k.ref)
	if err != nil {
		return fmt.Errorf("open the stream: %w", err)
	}
	for {
		answer, err := stream.Recv()
		switch {
		case over(err):
			return nil
		case err != nil:
			return fmt.Errorf("receive from the stream: %w", err)
		case answer.Result:
			k.activate("push")
		}
	}
}

// over reports whether an error is the demo's own end. The call's deadline is the
// demo's, and may be noticed before the context's.
func over(err error) bool {
	code := status.Code(err)
	return errors.Is(err, io.EOF) || code == codes.Canceled || code == codes.DeadlineExceeded
}

// every calls f at once and then periodically until the context ends or f fails.
func every(ctx context.Context, period time.Duration, f func() error) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := f(); err != nil && !over(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
