package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
)

// cell is one experiment: a fault in a set-up, with the script of a seed.
type cell struct {
	Fault string `json:"fault"`
	Setup string `json:"setup"`
	Seed  uint64 `json:"seed"`
}

func (c cell) String() string { return fmt.Sprintf("%s, %s, seed %d", c.Fault, c.Setup, c.Seed) }

// aftermath is how long a cell goes on after the fault has healed, at least: a window and
// what it holds.
const aftermath = 20 * time.Second

// run makes the experiment. Its error is the harness's own failure, and no result.
func (c cell) run(ctx context.Context, s *stage, f fault) (result, error) {
	load := newScript(c.Seed)
	w, err := newWorld(ctx, s, c.Setup, load)
	if err != nil {
		return result{}, err
	}
	defer w.close() //nolint:contextcheck // it ends what was cancelled too
	p, err := newPlayers(ctx, w)
	if err != nil {
		return result{}, err
	}
	defer p.close()
	if f.prepare != nil {
		if err := f.prepare(ctx, w); err != nil {
			return result{}, fmt.Errorf("prepare %s: %w", f.name, err)
		}
	}
	healed, length, err := p.play(ctx, w, f)
	if err != nil {
		return result{}, err
	}
	return c.sentence(w, p, f, healed, length)
}

// players are those who ask.
type players struct {
	keda    *keda
	witness *witness
	native  *native
	conns   []*grpc.ClientConn
}

func newPlayers(ctx context.Context, w *world) (*players, error) {
	p := &players{}
	connect := func(addrs ...string) (pb.ExternalScalerClient, error) {
		conn, err := dial(addrs...)
		if err != nil {
			return nil, err
		}
		p.conns = append(p.conns, conn)
		return pb.NewExternalScalerClient(conn), nil
	}
	scaler, err := connect(w.scalers[0].door.addr, w.scalers[1].door.addr)
	if err != nil {
		return nil, err
	}
	p.keda = &keda{
		book: &book{now: w.now, replicas: &w.worker.confirmed}, scaler: scaler,
		object: &pb.ScaledObjectRef{Namespace: w.namespace, Name: kedaWorker, ScalerMetadata: maps.Clone(metadata(w.url(kedaWorker)))},
		write:  w.writer(kedaWorker, w.worker),
	}
	p.witness = &witness{keda: p.keda}
	for _, r := range w.scalers {
		scaler, err := connect(r.addr)
		if err != nil {
			return nil, err
		}
		p.witness.scalers, p.witness.names = append(p.witness.scalers, scaler), append(p.witness.names, r.name)
	}
	p.native = &native{
		book:  &book{now: w.now, replicas: &w.native.confirmed},
		url:   fmt.Sprintf("https://%s/apis/external.metrics.k8s.io/v1beta1/namespaces/%s/%s", w.adapter.door.addr, w.namespace, metricName),
		write: w.writer(nativeWorker, w.native),
	}
	if p.native.http, err = newHTTPClient(w.Config); err != nil {
		return nil, err
	}
	if err := p.awaitFirst(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *players) close() {
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

// awaitFirst waits until everybody answers, and forgets what was answered.
func (p *players) awaitFirst(ctx context.Context) error {
	deadline := time.Now().Add(startLimit)
	specs, err := p.keda.scaler.GetMetricSpec(ctx, p.keda.object, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("the first answer: %w", err)
	}
	p.keda.metric = specs.GetMetricSpecs()[0].GetMetricName()
	for {
		_, ok := p.witness.differ(ctx)
		_, err := p.native.ask(ctx)
		if ok && err == nil {
			p.keda.answers, p.keda.errors = nil, 0
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not everybody answers: %s; %w", p.keda.lastError, errors.Join(err))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// play runs the script with the fault in it, and returns when it had healed and how long
// all lasted.
func (p *players) play(ctx context.Context, w *world, f fault) (healed, length time.Duration, err error) {
	playing, stop := context.WithCancel(ctx)
	defer stop()
	begun := time.Now()
	w.begun.Store(&begun)
	var asking sync.WaitGroup
	for _, run := range []func(context.Context){p.keda.run, p.witness.run, p.native.run} {
		asking.Go(func() { run(playing) })
	}
	healed, err = w.disturb(ctx, f)
	if err == nil {
		length = max(w.load.length, healed+aftermath)
		err = w.sleepUntil(ctx, length)
	}
	stop()
	asking.Wait()
	return healed, length, err
}

// disturb injects the fault when the script says so, and heals it.
func (w *world) disturb(ctx context.Context, f fault) (healed time.Duration, err error) {
	if err := w.sleepUntil(ctx, w.load.fault); err != nil {
		return 0, err
	}
	heal, err := f.inject(ctx, w)
	if err != nil {
		return 0, fmt.Errorf("inject %s: %w", f.name, err)
	}
	if err := w.sleepUntil(ctx, w.load.fault+f.duration()); err != nil {
		return 0, err
	}
	if err := heal(ctx); err != nil {
		return 0, fmt.Errorf("heal %s: %w", f.name, err)
	}
	return w.now(), nil
}

func (w *world) sleepUntil(ctx context.Context, t time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t - w.now()):
		return nil
	}
}

// writer returns what sets a workload's replicas, and writes down when it had.
func (w *world) writer(deployment string, written *moves) func(context.Context, int32) {
	return func(ctx context.Context, count int32) {
		sent := w.now()
		if err := w.SetReplicas(ctx, w.namespace, deployment, count); err == nil {
			written.sent.set(sent, count)
			written.confirmed.set(w.now(), count)
		}
	}
}

// sentence compares what was answered with the reference.
func (c cell) sentence(w *world, p *players, f fault, healed, length time.Duration) (result, error) {
	parsed, err := parse(metadata(w.url(kedaWorker)))
	if err != nil {
		return result{}, err
	}
	r := result{cell: c, Moment: w.load.moment, Healed: healed.Seconds()}
	for _, side := range []struct {
		*book
		workload string
		moves    *moves
	}{{p.keda.book, kedaWorker, w.worker}, {p.native.book, nativeWorker, w.native}} {
		t := trial{replicas: side.replicas}
		if f.blind {
			t.blind = span{w.load.fault, healed}
		}
		h := history{
			readings: w.source.answered(side.workload), replicas: &side.moves.sent, load: w.load, blind: t.blind,
			native: side.workload == nativeWorker, length: length + tolerance,
		}
		early, err := newReference(parsed, h)
		if err != nil {
			return result{}, err
		}
		h.replicas = &side.moves.confirmed
		late, err := newReference(parsed, h)
		if err != nil {
			return result{}, err
		}
		t.reference = early.lower(late)
		v := t.judge(side.answers)
		r.add(v, side.errors)
		if side.workload == kedaWorker {
			r.Silence = silence(side.answers, length).Seconds()
		}
	}
	r.Disagreement = disagreement(p.witness.samples, healed).Seconds()
	return r, nil
}
