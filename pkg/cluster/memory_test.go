package cluster

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// What stays of 10,000 HPAs without an External metric, of 1,000 with one, and of 1,000
// StabilizedMetrics, in bytes of heap per object.
func BenchmarkMemory(b *testing.B) {
	deepCopies := func(h *autoscalingv2.HorizontalPodAutoscaler) func(i int) any {
		return func(i int) any {
			h := h.DeepCopy()
			h.Name = fmt.Sprintf("hpa-%05d", i)
			h.Spec.ScaleTargetRef.Name = fmt.Sprintf("worker-%05d", i)
			return newNativeHPA(h)
		}
	}
	foreign := anHPA(b, "cpu", hpaSpec(" {}"), "{}")
	native := anHPA(b, "jobs", hpaSpec(" {}", "jobs: "+five), "{}")
	metric := aMetric(b, "jobs", plainMetric)
	for _, kind := range []struct {
		name  string
		count int
		make  func(i int) any
	}{
		{"HPA without External metric", 10_000, deepCopies(foreign)},
		{"HPA with External metric", 1000, deepCopies(native)},
		{"StabilizedMetric", 1000, func(i int) any {
			u := metric.DeepCopy()
			u.SetName(fmt.Sprintf("metric-%05d", i))
			return newStabilizedMetric(u)
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				store := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{byMetric: metricsOf, byTarget: targetsOf})
				for i := range kind.count {
					if err := store.Add(kind.make(i)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(heap()-before)/float64(kind.count), "B/object")
				runtime.KeepAlive(store)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// One lookup among 1,000 of each.
func BenchmarkLookups(b *testing.B) {
	three := int32(3)
	var objects []kruntime.Object
	for i := range 1000 {
		name := fmt.Sprintf("jobs-%04d", i)
		h, d := anHPA(b, name, hpaSpec(transparent, name+": "+five), "{}"), deployment(&three, 3)
		h.Spec.ScaleTargetRef.Name, d.Name = name, name
		objects = append(objects, aMetric(b, name, plainMetric), h, d)
	}
	f := newFakes(objects...)
	o, err := New(f.clients(), Options{Native: true})
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPolicies(f.clients(), &parserFake{}, PoliciesOptions{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 2)
	go func() { ended <- o.Run(ctx) }()
	go func() { ended <- p.Run(ctx) }()
	for o.Ready() != nil || p.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	ref := jobs
	ref.Name = "jobs-0500"
	b.Run("Observe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Observe(ctx, ref, ref.Name); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Metric", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Metric(ctx, ref.Namespace, ref.Name); err != nil {
				b.Fatal(err)
			}
		}
	})
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}
