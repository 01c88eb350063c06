package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// MinLength is the shortest demo: policies are written in whole seconds.
const MinLength = 15 * time.Second

// Options configure a demo.
type Options struct {
	// Length is how long it takes, from MinLength; the story stretches with it.
	Length time.Duration
	Out    io.Writer
	// Live draws the picture in place, which needs a terminal; otherwise only the
	// changes are printed.
	Live bool
}

// Run plays the story and returns when it has ended, or with the context.
func Run(ctx context.Context, o Options) error {
	if o.Length < MinLength {
		return fmt.Errorf("a demo of %v is too short; at least %v", o.Length, MinLength)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Length)
	defer cancel()
	q, err := newQueue()
	if err != nil {
		return err
	}
	defer q.server.Close()
	s := script{o.Length / columns}
	w := newWorld(kedaCooldownUnits * s.unit)
	scaler, err := startScaler(ctx, w)
	if err != nil {
		return err
	}
	defer scaler.stop()
	metadata := s.metadata(q.server.Addr())
	keda, hangUp, err := newStandins(ctx, scaler.grpcAddr, w, s, metadata)
	if err != nil {
		return err
	}
	defer hangUp()

	d := &show{world: w, queue: q, script: s, screen: screen{out: o.Out, live: o.Live, header: header(scaler, q, s)}}
	first := d.screen.header + "\n"
	if o.Live {
		first = "\x1b[2J"
	}
	_, _ = fmt.Fprintln(o.Out, first)
	failed := make(chan error, 1)
	go func() { failed <- keda.run(ctx) }()
	go q.run(ctx, s, w, func() { scaler.watcher.Poke(namespace, workloadName) })
	d.run(ctx)
	if err := <-failed; err != nil {
		return err
	}
	_, _ = fmt.Fprintln(o.Out, d.summary())
	return nil
}

// header says what runs where.
func header(s *scaler, q *queue, story script) string {
	return fmt.Sprintf(`Dashpot: scaler on the memory store, a queue, and stand-ins for KEDA and the HPA
  policy     a pod for %d jobs; %d up, %d down per %d s; window %d s; cooldown %d s + %.0f s
  ask why    curl -s http://%s/v1/policies/%s/%s
  ask it     grpcurl -plaintext %s list
  the queue  redis-cli -u redis://%s llen jobs`,
		listLength, podsUp, podsDown, story.seconds(periodUnits), story.seconds(windowUnits), story.seconds(cooldownUnits), kedaCooldownUnits*story.unit.Seconds(),
		s.httpAddr, namespace, workloadName, s.grpcAddr, q.server.Addr())
}

// scaler is Dashpot itself, on free ports.
type scaler struct {
	grpcAddr, httpAddr string
	watcher            *watch.Watcher
	stop               func()
}

func startScaler(ctx context.Context, w *world) (*scaler, error) {
	table := source.New(source.Options{Addresses: egress.Everywhere()})
	evaluator := scaling.NewEvaluator(scaling.Options{Source: table, Store: memstore.New(), Observer: w, OnDecision: w.decided})
	watcher := watch.New(evaluator, table, watch.Options{})
	server := externalscaler.NewServer(externalscaler.New(evaluator, policy.Parser{Sources: table}, watcher, nil), externalscaler.Options{Reflection: true})
	poke := func(_ context.Context, namespace, name string) error {
		if watcher.Poke(namespace, name) == 0 {
			return httpapi.ErrNotPoked
		}
		return nil
	}
	web := &http.Server{Handler: httpapi.New(httpapi.Local, evaluator, poke, slog.New(slog.DiscardHandler)), ReadHeaderTimeout: 5 * time.Second}

	s := &scaler{watcher: watcher}
	grpcListener, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	httpListener, err := listen(ctx)
	if err != nil {
		_ = grpcListener.Close()
		return nil, err
	}
	s.grpcAddr, s.httpAddr = grpcListener.Addr().String(), httpListener.Addr().String()
	go func() { _ = watcher.Run(ctx) }()
	go serve(server, grpcListener)
	go func() { _ = web.Serve(httpListener) }()
	s.stop = func() {
		watcher.Shutdown()
		server.Stop()
		_ = web.Close()
		table.Close()
	}
	return s, nil
}

func serve(server *grpc.Server, l net.Listener) { _ = server.Serve(l) }

func listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the demo: %w", err)
	}
	return l, nil
}

// show draws until the context ends, and remembers what the summary tells.
type show struct {
	world  *world
	queue  *queue
	script script
	screen screen
	empty  time.Duration // when the queue was last seen to become empty
	had    bool
}

func (d *show) run(ctx context.Context) {
	ticker := time.NewTicker(4 * tick)
	defer ticker.Stop()
	for {
		at := time.Since(d.world.start)
		decision := d.world.decision()
		now := sample{d.queue.length(), int(decision.Recommended), int(d.world.count())}
		if d.had && now.queue == 0 {
			d.empty = at
		}
		d.had = now.queue > 0
		d.screen.draw(at, d.script.units(at), now, decision, d.world.history())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// summary is the story in a few lines, from what happened.
func (d *show) summary() string {
	changes := d.world.history()
	path := []string{"0"}
	var woke, slept time.Duration
	peak := int32(0)
	for _, c := range changes {
		path = append(path, fmt.Sprint(c.to))
		peak = max(peak, c.to)
		switch {
		case c.from == 0 && woke == 0:
			woke = c.at
		case c.to == 0:
			slept = c.at
		}
	}
	if len(changes) == 0 {
		return "Nothing moved."
	}
	burst := burstAt * d.script.unit
	lines := []string{
		"", "What happened",
		fmt.Sprintf("  woke       %d ms after the first job (a poll would have taken up to %v)", (woke - burst).Milliseconds(), d.script.unit.Round(time.Millisecond)),
		fmt.Sprintf("  replicas   %s, at most %d", strings.Join(path, " → "), peak),
		fmt.Sprintf("  pause      %.0f s without arrivals inside a window of %d s", (pauseUntil-pauseFrom)*d.script.unit.Seconds(), d.script.seconds(windowUnits)),
	}
	if slept > d.empty && d.empty > 0 {
		lines = append(lines, fmt.Sprintf("  slept      %.1f s after the queue was empty: cooldown %d s from the last reading with work, which is before it was empty, then KEDA's own %.0f s from its last poll that saw it",
			(slept-d.empty).Seconds(), d.script.seconds(cooldownUnits), kedaCooldownUnits*d.script.unit.Seconds()))
	}
	return strings.Join(lines, "\n")
}
