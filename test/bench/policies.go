package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// listOf is the list that policy i watches.
func listOf(i int) string { return fmt.Sprintf("jobs-%d", i) }

// namespaces is how many the policies are spread over.
const namespaces = 100

// objectOf is the ScaledObject of policy i as KEDA sends it: with the whole metadata of
// its trigger. Lists are on the server at address.
func objectOf(i int, address string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{
		Namespace: fmt.Sprintf("team-%d", i%namespaces), Name: fmt.Sprintf("worker-%d", i),
		ScalerMetadata: map[string]string{
			"scalerAddress":  "dashpot.keda:9090",
			"source":         "redis",
			"address":        address,
			"listName":       listOf(i),
			"listLength":     "5",
			"cooldownPeriod": "300",
			"behavior": `scaleDown:
  stabilizationWindowSeconds: 300
  policies: [{type: Percent, value: 50, periodSeconds: 60}]
scaleUp:
  policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]
`,
		},
	}
}

// objectsOf are the first n ScaledObjects.
func objectsOf(n int, address string) []*pb.ScaledObjectRef {
	objects := make([]*pb.ScaledObjectRef, n)
	for i := range objects {
		objects[i] = objectOf(i, address)
	}
	return objects
}

// workOf is so many jobs, as entries of a list.
func workOf(jobs int) []any {
	entries := make([]any, jobs)
	for i := range entries {
		entries[i] = "job"
	}
	return entries
}

// longest is how many jobs wait in a list, at most, when it is filled.
const longest = 50

// fill gives the lists of the first n policies some jobs, none in every tenth.
func fill(ctx context.Context, client *redis.Client, n int) error {
	const batch = 1000
	for first := 0; first < n; first += batch {
		pipe := client.Pipeline()
		for i := first; i < min(n, first+batch); i++ {
			if jobs := i * 7 % longest; i%10 > 0 && jobs > 0 {
				pipe.RPush(ctx, listOf(i), workOf(jobs)...)
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("fill lists: %w", err)
		}
	}
	return nil
}

// churn has the lists of n policies grow and shrink until the context ends, each once in a
// period, so that windows have something to remember. With KEDA's nine calls per policy
// and polling interval that is one command for nine calls.
func churn(ctx context.Context, client *redis.Client, n int, period time.Duration) {
	const tenth = 100 * time.Millisecond
	random := rand.New(rand.NewPCG(1, 2))
	ticker := time.NewTicker(tenth)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pipe := client.Pipeline()
		for range max(1, n*int(tenth/time.Millisecond)/int(period/time.Millisecond)) {
			list, jobs := listOf(random.IntN(n)), 1+random.IntN(10)
			if random.IntN(2) == 0 {
				pipe.RPush(ctx, list, workOf(jobs)...)
			} else {
				pipe.LPopCount(ctx, list, jobs)
			}
		}
		_, _ = pipe.Exec(ctx) // an empty list is nil, which is an error to go-redis
	}
}
