package redisstore

import (
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/storetest"
)

// BenchmarkBesideGet times a Load, a Swap and a bare GET of as many bytes in turn, so
// that whatever else the machine does hits all three.
func BenchmarkBesideGet(b *testing.B) {
	store := open(b, redistest.Start(b).URL(), patient)
	ctx, record := b.Context(), storetest.FullRecord()
	data, err := scaling.MarshalRecord(record)
	if err != nil {
		b.Fatal(err)
	}
	if err := store.client.Set(ctx, "plain", data, 0).Err(); err != nil {
		b.Fatal(err)
	}
	var get, load, swap time.Duration
	for b.Loop() {
		started := time.Now()
		if err := store.client.Get(ctx, "plain").Err(); err != nil {
			b.Fatal(err)
		}
		got := time.Now()
		loaded, err := store.Load(ctx, jobs)
		if err != nil {
			b.Fatal(err)
		}
		loadedAt := time.Now()
		if swapped, err := store.Swap(ctx, jobs, loaded.Version, record, time.Hour); err != nil || !swapped {
			b.Fatal(swapped, err)
		}
		get, load, swap = get+got.Sub(started), load+loadedAt.Sub(got), swap+time.Since(loadedAt)
	}
	n := float64(b.N)
	b.ReportMetric(float64(get.Microseconds())/n, "µs/GET")
	b.ReportMetric(float64(load.Microseconds())/n, "µs/Load")
	b.ReportMetric(float64(swap.Microseconds())/n, "µs/Swap")
	b.ReportMetric(float64(load)/float64(get), "Load/GET")
	b.ReportMetric(float64(swap)/float64(get), "Swap/GET")
}

// BenchmarkParallelLoad is the throughput of Loads from 64 callers.
func BenchmarkParallelLoad(b *testing.B) {
	store := open(b, redistest.Start(b).URL(), patient)
	if _, err := store.Swap(b.Context(), jobs, "", storetest.FullRecord(), time.Hour); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := store.Load(b.Context(), jobs); err != nil {
				b.Error(err)
			}
		}
	})
}
