package main

import (
	"context"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// client is the name of answers to whoever the round robin chose.
const client = "client"

const (
	// pollPeriod and syncPeriod are how often KEDA polls and the HPA syncs.
	pollPeriod = time.Second
	syncPeriod = time.Second
	// askLimit ends a call. KEDA has no such limit, and would wait for ever.
	askLimit = 3 * time.Second
	// kedaCooldown is KEDA's own.
	kedaCooldown = 3 * time.Second
)

// kedaServiceConfig is the one that KEDA gives to its connections.
const kedaServiceConfig = `{"loadBalancingConfig": [{"round_robin":{}}]}`

// keda plays KEDA and its HPA for one workload: what they ask, when, and what they make
// of the answers. All else that it does is to write everything down.
type keda struct {
	*book

	scaler pb.ExternalScalerClient
	object *pb.ScaledObjectRef
	metric string
	write  func(ctx context.Context, replicas int32)

	lastActive time.Duration
}

// book is what was answered, and the world it is about. It is safe for concurrent use.
type book struct {
	now      func() time.Duration
	replicas *timeline

	mu      sync.Mutex
	answers []answer
	errors  int
	// lastError is for a person who wonders about the errors.
	lastError string
}

// note writes an answer down, or that there was none.
func (b *book) note(from string, asked time.Duration, err error, fill func(*answer)) {
	answered := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.errors++
		b.lastError = err.Error()
		return
	}
	a := answer{from: from, asked: asked, answered: answered}
	fill(&a)
	b.answers = append(b.answers, a)
}

// run polls and syncs until the context ends.
func (k *keda) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { every(ctx, pollPeriod, k.poll) })
	running.Go(func() { every(ctx, syncPeriod, k.sync) })
	running.Wait()
}

// every calls do once a period, and not again while it runs.
func every(ctx context.Context, period time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do(ctx)
		}
	}
}

// poll is KEDA's: three calls, then it switches the workload on, or off when it has been
// inactive for the cooldown. At an error it does nothing.
func (k *keda) poll(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_, _ = k.scaler.GetMetricSpec(limited, k.object) // a function of the metadata alone
	_, _ = k.count(ctx, k.scaler, client)
	active, err := k.isActive(ctx, k.scaler, client)
	switch replicas := k.replicas.at(k.now()); {
	case err != nil:
	case active && replicas == 0:
		k.write(ctx, 1)
		k.lastActive = k.now()
	case active:
		k.lastActive = k.now()
	case replicas > 0 && k.now()-k.lastActive >= kedaCooldown:
		k.write(ctx, 0)
	}
}

// sync is the HPA's, which does not look at a workload that is off, and holds at an error.
func (k *keda) sync(ctx context.Context) {
	replicas := k.replicas.at(k.now())
	if replicas == 0 {
		return
	}
	count, err := k.count(ctx, k.scaler, client)
	if err != nil || k.replicas.at(k.now()) == 0 {
		return
	}
	if wanted := min(max(count, 1), maxReplicas); wanted != replicas {
		k.write(ctx, wanted)
	}
}

func (k *keda) count(ctx context.Context, scaler pb.ExternalScalerClient, from string) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	asked := k.now()
	got, err := scaler.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: k.object, MetricName: k.metric})
	count := int32(0)
	if err == nil {
		count = int32(got.GetMetricValues()[0].GetMetricValueFloat() + 0.999) // the HPA's ceiling, of milli
	}
	k.note(from, asked, err, func(a *answer) { a.counts, a.count = true, count })
	return count, err
}

func (k *keda) isActive(ctx context.Context, scaler pb.ExternalScalerClient, from string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	asked := k.now()
	got, err := scaler.IsActive(ctx, k.object)
	k.note(from, asked, err, func(a *answer) { a.tells, a.active = true, got.GetResult() })
	return got.GetResult(), err
}

// dial connects to addresses as KEDA does to the pods of a Service.
func dial(addrs ...string) (*grpc.ClientConn, error) {
	found := manual.NewBuilderWithScheme("replicas")
	state := resolver.State{}
	for _, addr := range addrs {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: addr})
	}
	found.InitialState(state)
	return grpc.NewClient("replicas:///scaler", grpc.WithResolvers(found), grpc.WithDefaultServiceConfig(kedaServiceConfig),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
}
