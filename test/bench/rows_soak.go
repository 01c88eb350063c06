package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// soakPolicies are alive at any moment, each for soakLife.
	soakPolicies = 2000
	soakLife     = 2 * time.Minute
	// soakReplicas share a Redis. The first stays and is looked at; each of the others in
	// turn is killed and started again, one every soakRestart.
	soakReplicas = 3
	soakRestart  = time.Minute
	// soakHalf is half of the load. With soakSettle it is half an hour.
	soakHalf = 9 * time.Minute
	// soakForget is the shortest --forget-after that there is.
	soakForget = 10 * time.Minute
	// soakPeak is what a process may hold more after its first full load. Go keeps the
	// descriptor of every goroutine that ever ran beside others, half a KiB, for the next
	// one, and maps and buffers keep the room of their largest moment. In samples of every
	// 8 KiB that was 0.7 MiB, half of it descriptors. Of 18,000 policies it is 117 bytes each.
	soakPeak mebibytes = 2
	// soakSettle is when all is forgotten, the caches of policies and records included.
	soakSettle = soakForget + 2*time.Minute
)

func soakRows() []row {
	return []row{{
		Name: "soak", What: "2,000 policies at any moment, each for 2 minutes, and a replica restarted every minute, for 18 minutes: what is left in the process that stayed",
		Against: "before", Goal: "goroutines, heap and series as before; every record expires", Apart: true, Run: soak,
		How:    "Three scalers on one Redis with `--forget-after=10m`. Every policy has a list, a push stream, and a visit of KEDA's every 10 s at one replica after the other. Connections are made before the first look. The heap is what is alive after two collections; Records stay for the hour for which samples may matter, and `--forget-after`, so they are counted and asked when they expire.",
		Missed: "Something is not let go of. The table is what that process has more than before, from samples.",
	}}
}

func soak(ctx context.Context, l *lab) (measured, error) {
	h, err := l.startHerd(ctx, 2*l.lasts(soakHalf))
	if err != nil {
		return measured{}, err
	}
	defer h.stop()
	var (
		looks    [4]vitals // before, half way, at the end of the load, and when it is forgotten
		problems []error
	)
	look := func(i int) {
		var err error
		looks[i], err = vitalsOf(ctx, h.replicas[0])
		problems = append(problems, err)
	}
	h.warm(ctx, 10*time.Second)
	look(0) // which makes buffers too
	look(0)
	heapBefore, err := l.keepHeap(ctx, h.replicas[0], "before")
	problems = append(problems, err)
	h.herd(ctx, l.lasts(soakHalf))
	look(1)
	h.herd(ctx, l.lasts(soakHalf))
	look(2)
	h.disperse(ctx)
	h.keep(ctx, soakSettle)
	look(3)
	records, err := recordsOf(ctx, h.redis.client)
	if err := errors.Join(append(problems, err, h.failure(), ctx.Err())...); err != nil {
		return measured{}, err
	}
	before, after := looks[0], looks[3]
	m := measured{
		Figure: after.String(), Baseline: before.String(),
		Ratio: fmt.Sprintf("%.2f × the heap", float64(after.heap/before.heap)),
		Verdict: judge(after.goroutines <= before.goroutines+4 && after.heap <= before.heap+soakPeak && after.series == before.series && looks[2].series > soakPolicies/4 &&
			records.eternal == 0 && records.longest <= time.Hour+soakForget),
		Details: []string{
			fmt.Sprintf("Half way: %s.", looks[1]), fmt.Sprintf("At the end of the load: %s.", looks[2]),
			fmt.Sprintf("%d policies came and went, %d restarts; of %d calls %d had no reading in time at the replica that stayed, and %d no answer at one that was restarted.", h.next-1, h.restarts, h.calls, h.unread, h.cut),
			fmt.Sprintf("Records in Redis: %d, %d without an expiry, the last of them gone in %s.", records.count, records.eternal, records.longest.Round(time.Second)),
		},
	}
	if m.Verdict != met {
		m.Profile, err = l.heapProfile(ctx, h.replicas[0], heapBefore)
	}
	return m, err
}
