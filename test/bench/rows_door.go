package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// doorRows are the figures of single calls.
func doorRows() []row {
	return []row{
		{
			Name: "getmetrics-memory", What: "GetMetrics, records in memory", Against: "an empty gRPC handler",
			Goal: "≥ 85 % of its requests/s", Run: getMetricsInMemory, How: howTurns,
			Missed: missedInMemory,
		},
		{
			Name: "getmetrics-redis", What: "GetMetrics, records in Redis", Against: "a gRPC handler that does one GET",
			Goal: "≥ 85 % of its requests/s", Run: getMetricsInRedis, How: howTurns + " The value that GET fetches is as long as a record.",
			Missed: missedInRedis,
		},
		{
			Name: "round-trips", What: "round trips to the records' Redis per GetMetrics", Against: "one GET",
			Goal: "1; 2 with a new reading", Run: roundTrips,
			Missed: "A call that was answered after its deadline was made again, or a count was still on its way; look at the load average.",
			How:    "Redis counts: 200 policies are asked for with a reading on file, and 200 with one that is too old. A load and a swap are one script call each. Reading the list is a third command, which goes to the queue's Redis.",
		},
		{
			Name: "hanging-source", What: "p99 of GetMetrics while another source hangs", Against: "the same before it hangs",
			Goal: "unchanged", Run: hangingSource,
			How:    "500 requests/s for 100 policies on one Redis, and 50 requests/s for 50 policies on another, which is then stopped (SIGSTOP). Open loop.",
			Missed: "Look at the load average first: the two halves are minutes of a shared machine. What a hanging source costs in the process is one goroutine and one timer per caller, for at most 500 ms and only until the server is known to be slow.",
		},
	}
}

const howTurns = "100 policies and 64 callers on one connection, as KEDA has, each with the next request as soon as the last is answered. The two servers take turns of two seconds on the same machine, five each. Caller, server and Redis share its cores, so the CPU per request is the steadier figure."

// The load of a row whose servers take turns.
const (
	doorPolicies = 100
	doorCallers  = 64
	turns        = 5
	turnLasts    = 2 * time.Second
)

// pace is what a server did in its turns.
type pace struct {
	requests             int
	lasted, server, data time.Duration // data is what Redis used
	tally                tally
}

func (p *pace) rate() float64 { return float64(p.requests) / p.lasted.Seconds() }

func (p *pace) String() string {
	n := time.Duration(max(1, p.requests))
	return fmt.Sprintf("%.0f requests/s, CPU per request %s and %s of Redis, %s", p.rate(), µs(p.server/n), µs(p.data/n), p.tally.latencies())
}

// turn has all callers ask one server for some time.
func (p *pace) turn(ctx context.Context, k keda, server, data int, lasts time.Duration) error {
	serverBefore, err := cpuOf(server)
	dataBefore, dataErr := cpuOf(data)
	if err := errors.Join(err, dataErr); err != nil {
		return err
	}
	before, began := len(p.tally.took), time.Now()
	var group sync.WaitGroup
	for caller := range doorCallers {
		group.Go(func() {
			for i := caller; time.Since(began) < lasts && ctx.Err() == nil; i++ {
				asked := time.Now()
				_, err := k.value(ctx, i%len(k.objects))
				p.tally.add(time.Since(asked), err)
			}
		})
	}
	group.Wait()
	p.lasted += time.Since(began)
	p.requests += len(p.tally.took) - before
	serverAfter, err := cpuOf(server)
	dataAfter, dataErr := cpuOf(data)
	p.server, p.data = p.server+serverAfter-serverBefore, p.data+dataAfter-dataBefore
	return errors.Join(err, dataErr, p.tally.firstFailure(), ctx.Err())
}

func getMetricsInMemory(ctx context.Context, l *lab) (measured, error) {
	return l.takeTurns(ctx, false, emptyHandler)
}

func getMetricsInRedis(ctx context.Context, l *lab) (measured, error) {
	return l.takeTurns(ctx, true, getHandler)
}

// takeTurns compares the scaler with a baseline.
func (l *lab) takeTurns(ctx context.Context, shared bool, kind string) (measured, error) {
	r, err := startRedis(ctx)
	if err != nil {
		return measured{}, err
	}
	defer r.stop()
	objects := objectsOf(doorPolicies, r.Addr())
	url := ""
	if shared {
		url = r.URL()
	}
	if err := fill(ctx, r.client, doorPolicies); err != nil {
		return measured{}, err
	}
	scaler, err := l.startScaler(ctx, url)
	if err != nil {
		return measured{}, err
	}
	defer scaler.stop()
	baseline, err := l.startBaseline(ctx, kind, r.Addr())
	if err != nil {
		return measured{}, err
	}
	defer baseline.stop()
	ours, theirs := keda{scaler.client, objects}, keda{baseline.client, objects}
	if err := errors.Join(askAll(ctx, ours), storeForGet(ctx, r, objects, shared)); err != nil {
		return measured{}, err
	}
	stopProfile := l.profileCPU(ctx, scaler)
	var scalers, baselines pace
	for range turns {
		if err := errors.Join(
			baselines.turn(ctx, theirs, baseline.PID(), r.pid, l.lasts(turnLasts)),
			scalers.turn(ctx, ours, scaler.PID(), r.pid, l.lasts(turnLasts)),
		); err != nil {
			return measured{}, err
		}
	}
	ratio := scalers.rate() / baselines.rate()
	return measured{
		Figure:   fmt.Sprintf("%.0f requests/s", scalers.rate()),
		Baseline: fmt.Sprintf("%.0f requests/s", baselines.rate()),
		Ratio:    fmt.Sprintf("%.0f %%", 100*ratio), Verdict: judge(ratio >= 0.85),
		Details: []string{"Dashpot: " + scalers.String() + ".", "Baseline: " + baselines.String() + "."},
	}, stopProfile()
}

// storeForGet gives the handler with one GET something as long as a record to get.
func storeForGet(ctx context.Context, r *database, objects []*pb.ScaledObjectRef, shared bool) error {
	if !shared {
		return nil
	}
	length, err := recordLength(ctx, r.client)
	if err != nil {
		return err
	}
	return storeRecords(ctx, r.client, objects, length)
}

// askAll asks for every policy's metric once, a few at a time: a server that has just
// started connects first. On a machine with much else to do some may need another attempt.
func askAll(ctx context.Context, k keda) error {
	const atOnce, attempts = 4, 10
	return together(len(k.objects), atOnce, func(i int) error {
		var err error
		for range attempts {
			if _, err = k.value(ctx, i); err == nil {
				return nil
			}
		}
		return err
	}).firstFailure()
}

func roundTrips(ctx context.Context, l *lab) (measured, error) {
	const policies = 200
	r, err := startRedis(ctx)
	if err != nil {
		return measured{}, err
	}
	defer r.stop()
	if err := fill(ctx, r.client, 2*policies); err != nil {
		return measured{}, err
	}
	scaler, err := l.startScaler(ctx, r.URL())
	if err != nil {
		return measured{}, err
	}
	defer scaler.stop()
	objects := objectsOf(2*policies, r.Addr())
	patient, eager := keda{scaler.client, objects[:policies]}, keda{scaler.client, objects[policies:]}
	for _, o := range patient.objects {
		o.ScalerMetadata["interval"] = "300"
		o.ScalerMetadata["listLength"] = "1000" // for one replica: a count that still moves is stored
	}
	if err := errors.Join(askAll(ctx, patient), askAll(ctx, eager)); err != nil {
		return measured{}, err
	}
	onFile, err := countCalls(ctx, r, func() error { return askAll(ctx, patient) })
	if err != nil {
		return measured{}, err
	}
	time.Sleep(6 * time.Second) // a reading of a list serves for 5 s
	fresh, err := countCalls(ctx, r, func() error { return askAll(ctx, eager) })
	if err != nil {
		return measured{}, err
	}
	per := func(n int64) float64 { return float64(n) / policies }
	one, two := per(onFile.loads()+onFile.swaps()), per(fresh.loads()+fresh.swaps())
	return measured{
		Figure: fmt.Sprintf("%.2f; %.2f with a new reading", one, two), Baseline: "1",
		Ratio: fmt.Sprintf("%.2f; %.2f", one, two), Verdict: judge(one <= 1 && two <= 2),
		Details: []string{fmt.Sprintf("With a new reading: %.2f loads, %.2f swaps and %.2f reads of the list per request.", per(fresh.loads()), per(fresh.swaps()), per(fresh.reads()))},
	}, nil
}

// countCalls is what Redis was asked for while something ran.
func countCalls(ctx context.Context, r *database, run func() error) (calls, error) {
	before, err := callsOf(ctx, r.client)
	if err != nil {
		return nil, err
	}
	if err := run(); err != nil {
		return nil, err
	}
	after, err := callsOf(ctx, r.client)
	return after.since(before), err
}

// The load of hangingSource: requests per second, and how many policies they are for.
const (
	goodRate, goodPolicies = 500, 100
	badRate, badPolicies   = 50, 50
)

func hangingSource(ctx context.Context, l *lab) (measured, error) {
	good, err := startRedis(ctx)
	if err != nil {
		return measured{}, err
	}
	defer good.stop()
	bad, err := startRedis(ctx)
	if err != nil {
		return measured{}, err
	}
	defer bad.stop()
	if err := errors.Join(fill(ctx, good.client, goodPolicies), fill(ctx, bad.client, badPolicies)); err != nil {
		return measured{}, err
	}
	scaler, err := l.startScaler(ctx, good.URL())
	if err != nil {
		return measured{}, err
	}
	defer scaler.stop()
	var objects []*pb.ScaledObjectRef
	for i := range badPolicies {
		objects = append(objects, objectOf(goodPolicies+i, bad.Addr()))
	}
	healthy, sick := keda{scaler.client, objectsOf(goodPolicies, good.Addr())}, keda{scaler.client, objects}
	if err := errors.Join(askAll(ctx, healthy), askAll(ctx, sick)); err != nil {
		return measured{}, err
	}
	lasts := l.lasts(20 * time.Second)
	before, _ := besides(ctx, healthy, sick, lasts)
	bad.Suspend()
	during, stuck := besides(ctx, healthy, sick, lasts)
	bad.Resume()
	if err := errors.Join(before.firstFailure(), during.firstFailure()); err != nil {
		return measured{}, err
	}
	was, is := before.latencies(), during.latencies()
	return measured{
		Figure: ms(is.p99), Baseline: ms(was.p99), Ratio: fmt.Sprintf("%.2f ×", is.p99.Seconds()/was.p99.Seconds()),
		// A machine that others use moves a p99 by more than a hanging source does.
		Verdict: judge(is.p99 <= 2*was.p99),
		Details: []string{
			"Before: " + was.String() + ".", "During: " + is.String() + ".",
			"Who asks for the source that hangs: " + stuck.latencies().String() + ".",
		},
	}, nil
}

// besides asks for healthy and for sick policies, each at its rate.
func besides(ctx context.Context, healthy, sick keda, lasts time.Duration) (good, bad *tally) {
	good, bad = &tally{}, &tally{}
	var group sync.WaitGroup
	group.Go(func() { healthy.atRate(ctx, goodRate, lasts, good) })
	group.Go(func() { sick.atRate(ctx, badRate, lasts, bad) })
	group.Wait()
	return good, bad
}

// atRate asks for metrics so many times a second, each when it is due.
func (k keda) atRate(ctx context.Context, rate int, lasts time.Duration, t *tally) {
	table := timetable{cycle: time.Duration(len(k.objects)) * time.Second / time.Duration(rate)}
	for i := range k.objects {
		table.visits = append(table.visits, visit{i, time.Duration(i) * time.Second / time.Duration(rate)})
	}
	table.keep(ctx, 0, lasts, func(v visit, due time.Time) {
		_, err := k.value(ctx, v.policy)
		t.add(time.Since(due), err)
	})
}
