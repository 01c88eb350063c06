package externalmetrics

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
)

// The fleet of C38: every HPA of a large cluster, and the controller that asks for them.
const (
	fleet      = 1319
	ofHung     = 288 // of them on the server that will hang
	hpaWorkers = 5
	hpaSync    = 15 * time.Second
	patience   = 500 * time.Millisecond // the evaluator's default
)

// question is a number to read from a server.
type question struct{ server, name string }

func (q question) Server() string { return q.server }
func (q question) String() string { return q.name + " at " + q.server }

// servers answer the question mN with N plus the round, except for one that hangs.
type servers struct {
	mu    sync.Mutex
	round int
	hung  string
}

func (s *servers) set(round int, hung string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round, s.hung = round, hung
}

func (s *servers) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	s.mu.Lock()
	round, hung := s.round, s.hung
	s.mu.Unlock()
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		asked := q.(question)
		if asked.server == hung {
			<-ctx.Done()
			outcomes[i].Err = fmt.Errorf("%s: %w", q, ctx.Err())
			continue
		}
		n, err := strconv.Atoi(asked.name[1:])
		outcomes[i] = scaling.Outcome{Value: float64(n + round), Err: err}
	}
	return outcomes
}

// transparent shows every workload at 8 replicas behind an HPA of averageValue 1.
type transparent struct{}

func (transparent) Observe(_ context.Context, ref scaling.Ref, _ string) (scaling.Observation, error) {
	return scaling.Observation{
		UID: ref.Name, Native: true, Target: "apps/Deployment/" + ref.Name, Spec: 8, Status: 8,
		Bounds: algorithm.Bounds{Min: 1, Max: 10 * fleet}, HPA: scaling.HPA{Name: ref.Name, Target: 1000},
	}, nil
}

// onHung reports whether metric mN reads from the server that will hang: they are spread
// evenly over the fleet, so that all workers meet them.
func onHung(n int) bool { return n*ofHung/fleet != (n+1)*ofHung/fleet }

// controller is the HPA controller of the fleet. Its clock is a bubble's, in which
// computing takes no time: what an answer takes is what it has waited.
type controller struct {
	*testing.T
	servers servers
	values  values

	mu    sync.Mutex
	waits []time.Duration // of the answers that were waited for, in this round
}

func newController(t *testing.T) *controller {
	t.Helper()
	c, metrics := &controller{T: t}, table{}
	for n := range fleet {
		q, interval := question{"redis", fmt.Sprintf("m%d", n)}, 5*time.Second
		if onHung(n) {
			q.server, interval = "prometheus", 15*time.Second
		}
		metrics["shop/"+q.name] = scaling.Metric{
			Ref: scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: q.name}, UID: q.name,
			Policy: &scaling.Policy{
				Record: q.name, Metric: q.name, Target: 1000, Interval: interval,
				Triggers: []scaling.Trigger{{Type: q.server, Target: 1000, Query: q}},
			},
		}
	}
	evaluator := scaling.NewEvaluator(scaling.Options{Source: &c.servers, Store: memstore.New(), Observer: transparent{}})
	c.values = values{metrics, evaluator, c.answered}
	return c
}

func (c *controller) answered(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Took > 0 {
		c.waits = append(c.waits, call.Took)
	}
}

// What may be wanted of an answer in place of the number of a round.
const (
	noData = -1
	anyhow = -2 // a number or an error
)

// sync asks for the whole fleet, with all workers at once, and compares each answer with
// what is wanted of its metric: the number of a round of the servers, noData or anyhow.
// It returns the waits.
func (c *controller) sync(want func(n int) (round int)) []time.Duration {
	c.Helper()
	c.waits = nil
	queue := make(chan int)
	var workers sync.WaitGroup
	for range hpaWorkers {
		workers.Go(func() {
			for n := range queue {
				c.ask(n, want(n))
			}
		})
	}
	for n := range fleet {
		queue <- n
	}
	close(queue)
	workers.Wait()
	time.Sleep(hpaSync)
	return c.waits
}

func (c *controller) ask(n, round int) {
	name := fmt.Sprintf("m%d", n)
	list, err := c.values.GetExternalMetric(c.Context(), "shop", labels.Everything(), provider.ExternalMetricInfo{Metric: name})
	switch {
	case round == anyhow:
	case round == noData:
		if code := statusCode(err); code != http.StatusServiceUnavailable {
			c.Errorf("%s: %v, %v; want no data", name, list, err)
		}
	case err != nil:
		c.Errorf("%s: %v; want %d", name, err, n+round)
	case list.Items[0].Value.Value() != int64(n+round):
		c.Errorf("%s: %s; want %d", name, list.Items[0].Value.String(), n+round)
	}
}

// C38: one server of 288 metrics hangs, and no answer waits for it but those of the five
// workers that find it out: fewer than one in a hundred, once. What it last said is
// answered until its reads have failed, and then an error, as quickly. The 1,031
// metrics of others are as fresh as ever.
func TestAHungSourceIsInNobodysLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		always := func(round int) func(int) int { return func(int) int { return round } }
		hungSays := func(said, round int) func(int) int {
			return func(n int) int {
				if onHung(n) {
					return said
				}
				return round
			}
		}
		quiet := func(waits []time.Duration) {
			t.Helper()
			if len(waits) > 0 {
				t.Errorf("%d answers were waited for, the first for %v", len(waits), waits[0])
			}
		}
		quiet(c.sync(always(0)))
		c.servers.set(1, "")
		quiet(c.sync(always(1)))

		c.servers.set(2, "prometheus")
		found := c.sync(hungSays(1, 2))
		if len(found) == 0 || len(found) > hpaWorkers {
			t.Errorf("%d answers waited when the server began to hang, want one of each worker at most", len(found))
		}
		for _, wait := range found {
			if wait > patience {
				t.Errorf("an answer was waited for %v, want %v at most", wait, patience)
			}
		}
		for round := 3; round < 10; round++ {
			c.servers.set(round, "prometheus")
			quiet(c.sync(hungSays(noData, round)))
		}

		c.servers.set(10, "")
		quiet(c.sync(hungSays(anyhow, 10))) // whoever asks after its first answer hears it
		c.servers.set(11, "")
		quiet(c.sync(always(11)))
	})
}
