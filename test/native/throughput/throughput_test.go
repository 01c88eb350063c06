//go:build e2e

// Package throughput_test measures how fast HPAs are answered: Dashpot's adapter beside
// KEDA's, on one API server, for the same lists of the same Redis. It judges what is
// answered, and prints how fast.
package throughput_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

const (
	connections = 16
	turns       = 3
	// waiting is how many connections ask for metrics of the source that hangs.
	waiting = 4
)

// turn is how long each of an adapter's turns takes. A second shows whether the answers
// are right; figures to compare want more.
var turn = flag.Duration("turn", time.Second, "how long one turn of one adapter takes")

func TestThroughput(t *testing.T) {
	// The controller leaves 2,100 HPAs alone while they are measured.
	c, err := cluster.Start(t.Context(), cluster.Options{HPASync: time.Hour, Logf: log.Printf, Dir: os.Getenv("E2E_DIR")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	adapters := start(t, c, "cmd/adapter", ours, "--redis-url="+redistest.Start(t).URL())
	floor := start(t, c, "test/native/throughput/floor", ourFloor, fmt.Sprintf("--value=%d", queue))
	good, bad := scenario.New(t, c, 1), scenario.New(t, c, 1)
	populate(t, good, 0, metrics)
	populate(t, bad, metrics, metrics+hanging)
	namespace := func(i int) string {
		if i < metrics {
			return good.Namespace
		}
		return bad.Namespace
	}
	b := bench{T: t, token: token(t, c, good.Namespace), adapters: []*adapter{
		{
			name: "Dashpot", group: ours, namespace: namespace, metric: func(name string) string { return name },
			direct: "https://" + adapters.HTTPSAddr(0), aggregated: c.Config.Host,
		},
		{
			name: "KEDA", group: cluster.ExternalMetricsGroup, namespace: namespace,
			metric: func(name string) string {
				return "s0-redis-" + name + "?labelSelector=scaledobject.keda.sh%2Fname%3D" + name
			},
			direct: "https://" + portOf(t, c, cluster.ExternalMetricsGroup), aggregated: c.Config.Host,
		},
		{
			name: "floor", group: ourFloor, namespace: namespace, metric: func(name string) string { return name },
			direct: "https://" + floor.HTTPSAddr(0), aggregated: c.Config.Host,
		},
	}}
	b.adapters[0].processes = []int{adapters.PID(0)}
	b.adapters[1].processes = kedaProcesses(t, c)
	b.adapters[2].processes = []int{floor.PID(0)}
	for _, a := range b.adapters {
		awaitAll(t, a, newClient(b.token))
	}
	t.Logf("memory of Dashpot's adapter with %d StabilizedMetrics: %s", metrics+hanging, memory(t, adapters.PID(0)))
	b.compare("", 0)
	bad.Redis.Suspend()
	defer bad.Redis.Resume()
	b.compare(", one source hanging", waiting)
	t.Logf("memory of Dashpot's adapter afterwards: %s", memory(t, adapters.PID(0)))
}

// start builds a program of this module and runs it as an adapter of a group: one, as
// there is one of KEDA.
func start(t *testing.T, c *cluster.Cluster, path, group string, args ...string) *cluster.Adapters {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(path))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/dashpot-project/dashpot/"+path)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", path, err, out)
	}
	adapters, err := c.StartAdapters(t.Context(), cluster.AdapterOptions{
		Program: program, Replicas: 1, Group: group, CRDs: "../../../charts/dashpot/crds/dashpot.dev_stabilizedmetrics.yaml", Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapters.Stop)
	return adapters
}

// bench compares adapters.
type bench struct {
	*testing.T
	token    string
	adapters []*adapter
}

// compare lets the adapters take turns, for one metric and for all, at their own
// addresses and through the API server. Meanwhile so many others wait for a source that
// does not answer.
func (b bench) compare(when string, others int) {
	for _, distinct := range []int{1, metrics} {
		for _, aggregated := range []bool{false, true} {
			total := map[*adapter]result{}
			for i := range turns {
				for j := range b.adapters {
					a := b.adapters[(i+j)%len(b.adapters)] // nobody is always the first
					total[a] = total[a].add(b.turn(a, distinct, aggregated, others))
				}
			}
			way := "direct"
			if aggregated {
				way = "through the API server"
			}
			b.report(fmt.Sprintf("%d metrics, %s%s", distinct, way, when), total)
		}
	}
}

// turn loads one adapter.
func (b bench) turn(a *adapter, distinct int, aggregated bool, others int) result {
	server := a.direct
	if aggregated {
		server = a.aggregated
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var background sync.WaitGroup
	background.Go(func() {
		load{func(n int) string { return a.url(server, metrics+n%hanging) }, b.clients(others), *turn}.run(ctx)
	})
	before := cpu(b.T, a.processes)
	measured := load{func(n int) string { return a.url(server, n%distinct) }, b.clients(connections), *turn}.run(ctx)
	measured.cpu = cpu(b.T, a.processes) - before
	cancel()
	background.Wait()
	return measured
}

func (b bench) clients(n int) []*client {
	list := make([]*client, n)
	for i := range list {
		list[i] = newClient(b.token)
	}
	return list
}

// report prints what was measured, and fails for answers that were wrong.
func (b bench) report(title string, total map[*adapter]result) {
	var text strings.Builder
	of := make([]figures, len(b.adapters))
	for i, a := range b.adapters {
		of[i] = total[a].figures()
		fmt.Fprintf(&text, "\n  %-8s %s", a.name, of[i])
		if wrong := total[a].errors; len(wrong) > 0 {
			b.Errorf("%s: %s: %d of %d answers are wrong, such as: %v", title, a.name, len(wrong), len(total[a].took), wrong[0])
		}
	}
	b.Logf("%s: %.1f times the rate, %.2f times the p99, %.2f times the CPU%s", title,
		of[0].rate/of[1].rate, of[0].p99.Seconds()/of[1].p99.Seconds(), of[0].cpu.Seconds()/of[1].cpu.Seconds(), text.String())
}
