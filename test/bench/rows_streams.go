package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// streamRows are the figures of push streams.
func streamRows() []row {
	return []row{
		{
			Name: "streams-idle", What: "watching 10,000 idle streams", Against: "the 10,000 LLEN a second alone, in pipelines of 500",
			Goal: "< 0.3 core", Run: idleStreams,
			How:    "10,000 push streams of workloads at zero, open on one connection, and nothing else: the scaler reads every list once a second. `BenchmarkIdleStreams` of `pkg/watch` is the scheduler without the reads.",
			Missed: missedIdleStreams,
		},
		{
			Name: "push-poke", What: "push to active with a poke, p99 with 1, 100 and 5,000 open streams", Against: "a handler that passes the poke on, without asking Redis",
			Goal: "p99 < 50 ms", Run: pokedPushes,
			How:    "From before RPUSH and PUBLISH leave until `true` has arrived on the stream: the poke travels through Redis, and the decision loads the record, reads the list and stores the new record first.",
			Missed: missedPoke,
		},
		{
			Name: "push", What: "push to active without a poke, p99 with 1, 100 and 5,000 open streams", Against: "the interval, 1 s",
			Goal: "p99 ≤ interval + 50 ms", Run: plainPushes,
			How:    "The same with RPUSH alone, at any time of the interval: half of it on average is waiting for the next read.",
			Missed: missedPush,
		},
	}
}

// stream is one open push stream.
type stream struct {
	policy int
	told   chan time.Time
	close  context.CancelFunc
}

// open opens the stream of a policy, which is told of activity until it is closed.
func (k keda) open(ctx context.Context, policy int, broken chan<- error) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{policy, make(chan time.Time, 1), cancel}
	go func() {
		client, err := k.client.StreamIsActive(ctx, k.objects[policy])
		for err == nil {
			if _, err = client.Recv(); err == nil {
				select {
				case s.told <- time.Now():
				default:
				}
			}
		}
		if ctx.Err() == nil {
			select {
			case broken <- fmt.Errorf("stream of policy %d: %w", policy, err):
			default:
			}
		}
	}()
	return s
}

// openStreams opens the streams of the first n policies and waits until they sleep: each is
// decided on as it opens, with one read, and then read once a second.
func (l loaded) openStreams(ctx context.Context, n int, broken chan<- error) ([]*stream, error) {
	before, err := callsOf(ctx, l.redis.client)
	if err != nil {
		return nil, err
	}
	streams := make([]*stream, n)
	for i := range streams {
		streams[i] = l.open(ctx, i, broken)
	}
	for deadline := time.Now().Add(startPatience); ; time.Sleep(100 * time.Millisecond) {
		now, err := callsOf(ctx, l.redis.client)
		switch {
		case err != nil:
			return nil, err
		case now.since(before).reads() >= 2*int64(n):
			return streams, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("after %s the lists of %d streams had been read only %d times", startPatience, n, now.since(before).reads())
		}
	}
}

// startSleeping starts a scaler over n policies without work.
func (l *lab) startSleeping(ctx context.Context, n int) (loaded, error) {
	world, err := l.startLoaded(ctx, 0)
	if err != nil {
		return loaded{}, err
	}
	world.objects = objectsOf(n, world.redis.Addr())
	return world, nil
}

func idleStreams(ctx context.Context, l *lab) (measured, error) {
	n := l.count(tenThousand)
	world, err := l.startSleeping(ctx, n)
	if err != nil {
		return measured{}, err
	}
	defer world.stop()
	broken := make(chan error, 1)
	if _, err := world.openStreams(ctx, n, broken); err != nil {
		return measured{}, err
	}
	stopProfile := l.profileCPU(ctx, world.server)
	c, err := world.idle(ctx, world.server, l)
	if err := errors.Join(err, stopProfile(), pending(broken)); err != nil {
		return measured{}, err
	}
	world.server.stop()
	lengths, err := l.startBaseline(ctx, lengthReader, world.redis.Addr())
	if err != nil {
		return measured{}, err
	}
	defer lengths.stop()
	base, err := world.idle(ctx, lengths, l)
	if err != nil {
		return measured{}, err
	}
	cores, baseCores := c.cores(c.scaler), base.cores(base.scaler)
	return measured{
		Figure: fmt.Sprintf("%.2f cores", cores), Baseline: fmt.Sprintf("%.2f cores", baseCores),
		Ratio: fmt.Sprintf("%.1f ×", cores/baseCores), Verdict: judge(cores < 0.3),
		Details: []string{
			fmt.Sprintf("%.0f reads a second. Redis: %.2f cores, beside %.2f for LLEN alone.", float64(c.calls.reads())/c.lasted.Seconds(), c.cores(c.redis), base.cores(base.redis)),
			fmt.Sprintf("Resident memory: %s, %.1f KiB per stream.", c.memory, 1024*float64(c.memory)/float64(n)),
		},
	}, nil
}

// idle measures a program that is left alone.
func (l loaded) idle(ctx context.Context, p *program, in *lab) (cost, error) {
	l.server = p
	return l.measure(ctx, func(*tally) {
		select {
		case <-ctx.Done():
		case <-time.After(in.lasts(30 * time.Second)):
		}
	})
}

// pending is the error that has come, if any has.
func pending(broken <-chan error) error {
	select {
	case err := <-broken:
		return err
	default:
		return nil
	}
}

// streamCounts are how many streams are open while work is pushed for one after the other.
var streamCounts = []int{1, 100, 5000}

// How often work is pushed: once for each stream if they are few, but for a single one
// again and again, each time for a new one, which first has to fall asleep.
const (
	pushes       = 200
	pushesForOne = 30
	fallAsleep   = 1500 * time.Millisecond
)

func pokedPushes(ctx context.Context, l *lab) (measured, error) {
	ours, theirs := make([]latencies, len(streamCounts)), make([]latencies, len(streamCounts))
	for i, n := range streamCounts {
		var err error
		if ours[i], err = l.pushAll(ctx, n, true, false); err != nil {
			return measured{}, err
		}
		if theirs[i], err = l.pushAll(ctx, n, true, true); err != nil {
			return measured{}, err
		}
	}
	m := measured{
		Figure: p99s(ours), Baseline: p99s(theirs),
		Ratio: ratios(ours, theirs), Verdict: met,
	}
	for i, n := range streamCounts {
		m.Details = append(m.Details, fmt.Sprintf("%d open: %s; passed on: %s.", n, ours[i], theirs[i]))
		if ours[i].p99 >= 50*time.Millisecond {
			m.Verdict = missed
		}
	}
	return m, nil
}

func plainPushes(ctx context.Context, l *lab) (measured, error) {
	const interval = time.Second
	m := measured{Baseline: ms(interval), Verdict: met}
	var all []latencies
	for _, n := range streamCounts {
		took, err := l.pushAll(ctx, n, false, false)
		if err != nil {
			return measured{}, err
		}
		all = append(all, took)
		m.Details = append(m.Details, fmt.Sprintf("%d open: %s.", n, took))
		if took.p99 > interval+50*time.Millisecond {
			m.Verdict = missed
		}
	}
	m.Figure = p99s(all)
	var over []string
	for _, took := range all {
		over = append(over, fmt.Sprintf("%.2f", took.p99.Seconds()/interval.Seconds()))
	}
	m.Ratio = strings.Join(over, " / ") + " ×"
	return m, nil
}

func p99s(all []latencies) string {
	var texts []string
	for _, l := range all {
		texts = append(texts, ms(l.p99))
	}
	return strings.Join(texts, " / ")
}

func ratios(ours, theirs []latencies) string {
	var texts []string
	for i := range ours {
		texts = append(texts, fmt.Sprintf("%.1f", ours[i].p99.Seconds()/theirs[i].p99.Seconds()))
	}
	return strings.Join(texts, " / ") + " ×"
}

// pushAll measures pushes with so many streams open: with a poke or without, of the scaler
// or of the handler that passes pokes on.
func (l *lab) pushAll(ctx context.Context, open int, poke, passOn bool) (latencies, error) {
	open = l.count(open)
	world, err := l.startSleeping(ctx, open+pushesForOne)
	if err != nil {
		return latencies{}, err
	}
	defer func() { world.stop() }()
	if passOn {
		world.server.stop()
		if world.server, err = l.startBaseline(ctx, relay, world.redis.Addr()); err != nil {
			return latencies{}, err
		}
		world.client = world.server.client
	}
	p := pusher{world, poke, !passOn, make(chan error, 1)}
	t := &tally{}
	if open == 1 {
		err = p.oneByOne(ctx, l.count(pushesForOne), t)
	} else {
		err = p.amongMany(ctx, open, t)
	}
	return t.latencies(), errors.Join(err, t.firstFailure())
}

// pusher puts work into lists whose streams sleep.
type pusher struct {
	loaded

	poke, looksAtLists bool
	broken             chan error
}

// anyPhase is a different part of a time for each push, spread evenly.
func anyPhase(push int, of time.Duration) time.Duration {
	return of * time.Duration(push*618%1000) / 1000
}

// oneByOne has one stream open at a time.
func (p pusher) oneByOne(ctx context.Context, total int, t *tally) error {
	for i := range total {
		s := p.open(ctx, i, p.broken)
		time.Sleep(fallAsleep + anyPhase(i, time.Second))
		t.add(p.push(ctx, s))
		s.close()
	}
	return ctx.Err()
}

// amongMany pushes for some of many streams, without waiting for one to push for the next.
func (p pusher) amongMany(ctx context.Context, open int, t *tally) error {
	var streams []*stream
	var err error
	if p.looksAtLists {
		streams, err = p.openStreams(ctx, open, p.broken)
	} else {
		for i := range open {
			streams = append(streams, p.open(ctx, i, p.broken))
		}
	}
	if err != nil {
		return err
	}
	time.Sleep(fallAsleep)
	var group sync.WaitGroup
	total := min(open, pushes)
	for i := range total {
		time.Sleep(anyPhase(i, 50*time.Millisecond))
		group.Go(func() { t.add(p.push(ctx, streams[i*open/total])) })
	}
	group.Wait()
	return ctx.Err()
}

// push is how long a job needs to wake its stream.
func (p pusher) push(ctx context.Context, s *stream) (time.Duration, error) {
	object, pipe := p.objects[s.policy], p.redis.client.Pipeline()
	began := time.Now()
	pipe.RPush(ctx, listOf(s.policy), "job")
	if p.poke {
		pipe.Publish(ctx, pokeChannel, object.Namespace+"/"+object.Name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	select {
	case at := <-s.told:
		return at.Sub(began), nil
	case err := <-p.broken:
		return 0, err
	case <-time.After(startPatience):
		return 0, fmt.Errorf("policy %d: not told of its work after %s", s.policy, startPatience)
	}
}
