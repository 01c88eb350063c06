//go:build e2e

package sharing

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

const (
	callers  = 64
	interval = 5 * time.Second
)

// process is a scaler process and what it has told so far.
type process struct {
	client pb.ExternalScalerClient
	mu     sync.Mutex
	events []event
}

func startProcess(t *testing.T, redisURL string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+redisURL)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{}
	addr := make(chan string, 1)
	done := make(chan struct{})
	go func() { defer close(done); p.listen(t, stdout, addr) }()
	t.Cleanup(func() { _ = stdin.Close(); <-done; _ = cmd.Wait() })
	conn, err := grpc.NewClient(<-addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p.client = pb.NewExternalScalerClient(conn)
	return p
}

// listen collects what the process tells; its first line is its address.
func (p *process) listen(t *testing.T, stdout io.Reader, addr chan<- string) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for first := true; lines.Scan(); first = false {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Errorf("a process said %q: %v", lines.Text(), err)
			continue
		}
		if first {
			addr <- e.Key
			continue
		}
		p.mu.Lock()
		p.events = append(p.events, e)
		p.mu.Unlock()
	}
}

func (p *process) told() []event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// object is a ScaledObject with one trigger.
func object(name, addr string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: "shop", Name: name, ScalerMetadata: map[string]string{
		"source": "redis", "address": addr, "listName": "jobs", "listLength": "5",
		"interval": strconv.Itoa(int(interval.Seconds())), "cooldownPeriod": "3",
		"behavior": "scaleUp: {policies: [{type: Pods, value: 3, periodSeconds: 2}], stabilizationWindowSeconds: 2}\n" +
			"scaleDown: {policies: [{type: Pods, value: 2, periodSeconds: 2}], stabilizationWindowSeconds: 7}",
	}}
}

// call is one answered RPC.
type call struct {
	answer
	took time.Duration
}

// load runs 64 callers against both processes for a time, and returns each one's calls.
func load(ctx context.Context, t *testing.T, processes []*process, ref *pb.ScaledObjectRef, metric string) [][]call {
	t.Helper()
	calls := make([][]call, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				begin := time.Now()
				var trailer metadata.MD
				_, err := processes[i%len(processes)].client.GetMetrics(context.WithoutCancel(ctx),
					&pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: metric}, grpc.Trailer(&trailer))
				took := time.Since(begin)
				if err != nil {
					t.Errorf("GetMetrics: %v", err)
					return
				}
				var a answer
				if err := json.Unmarshal([]byte(trailer.Get(answerTrailer)[0]), &a); err != nil {
					t.Error(err)
					return
				}
				calls[c] = append(calls[c], call{a, took})
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	return calls
}

// change gives the list another length many times a second, until the context ends: in
// turns 20 s of at most 30 jobs, then 10 s of at least 70. Every turn is longer than an
// interval and its window together, so the answers go to 8 (10 pods less 2), 10 and 13.
func change(ctx context.Context, addr string) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	begin := time.Now()
	for ctx.Err() == nil {
		length := rand.IntN(30)
		if time.Since(begin)%(30*time.Second) >= 20*time.Second {
			length = 70 + rand.IntN(80)
		}
		_, _ = client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "jobs")
			for range length {
				p.RPush(ctx, "jobs", "job")
			}
			return nil
		})
		time.Sleep(50 * time.Millisecond)
	}
}

func TestTwoProcessesShareOneRecord(t *testing.T) {
	const length = time.Minute
	shared, jobs, hung := redistest.Start(t), redistest.Start(t), redistest.Start(t)
	processes := []*process{startProcess(t, shared.URL()), startProcess(t, shared.URL())}
	parsed := parse(object("a", jobs.Addr()))

	ctx, cancel := context.WithTimeout(t.Context(), length)
	go change(ctx, jobs.Addr())
	alone := load(ctx, t, processes, object("a", jobs.Addr()), parsed.Metric)
	cancel()
	checkReads(t, processes, jobs.Addr(), length)
	checkAnswers(t, alone, records(t, processes), parsed)

	// The same beside a policy whose source hangs, called just as hard.
	ctx, cancel = context.WithTimeout(t.Context(), length)
	defer cancel()
	go change(ctx, jobs.Addr())
	hung.Suspend()
	t.Cleanup(hung.Resume)
	var beside, stuck [][]call
	var wg sync.WaitGroup
	wg.Go(func() { beside = load(ctx, t, processes, object("a", jobs.Addr()), parsed.Metric) })
	wg.Go(func() { stuck = load(ctx, t, processes, object("hung", hung.Addr()), parsed.Metric) })
	wg.Wait()
	checkAnswers(t, beside, records(t, processes), parsed)
	t.Logf("alone              %s", latencies(alone))
	t.Logf("beside a hung one  %s", latencies(beside))
	t.Logf("the hung one's own %s", latencies(stuck))
	// 500 ms is what a caller waits for a reading. If the hung source cost others
	// anything, or its own callers more than one round, most calls would show it.
	for name, calls := range map[string][][]call{"healthy": beside, "hung": stuck} {
		all := took(calls)
		if waited := countAbove(all, 490*time.Millisecond); waited > len(all)/20 {
			t.Errorf("%d of %d calls of the %s policy waited", waited, len(all), name)
		}
	}
}

func parse(ref *pb.ScaledObjectRef) *scaling.Policy {
	table := source.New(source.Options{})
	defer table.Close()
	return policy.Parser{Sources: table}.Parse(ref.ScalerMetadata)
}

// checkReads: in no interval more reads than there are processes.
func checkReads(t *testing.T, processes []*process, addr string, length time.Duration) {
	t.Helper()
	reads := 0
	for _, p := range processes {
		for _, e := range p.told() {
			if e.Read != "" && strings.Contains(e.Read, addr) {
				reads++
			}
		}
	}
	intervals := int(length/interval) + 1
	t.Logf("%d reads in %d intervals by %d processes", reads, intervals, len(processes))
	if limit := intervals * len(processes); reads > limit || reads < intervals-2 {
		t.Errorf("%d reads, want about one and at most %d per interval", reads, len(processes))
	}
}

// records are all that were stored, by the store's clock at which they were.
func records(t *testing.T, processes []*process) map[time.Time]scaling.Record {
	t.Helper()
	all := map[time.Time]scaling.Record{}
	for _, p := range processes {
		for _, e := range p.told() {
			if e.Record == nil || !strings.Contains(e.Key, "/shop/a/") {
				continue
			}
			record, err := scaling.UnmarshalRecord(e.Record)
			if err != nil {
				t.Fatal(err)
			}
			all[record.Time.UTC()] = record
		}
	}
	return all
}

// checkAnswers: each is the pure Step over a record that was stored, and no caller ever
// gets one from an older record than before.
func checkAnswers(t *testing.T, calls [][]call, stored map[time.Time]scaling.Record, p *scaling.Policy) {
	t.Helper()
	checked, alone, counts := 0, 0, map[int32]int{}
	for c, list := range calls {
		last := time.Time{}
		for _, a := range list {
			if a.Degraded { // Redis was too slow for this one: from memory, and only up
				alone++
				if a.Replicas < observation.Spec {
					t.Errorf("caller %d: %d while the store did not answer", c, a.Replicas)
				}
				continue
			}
			if a.From.Before(last) {
				t.Errorf("caller %d: answered from %v after %v", c, a.From, last)
			}
			last = a.From
			record, ok := stored[a.From.UTC()]
			if !ok {
				if !a.From.IsZero() {
					t.Errorf("caller %d: answered from a record of %v that nobody stored", c, a.From)
				}
				continue // the very first, before there was a record
			}
			want := scaling.Step(scaling.Input{
				Policy: p, Record: record, Observation: observation, Now: a.At, Elapsed: a.At.Sub(a.From),
			}).Decision
			if want.Replicas != a.Replicas || want.Active != a.Active || want.Value != a.Value || a.Held {
				t.Errorf("caller %d: answered %+v, the pure Step says %d %v %v", c, a.answer, want.Replicas, want.Active, want.Value)
			}
			checked++
			counts[a.Replicas]++
		}
	}
	t.Logf("%d answers checked, %d from memory, %d stored records, %d different counts", checked, alone, len(stored), len(counts))
	if alone > checked/2 { // a busy machine is late for some
		t.Errorf("%d answers without the store", alone)
	}
	if checked < 1000 || len(counts) < 3 {
		t.Errorf("only %d answers with %d different counts: the check saw too little", checked, len(counts))
	}
}

func took(calls [][]call) []time.Duration {
	var all []time.Duration
	for _, list := range calls {
		for _, c := range list {
			all = append(all, c.took)
		}
	}
	slices.Sort(all)
	return all
}

func countAbove(sorted []time.Duration, limit time.Duration) int {
	i, _ := slices.BinarySearch(sorted, limit)
	return len(sorted) - i
}

func latencies(calls [][]call) string {
	all := took(calls)
	at := func(q float64) string { return all[int(q*float64(len(all)-1))].Round(10 * time.Microsecond).String() }
	return strings.Join([]string{strconv.Itoa(len(all)), "calls, p50", at(.5), "p99", at(.99), "max", at(1)}, " ")
}
