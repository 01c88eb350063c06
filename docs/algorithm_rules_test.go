package docs_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// rule is what algorithm.md shows of one: a picture, unless it has no lines, and a table.
type rule struct {
	name    string
	picture picture
	table   string
}

// chapter is everything that algorithm.md says and the code can check. Runs are kept
// for the numbers in its sentences.
type chapter struct {
	rules []rule
	runs  map[string]*run
}

func (c *chapter) add(name string, p picture, table string) {
	c.rules = append(c.rules, rule{name, p, table})
}

// play runs a scenario on a controller without flags.
func (c *chapter) play(name string, r run) *run {
	if r.controller == (algorithm.Controller{}) {
		r.controller = algorithm.DefaultController()
	}
	if r.spec.Bounds == (algorithm.Bounds{}) {
		r.spec.Bounds = algorithm.Bounds{Min: 1, Max: 40}
	}
	c.runs[name] = r.play()
	return &r
}

func newChapter() *chapter {
	c := &chapter{runs: map[string]*run{}}
	c.seven()
	c.tolerance()
	c.window()
	c.twoWaits()
	c.utilization()
	c.neverFalls()
	c.swallowed()
	c.periods()
	c.percent()
	c.selectPolicy()
	c.failing()
	c.restart()
	c.zero()
	c.bounds()
	return c
}

// behaving is the default behavior with changes.
func behaving(change func(b *algorithm.Behavior)) *algorithm.Behavior {
	b := algorithm.DefaultBehavior()
	if change != nil {
		change(&b)
	}
	return &b
}

// jobs is an External metric of so many jobs per pod.
func jobs(each float64) algorithm.Metric {
	return algorithm.Metric{Source: algorithm.ExternalSource, Target: algorithm.Target{AverageValue: milli(each)}}
}

// resource is a Resource metric in percent of the requests.
func resource(name string, percent int32) algorithm.Metric {
	return algorithm.Metric{Source: algorithm.ResourceSource, Resource: name, Target: algorithm.Target{Utilization: percent}}
}

func spec(b *algorithm.Behavior, metrics ...algorithm.Metric) algorithm.Spec {
	return algorithm.Spec{Bounds: algorithm.Bounds{Min: 1, Max: 40}, Metrics: metrics, Behavior: b}
}

func pods(value int32, period time.Duration) algorithm.RatePolicy {
	return algorithm.RatePolicy{Type: algorithm.PodsPolicy, Value: value, Period: period}
}

func percent(value int32, period time.Duration) algorithm.RatePolicy {
	return algorithm.RatePolicy{Type: algorithm.PercentPolicy, Value: value, Period: period}
}

func secs(n int) time.Duration { return time.Duration(n) * time.Second }

// from is a reading from a moment on.
func from(second int, values ...float64) reads { return reads{secs(second), values} }

// markdown is a table.
func markdown(head string, rows ...string) string {
	columns := strings.Count(head, "|") + 1
	return "| " + head + " |\n|" + strings.Repeat("---|", columns) + "\n| " + strings.Join(rows, " |\n| ") + " |\n"
}

func (c *chapter) seven() {
	spike := []reads{from(0, 15), from(15, 150)}
	with := c.play("with behavior", run{spec: spec(behaving(nil), jobs(5)), replicas: 3, reads: spike, until: secs(105)})
	without := c.play("without behavior", run{spec: spec(nil, jobs(5)), replicas: 3, reads: spike, until: secs(105)})
	p := together("From 3 pods to 30 with an empty behavior and without one", []*run{with, without}, "behavior: {}", "no behavior")
	p.xEvery = 15
	c.add("seven", p, with.table())
}

// asks is what a metric asks for at so many pods, with the default tolerance.
func asks(m algorithm.Metric, value float64, w algorithm.Workload) algorithm.Calculation {
	calculation, err := algorithm.Recommend(m, reading(m, value, int32(len(w.Pods))), w, algorithm.DefaultBehavior().Tolerance(), algorithm.DefaultWarmup())
	if err != nil {
		panic(err) // a scenario of this file is wrong
	}
	return calculation
}

func (c *chapter) tolerance() {
	metric := jobs(4)
	at := func(pods int32) func(float64) int32 {
		return func(x float64) int32 { return asks(metric, x, workload(pods, pods, 0)).Replicas }
	}
	p := picture{
		title: "What a queue asks for, 4 jobs per pod", xName: "jobs", yName: "pods asked for", xEvery: 4, yFrom: 7,
		lines: []line{curve("while 10 pods run", numbers(28, 52), at(10)), curve("while none run", numbers(28, 52), at(0))},
	}
	var rows []string
	for _, n := range []float64{35, 36, 40, 44, 45} {
		got := asks(metric, n, workload(10, 10, 0))
		inside := "outside"
		if got.WithinTolerance {
			inside = "inside"
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %s | %d", number(n), number(n/40), inside, got.Replicas))
	}
	c.add("tolerance", p, markdown("jobs | jobs ÷ (4 × 10) | 0.9 to 1.1 | asked for", rows...))
}

func (c *chapter) window() {
	r := c.play("window", run{
		spec: spec(behaving(nil), jobs(5)), replicas: 8, until: secs(570),
		reads: []reads{from(0, 40), from(60, 10), from(180, 40), from(195, 10)},
	})
	p := r.picture("A queue falls from 40 jobs to 10, and one reading is high again")
	c.add("window", p, r.table())
}

// twoWaits feeds the count that one controller decides to a second one.
func (c *chapter) twoWaits() {
	first := c.play("first wait", run{
		spec: spec(behaving(nil), jobs(5)), replicas: 8, until: secs(720), reads: []reads{from(0, 40), from(60, 10)},
	})
	var counts []reads
	for _, s := range first.syncs {
		counts = append(counts, reads{s.at, []float64{float64(s.outcome.Replicas)}})
	}
	second := c.play("second wait", run{
		spec: spec(behaving(nil), jobs(1)), replicas: 8, until: secs(720), reads: counts,
	})
	once := c.play("transparent", run{spec: spec(transparent(), jobs(1)), replicas: 8, until: secs(720), reads: counts})
	p := together("A count that was held for five minutes goes through a second HPA window", []*run{second, once}, "behind an HPA with its own window", "behind a transparent HPA")
	c.add("two-waits", p, markdown("at | decided | HPA with its own window | transparent HPA",
		row(0, first, second, once), row(330, first, second, once), row(345, first, second, once),
		row(615, first, second, once), row(630, first, second, once)))
}

func row(second int, runs ...*run) string {
	row := fmt.Sprintf("%d s", second)
	for _, r := range runs {
		row += fmt.Sprintf(" | %d", r.at(second))
	}
	return row
}

// transparent is the behavior that passes counts on.
func transparent() *algorithm.Behavior {
	rules := algorithm.Rules{Select: algorithm.SelectMax, Policies: []algorithm.RatePolicy{pods(100_000, time.Second)}}
	return &algorithm.Behavior{ScaleUp: rules, ScaleDown: rules}
}

func (c *chapter) utilization() {
	metric := resource(algorithm.CPU, 75)
	at := func(request float64) func(float64) algorithm.Calculation {
		return func(used float64) algorithm.Calculation { return asks(metric, used, workload(4, 4, request)) }
	}
	xs := numbers(0, 400)
	p := picture{
		title: "4 pods, target 75 %: the same use and two requests", xName: "m", yName: "pods asked for, by CPU used per pod", xEvery: 50,
		lines: []line{
			curve("requests: 200m", xs, func(x float64) int32 { return at(200)(x).Replicas }),
			curve("requests: 500m", xs, func(x float64) int32 { return at(500)(x).Replicas }),
		},
	}
	var rows []string
	for _, request := range []float64{100, 200, 250, 500} {
		got := at(request)(150)
		rows = append(rows, fmt.Sprintf("%sm | %d %% | %d", number(request), got.Utilization, got.Replicas))
	}
	c.add("utilization", p, markdown("requests of each pod | Utilization at 150m | asked for by 4 pods", rows...))
}

func (c *chapter) neverFalls() {
	r := c.play("never falls", run{
		spec: spec(behaving(nil), jobs(5), resource("memory", 80)), replicas: 10, until: secs(1680),
		reads: []reads{from(0, 50, 76), from(60, 5, 76)},
	})
	slow := c.play("falls a little", run{
		spec: spec(behaving(nil), jobs(5), resource("memory", 80)), replicas: 10, until: secs(1680),
		reads: []reads{from(0, 50, 60), from(60, 5, 60)},
	})
	p := together("The queue is empty, each pod's memory stays what it is", []*run{r, slow}, "memory at 76 % of 80 %", "memory at 60 % of 80 %")
	var rows []string
	for _, used := range []float64{76, 72, 71, 64, 60, 40, 20} {
		rows = append(rows, fmt.Sprintf("%s %% | %s | %d", number(used), number(used/80), settles(resource("memory", 80), used, 10)))
	}
	c.add("never-falls", p, markdown("memory of each pod, target 80 % | ratio | 10 pods come down to", rows...))
}

// settles is where a workload ends whose pods always read the same.
func settles(m algorithm.Metric, value float64, n int32) int32 {
	for {
		next := asks(m, value, workload(n, n, 0)).Replicas
		if next == n {
			return n
		}
		n = next
	}
}

func (c *chapter) swallowed() {
	sp := spec(behaving(nil), jobs(1))
	sp.Bounds = algorithm.Bounds{Min: 44, Max: 89}
	r := c.play("swallowed", run{spec: sp, replicas: 44, until: secs(60), reads: []reads{from(0, 44), from(15, 89)}})
	sp.Behavior = behaving(func(b *algorithm.Behavior) { b.ScaleUp.Tolerance = 0 })
	cured := c.play("cured", run{spec: sp, replicas: 44, until: secs(60), reads: []reads{from(0, 44), from(15, 89)}})
	p := together("89 pods are asked for and 88 run", []*run{r, cured}, "tolerance 0.1", "scaleUp.tolerance 0")
	p.xEvery = 15
	c.add("swallowed", p, r.table())
}

func (c *chapter) failing() {
	r := c.play("failing", run{
		spec: spec(behaving(nil), jobs(5)), replicas: 8, until: secs(420),
		reads: []reads{from(0, 40), from(60, math.NaN()), from(360, 10)},
	})
	c.add("failing", r.picture("The only metric fails for five minutes"), r.table())
}
