package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// jobsQueue is a query, a source that reads 37 for it, and an evaluator that takes
// that for work if the reading is handed to it.
type jobsQueue struct{ evaluated atomic.Int64 }

func (*jobsQueue) Server() string { return "redis" }
func (*jobsQueue) String() string { return "list jobs" }

func (*jobsQueue) Read(_ context.Context, queries []scaling.Query) []scaling.Outcome {
	return []scaling.Outcome{{Value: 37}}[:len(queries)]
}

func (q *jobsQueue) Evaluate(_ context.Context, req scaling.Request) scaling.Decision {
	q.evaluated.Add(1)
	return scaling.Decision{OpenLoop: true, Active: req.Outcomes != nil}
}

// TestPokeTravels from one replica's HTTP by Redis to the stream that another holds.
// The interval is an hour, so nothing but the poke wakes the stream in time.
func TestPokeTravels(t *testing.T) {
	server := redistest.Start(t)
	here, there := mustOpen(t, server.URL()), mustOpen(t, server.URL())
	queue := &jobsQueue{}
	watcher := watch.New(queue, queue, watch.Options{Interval: time.Hour, Check: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	go func() { ended <- watcher.Run(ctx) }()
	go func() { ended <- pokes{there.Redis, watcher}.listen(ctx) }()
	told := make(chan struct{}, 100)
	go func() {
		policy := &scaling.Policy{Metric: "jobs", Triggers: []scaling.Trigger{{Query: queue}}}
		ended <- watcher.Watch(context.WithoutCancel(ctx), scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: "worker"}, policy, func() error {
			told <- struct{}{}
			return nil
		})
	}()
	until(t, "the stream is watched", func() bool { return queue.evaluated.Load() > 0 })
	poke := pokes{here.Redis, watch.New(queue, queue, watch.Options{})}.send
	until(t, "the stream is told", func() bool { // the subscription may still be on its way
		if err := poke(t.Context(), "shop", "worker"); err != nil {
			t.Fatal(err)
		}
		return len(told) > 0
	})
	cancel()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Errorf("ended with %v; want nil", err)
		}
	}
}

// While Redis is away, a poke is for the streams of this replica, and says so if
// there are none.
func TestPokeWithoutRedis(t *testing.T) {
	server := redistest.Start(t)
	records := mustOpen(t, server.URL())
	server.Kill()
	queue := &jobsQueue{}
	watcher := watch.New(queue, queue, watch.Options{})
	if err := (pokes{records.Redis, watcher}).send(t.Context(), "shop", "worker"); err == nil || errors.Is(err, httpapi.ErrNotPoked) {
		t.Errorf("error %v; want that of Redis", err)
	}
	if err := (pokes{watcher: watcher}).send(t.Context(), "shop", "worker"); !errors.Is(err, httpapi.ErrNotPoked) {
		t.Errorf("error %v; want that nobody listens", err)
	}
}

func mustOpen(t *testing.T, url string) process.Records {
	t.Helper()
	opened, err := process.OpenRecords(url, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}
