package main

import (
	"context"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// samplePeriod is how often the replicas are asked the same question at once.
const samplePeriod = 250 * time.Millisecond

// witness asks every scaler by itself, past the client's links, and compares.
type witness struct {
	keda    *keda
	scalers []pb.ExternalScalerClient
	names   []string

	samples []sample // valid once run has returned
}

// opinion is what a replica says.
type opinion struct {
	count  int32
	active bool
}

func (w *witness) run(ctx context.Context) { every(ctx, samplePeriod, w.sample) }

// sample asks once, and again if the answers differ: a window may end, and a reading or a
// move of the workload arrive, between two answers.
func (w *witness) sample(ctx context.Context) {
	at := w.keda.now()
	differ, ok := w.differ(ctx)
	if differ {
		time.Sleep(samplePeriod / 5)
		differ, ok = w.differ(ctx)
	}
	if ok {
		w.samples = append(w.samples, sample{at, differ})
	}
}

// differ asks all replicas at once. ok is false if fewer than two answered.
func (w *witness) differ(ctx context.Context) (differ, ok bool) {
	opinions := make([]*opinion, len(w.scalers))
	var asking sync.WaitGroup
	for i, scaler := range w.scalers {
		asking.Go(func() {
			count, err := w.keda.count(ctx, scaler, w.names[i])
			if err != nil {
				return
			}
			active, err := w.keda.isActive(ctx, scaler, w.names[i])
			if err == nil {
				opinions[i] = &opinion{count, active}
			}
		})
	}
	asking.Wait()
	var first *opinion
	for _, o := range opinions {
		switch {
		case o == nil:
		case first == nil:
			first = o
		default:
			ok = true
			differ = differ || *o != *first
		}
	}
	return differ, ok
}
