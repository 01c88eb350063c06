package externalmetrics

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// connections is how many ask at once. The HPA controller has five workers.
const connections = 16

// BenchmarkAdapter is the whole server, TLS and permissions included, over decisions
// that cost nothing: what is left of C38's 20 ms for the decision. Server and clients
// share the machine.
func BenchmarkAdapter(b *testing.B) {
	for _, metrics := range []int{1, 1319} {
		for name, accept := range map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"} {
			b.Run(fmt.Sprintf("%d/%s", metrics, name), func(b *testing.B) { benchmarkAdapter(b, metrics, accept) })
		}
	}
}

func benchmarkAdapter(b *testing.B, metrics int, accept string) {
	b.Helper()
	names := make([]string, metrics)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	s := serve(b, Options{Policies: metricsOf(names...), Evaluator: decide(func(context.Context, scaling.Request) scaling.Decision {
		return scaling.Decision{Value: 7500, At: epoch}
	})})
	ask := func(c *http.Client, i int) {
		path := "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/" + names[i%metrics]
		if got := s.request(b, c, path, "Authorization", "Bearer alice-token", "Accept", accept); got.status != http.StatusOK {
			b.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	clients := make([]*http.Client, connections)
	for i := range clients {
		clients[i] = client()
	}
	for i := range names { // each permission is asked for once
		ask(clients[i%connections], i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	took := make([][]time.Duration, connections)
	var group sync.WaitGroup
	for i, c := range clients {
		group.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				began := time.Now()
				ask(c, int(n))
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	group.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
