package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// sources are three servers with many queues; a stopped one answers nobody.
type sources struct {
	mu      sync.Mutex
	value   float64
	stopped string
}

type queue string

func (q queue) Server() string { return strings.Split(string(q), "/")[0] }
func (q queue) String() string { return string(q) }

func (s *sources) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	s.mu.Lock()
	value, stopped := s.value, s.stopped == queries[0].Server()
	s.mu.Unlock()
	if stopped {
		<-ctx.Done()
	}
	outcomes := make([]scaling.Outcome, len(queries))
	for i := range outcomes {
		outcomes[i].Value = value
		if stopped {
			outcomes[i].Err = errors.New("no answer")
		}
	}
	return outcomes
}

func (s *sources) set(value float64, stopped string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.stopped = value, stopped
}

// zeros shows every workload at the same count.
type zeros struct {
	mu       sync.Mutex
	replicas int32
}

func (z *zeros) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return scaling.Observation{
		Target: "apps/Deployment/worker", Spec: z.replicas, Status: z.replicas,
		Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true,
	}, nil
}

func (z *zeros) set(n int32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.replicas = n
}

// TestManyObjects: 1,250 sleeping objects on three sources become active at one moment.
// Every one is told within an interval and a second, with the right first answer; while
// one source has stopped, the objects of the other two are told as soon, and its own
// hold what they have.
func TestManyObjects(t *testing.T) {
	for _, stopped := range []string{"", "redis-1"} {
		t.Run("stopped: "+stopped, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { manyObjects(t, stopped) })
		})
	}
}

func manyObjects(t *testing.T, stopped string) {
	t.Helper()
	const objects = 1250
	src, cluster := &sources{}, &zeros{}
	evaluator := scaling.NewEvaluator(scaling.Options{Source: src, Store: memstore.New(), Observer: cluster})
	watcher := watch.New(evaluator, src, watch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = watcher.Run(ctx) })
	defer running.Wait()
	defer cancel()

	told := make([]time.Time, objects)
	var mu sync.Mutex
	requests := make([]scaling.Request, objects)
	for i := range objects {
		requests[i] = requestOf(i)
		running.Go(func() {
			_ = watcher.Watch(ctx, requests[i].Ref, requests[i].Policy, func() error {
				mu.Lock()
				defer mu.Unlock()
				if told[i].IsZero() {
					told[i] = time.Now()
				}
				return nil
			})
		})
	}
	time.Sleep(30 * time.Second)
	begin := time.Now()
	src.set(37, stopped)
	time.Sleep(time.Minute)

	mu.Lock()
	defer mu.Unlock()
	for i, at := range told {
		server := requests[i].Policy.Triggers[0].Query.Server()
		switch took := at.Sub(begin); {
		case server == stopped && !at.IsZero():
			t.Errorf("object %d was told of work that nobody could read", i)
		case server != stopped && (at.IsZero() || took > 2*time.Second):
			t.Errorf("object %d at %s was told after %v, want at most an interval and a second", i, server, took)
		}
	}
	answers(t, evaluator, cluster, requests, stopped)
	time.Sleep(10 * time.Second) // reads that nobody waits for end
}

// answers asks for every object once, as the HPA does as soon as something runs.
func answers(t *testing.T, evaluator *scaling.Evaluator, cluster *zeros, requests []scaling.Request, stopped string) {
	t.Helper()
	cluster.set(3)
	var slow []time.Duration
	for i, req := range requests {
		begin := time.Now()
		d := evaluator.Evaluate(t.Context(), req)
		if took := time.Since(begin); took > 0 {
			slow = append(slow, took)
		}
		want := int32(8)
		if req.Policy.Triggers[0].Query.Server() == stopped {
			want = 3
		}
		if d.Err != nil || d.Replicas != want || !d.Active {
			t.Errorf("object %d: %d, %v: %s, want %d", i, d.Replicas, d.Err, d.Why(), want)
		}
	}
	// Only the first callers of a stopped source may wait, and only their patience.
	if len(slow) > 0 && (stopped == "" || len(slow) > 5 || slices.Max(slow) > 500*time.Millisecond) {
		t.Errorf("%d callers waited, up to %v", len(slow), slices.Max(slow))
	}
}

func requestOf(i int) scaling.Request {
	behavior := algorithm.DefaultBehavior()
	behavior.ScaleUp.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 1000, Period: time.Second}}
	return scaling.Request{
		Ref: scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: fmt.Sprintf("worker-%d", i)},
		Policy: &scaling.Policy{
			Metric: "jobs", Target: 1000, Behavior: &behavior, Cooldown: 5 * time.Minute, Interval: 30 * time.Second,
			Triggers: []scaling.Trigger{{Type: "redis", Target: 5000, Query: queue(fmt.Sprintf("redis-%d/%d", i%3, i))}},
		},
	}
}
