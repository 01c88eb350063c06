package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// policyRows are the figures of many policies in one process.
func policyRows() []row {
	const many = " policies at 3,000 calls/s: CPU of the scaler per call, its resident memory"
	return []row{
		{
			Name: "policies-10000", What: "10,000 policies at KEDA's default rates, 3,000 calls/s", Against: "an empty gRPC handler under the same load",
			Goal: "< 1 core and p99 < 10 ms, Redis included; < 150 MiB", Run: tenThousandPolicies,
			How:    "A real gRPC client, open loop, for 5 minutes after one of warming up: each policy is polled every 30 s and its HPA asks every 15 s, each time GetMetricSpec, GetMetrics and IsActive one after the other on the one connection that KEDA has. Every list changes once in 30 s. Records and lists are in one Redis. No cluster is observed; what its objects add is in `BenchmarkMemory` of `pkg/cluster`.",
			Missed: missedTenThousand,
		},
		{
			Name: "policies-50000", What: "50,000" + many, Against: "10,000 policies in the same process",
			Run: func(ctx context.Context, l *lab) (measured, error) { return growth(ctx, l, 50_000) }, How: howGrowth,
		},
		{
			Name: "policies-100000", What: "100,000" + many, Against: "10,000 policies in the same process",
			Run: func(ctx context.Context, l *lab) (measured, error) { return growth(ctx, l, 100_000) }, How: howGrowth + " The heap profile is of the end of it: " + heapOfMany,
		},
		{
			Name: "startup", What: "start-up with 10,000 records present, until it is ready", Against: "with an empty Redis",
			Run: startup,
			How: "From the start of the process to its readiness, and from then until each of 10,000 policies has been answered once, by 64 callers as fast as the answers come. The lists stay as they are, so a count below that of the process before would be a window forgotten.",
		},
	}
}

const howGrowth = "The load stays that of 10,000 policies, so that only their number grows: at KEDA's rates one policy costs 18 times the CPU per call a minute. The process first serves 10,000, then all, each once over before it is measured for one cycle. A cycle is longer with more policies, so every visit finds its reading too old, as it does at KEDA's rates."

// heapOfMany explains the heap profile.
const heapOfMany = "3.7 KiB are alive for each policy. 22 % is its last decision (`decided`), which answers why; 14 % what this process knows of its record (`memo`), by which it goes on while Redis is away; 16 % the record as it was last stored (`Swap`), which need not be fetched and decoded again; a third the parsed policy and the metadata that it was parsed from (`canonical`), whose text stood there twice in this run and stands there once since; 5 % that its list was seen to exist, so that a name without a list is told. The process has two and a half times as much, because a collection begins when the heap has doubled, and maps have room to grow."

// cost is what a load took.
type cost struct {
	lasted        time.Duration
	scaler, redis time.Duration
	memory, most  mebibytes
	redisMemory   mebibytes
	calls         calls
	tally         *tally
}

// loaded is a scaler on a Redis under KEDA's load.
type loaded struct {
	keda

	server *program
	redis  *database
}

// load keeps a timetable for a part of its time, and measures.
func (l loaded) load(ctx context.Context, table timetable, from, to time.Duration) (cost, error) {
	churning, stop := context.WithCancel(ctx)
	defer stop()
	go churn(churning, l.redis.client, len(l.objects), table.cycle)
	return l.measure(ctx, func(t *tally) {
		table.keep(ctx, from, to, func(v visit, due time.Time) { l.visit(ctx, v.policy, due, t) })
	})
}

// measure is what the processes use while something is done that tallies its calls.
func (l loaded) measure(ctx context.Context, work func(t *tally)) (cost, error) {
	serverBefore, err := cpuOf(l.server.PID())
	redisBefore, redisErr := cpuOf(l.redis.pid)
	before, callsErr := callsOf(ctx, l.redis.client)
	if err := errors.Join(err, redisErr, callsErr); err != nil {
		return cost{}, err
	}
	began, t := time.Now(), &tally{}
	work(t)
	lasted := time.Since(began)
	serverAfter, err := cpuOf(l.server.PID())
	redisAfter, redisErr := cpuOf(l.redis.pid)
	after, callsErr := callsOf(ctx, l.redis.client)
	memory, memoryErr := memoryOf(l.server.PID(), "VmRSS")
	most, mostErr := memoryOf(l.server.PID(), "VmHWM")
	redisMemory, redisMemoryErr := memoryOf(l.redis.pid, "VmRSS")
	return cost{
		lasted: lasted, scaler: serverAfter - serverBefore, redis: redisAfter - redisBefore,
		memory: memory, most: most, redisMemory: redisMemory, calls: after.since(before), tally: t,
	}, errors.Join(err, redisErr, callsErr, memoryErr, mostErr, redisMemoryErr, ctx.Err())
}

// cores is processor time per time.
func (c cost) cores(used time.Duration) float64 { return used.Seconds() / c.lasted.Seconds() }

// perCall is the scaler's processor time for one of KEDA's calls.
func (c cost) perCall() time.Duration { return c.scaler / time.Duration(max(1, len(c.tally.took))) }

// evaluations are the calls that make a decision: two of a visit's three.
func (c cost) evaluations() float64 { return float64(len(c.tally.took)) * 2 / callsPerVisit }

func (c cost) details() []string {
	return []string{
		fmt.Sprintf("%d calls in %.0f s, %.0f/s, %s; %s.", len(c.tally.took), c.lasted.Seconds(),
			float64(len(c.tally.took))/c.lasted.Seconds(), c.tally.failures(), c.tally.latencies()),
		fmt.Sprintf("CPU: scaler %.1f s (%.2f cores, %s per call), Redis %.1f s (%.2f cores).", c.scaler.Seconds(), c.cores(c.scaler), µs(c.perCall()), c.redis.Seconds(), c.cores(c.redis)),
		fmt.Sprintf("Resident memory: scaler %s at the end and %s at most, Redis %s.", c.memory, c.most, c.redisMemory),
		fmt.Sprintf("Commands to Redis per decision: %.2f (%.2f loads, %.2f swaps, %.2f reads of a list).", float64(c.calls.sent())/c.evaluations(),
			float64(c.calls.loads())/c.evaluations(), float64(c.calls.swaps())/c.evaluations(), float64(c.calls.reads())/c.evaluations()),
	}
}

// startLoaded starts a scaler and a Redis with lists for n policies.
func (l *lab) startLoaded(ctx context.Context, n int) (loaded, error) {
	r, err := startRedis(ctx)
	if err != nil {
		return loaded{}, err
	}
	scaler, err := l.startScaler(ctx, r.URL())
	if err == nil {
		err = fill(ctx, r.client, n)
	}
	if err != nil {
		r.stop()
		return loaded{}, err
	}
	return loaded{keda{scaler.client, objectsOf(n, r.Addr())}, scaler, r}, nil
}

func (l loaded) stop() {
	l.server.stop()
	l.redis.stop()
}

func tenThousandPolicies(ctx context.Context, l *lab) (measured, error) {
	n := l.count(tenThousand)
	world, err := l.startLoaded(ctx, n)
	if err != nil {
		return measured{}, err
	}
	defer world.stop()
	table := newTimetable(n, pollingInterval)
	warm := l.lasts(time.Minute)
	if _, err := world.load(ctx, table, 0, warm); err != nil {
		return measured{}, err
	}
	stopProfile := l.profileCPU(ctx, world.server)
	c, err := world.load(ctx, table, warm, warm+l.lasts(5*time.Minute))
	if err := errors.Join(err, stopProfile()); err != nil {
		return measured{}, err
	}
	empty, err := l.startBaseline(ctx, emptyHandler, world.redis.Addr())
	if err != nil {
		return measured{}, err
	}
	defer empty.stop()
	base, err := loaded{keda{empty.client, world.objects}, empty, world.redis}.load(ctx, table, 0, l.lasts(30*time.Second))
	if err != nil {
		return measured{}, err
	}
	p99, cores := c.tally.latencies().p99, c.cores(c.scaler+c.redis)
	return measured{
		Figure:   fmt.Sprintf("%.2f cores, %s, p99 %s", cores, c.most, ms(p99)),
		Baseline: fmt.Sprintf("%.2f cores, %s, p99 %s", base.cores(base.scaler), base.most, ms(base.tally.latencies().p99)),
		Ratio:    fmt.Sprintf("%.1f × the CPU", cores/base.cores(base.scaler)),
		Verdict:  judge(cores < 1 && c.most < 150 && p99 < 10*time.Millisecond && len(c.tally.failed) == 0),
		Details:  c.details(),
	}, nil
}

// growth compares so many policies with 10,000.
func growth(ctx context.Context, l *lab, n int) (measured, error) {
	few, n := l.count(tenThousand), l.count(n)
	world, err := l.startLoaded(ctx, n)
	if err != nil {
		return measured{}, err
	}
	defer world.stop()
	before, err := world.oneCycle(ctx, few, l)
	if err != nil {
		return measured{}, err
	}
	after, err := world.oneCycle(ctx, n, l)
	if err != nil {
		return measured{}, err
	}
	m := measured{
		Figure:   fmt.Sprintf("%s per call, %s", µs(after.perCall()), after.memory),
		Baseline: fmt.Sprintf("%s per call, %s", µs(before.perCall()), before.memory),
		Ratio: fmt.Sprintf("%.2f × the CPU; %.1f KiB for each policy more", after.perCall().Seconds()/before.perCall().Seconds(),
			1024*float64(after.memory-before.memory)/float64(n-few)),
		Details: append(after.details(), fmt.Sprintf("At KEDA's rates, %d calls/s, the scaler would take %.1f cores and Redis %.1f.",
			n*callsPerMinute/60, after.atKEDAsRate(n, after.scaler), after.atKEDAsRate(n, after.redis))),
	}
	if n == l.count(100_000) {
		m.Profile, err = l.heapProfile(ctx, world.server, "")
	}
	return m, err
}

// callsPerMinute are KEDA's for one policy at its defaults.
const callsPerMinute = callsPerVisit * int(time.Minute/hpaPeriod+time.Minute/pollingInterval)

// atKEDAsRate is how many cores n policies would take at KEDA's rates of what used so much.
func (c cost) atKEDAsRate(n int, used time.Duration) float64 {
	perCall := used.Seconds() / float64(max(1, len(c.tally.took)))
	return perCall * float64(n*callsPerMinute) / 60
}

// oneCycle visits the first n policies for one cycle, after as long to get to know them.
func (l loaded) oneCycle(ctx context.Context, n int, in *lab) (cost, error) {
	l.objects = l.objects[:n]
	table := atKEDAsRate(n)
	if _, err := l.load(ctx, table, 0, table.cycle); err != nil {
		return cost{}, err
	}
	stopProfile := in.profileCPU(ctx, l.server)
	c, err := l.load(ctx, table, table.cycle, 2*table.cycle)
	return c, errors.Join(err, stopProfile())
}

func startup(ctx context.Context, l *lab) (measured, error) {
	n := l.count(tenThousand)
	world, err := l.startLoaded(ctx, n)
	if err != nil {
		return measured{}, err
	}
	defer world.redis.stop()
	world.server.stop()
	first, fresh, err := l.firstAnswers(ctx, world, nil)
	if err != nil {
		return measured{}, err
	}
	again, present, err := l.firstAnswers(ctx, world, fresh.values)
	if err != nil {
		return measured{}, err
	}
	return measured{
		Figure: fmt.Sprintf("ready after %s, all answered after %s more", ms(again), ms(present.took)), Baseline: fmt.Sprintf("%s, %s", ms(first), ms(fresh.took)),
		Ratio: fmt.Sprintf("%.2f ×, %.2f ×", again.Seconds()/first.Seconds(), present.took.Seconds()/fresh.took.Seconds()),
		Details: []string{
			fmt.Sprintf("With records: %s, %s, %d counts below those before.", present.tally.latencies(), present.tally.failures(), present.lower),
			fmt.Sprintf("Without: %s, %s.", fresh.tally.latencies(), fresh.tally.failures()),
		},
	}, nil
}

// answers are those to one call for each policy.
type answers struct {
	took   time.Duration
	tally  *tally
	values []float64
	lower  int // than those expected: what a process without memory would say
}

// firstAnswers starts a scaler, asks it for everything and ends it. It returns after what
// time the scaler was ready.
func (l *lab) firstAnswers(ctx context.Context, world loaded, expected []float64) (time.Duration, answers, error) {
	began := time.Now()
	scaler, err := l.startScaler(ctx, world.redis.URL())
	if err != nil {
		return 0, answers{}, err
	}
	defer scaler.stop()
	ready := time.Since(began)
	k, a := keda{scaler.client, world.objects}, answers{values: make([]float64, len(world.objects))}
	began = time.Now()
	a.tally = together(len(a.values), doorCallers, func(i int) error {
		value, err := k.value(ctx, i)
		if err != nil {
			value = math.NaN() // neither lower nor higher than any
		}
		a.values[i] = value
		return err
	})
	a.took = time.Since(began)
	for i, value := range expected {
		if a.values[i] < value {
			a.lower++
		}
	}
	return ready, a, ctx.Err()
}
