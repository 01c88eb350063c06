package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// callTimeout is that of the HPA controller's request, which KEDA passes on. A poll has
// none.
const callTimeout = time.Minute

// tally is what calls took, and which of them failed. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	took   []time.Duration
	failed []error
}

func (t *tally) add(took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took = append(t.took, took)
	if err != nil {
		t.failed = append(t.failed, err)
	}
}

// latencies are the times below which so many of all lie.
type latencies struct{ p50, p99, longest time.Duration }

// latencies sorts what was measured.
func (t *tally) latencies() latencies {
	t.mu.Lock()
	defer t.mu.Unlock()
	return latenciesOf(t.took)
}

func latenciesOf(took []time.Duration) latencies {
	if len(took) == 0 {
		return latencies{}
	}
	sorted := slices.Sorted(slices.Values(took))
	n := len(sorted)
	return latencies{sorted[n/2], sorted[n*99/100], sorted[n-1]}
}

func (l latencies) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, longest %s", ms(l.p50), ms(l.p99), ms(l.longest))
}

// ms is a time as the page writes it.
func ms(d time.Duration) string {
	digits := 2
	switch {
	case d >= 100*time.Millisecond:
		digits = 0
	case d >= 10*time.Millisecond:
		digits = 1
	}
	return fmt.Sprintf("%.*f ms", digits, d.Seconds()*1e3)
}

// µs is the same for what is shorter.
func µs(d time.Duration) string {
	return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond))
}

// failures are how many calls failed, with the first as an example.
func (t *tally) failures() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) == 0 {
		return "0 errors"
	}
	return fmt.Sprintf("%d errors (such as: %v)", len(t.failed), t.failed[0])
}

// firstFailure is an error if any call failed.
func (t *tally) firstFailure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed, such as: %w", len(t.failed), len(t.took), t.failed[0])
}

// keda calls a scaler as KEDA's operator does.
type keda struct {
	client  pb.ExternalScalerClient
	objects []*pb.ScaledObjectRef
}

// visit makes the three calls of a visit. The first counts from when it was due, so that
// a call which had to wait for its turn shows; the next ones from when KEDA would send
// them.
func (k keda) visit(ctx context.Context, policy int, due time.Time, t *tally) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object := k.objects[policy]
	spec, err := k.client.GetMetricSpec(ctx, object)
	t.add(time.Since(due), err)
	if err != nil || len(spec.GetMetricSpecs()) != 1 {
		return
	}
	began := time.Now()
	_, err = k.client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: object, MetricName: spec.MetricSpecs[0].MetricName})
	t.add(time.Since(began), err)
	began = time.Now()
	_, err = k.client.IsActive(ctx, object)
	t.add(time.Since(began), err)
}

// value asks for a policy's metric.
func (k keda) value(ctx context.Context, policy int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := k.client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: k.objects[policy]})
	if err != nil {
		return 0, err
	}
	if n := len(answer.GetMetricValues()); n != 1 {
		return 0, fmt.Errorf("%d values for one metric", n)
	}
	return answer.MetricValues[0].MetricValueFloat, nil
}

// together calls something n times, so many at once, as fast as the answers come, and
// returns what each call took.
func together(n, atOnce int, call func(i int) error) *tally {
	next := make(chan int)
	var group sync.WaitGroup
	t := &tally{}
	for range atOnce {
		group.Go(func() {
			for i := range next {
				began := time.Now()
				err := call(i)
				t.add(time.Since(began), err)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return t
}
