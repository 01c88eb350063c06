package docs_test

import (
	"fmt"
	"math"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func (c *chapter) periods() {
	sp := spec(behaving(func(b *algorithm.Behavior) {
		b.ScaleUp.Policies = []algorithm.RatePolicy{pods(4, time.Minute)}
	}), jobs(1))
	r := c.play("period", run{spec: sp, replicas: 2, until: secs(195), reads: []reads{from(0, 2), from(15, 13)}})
	p := r.picture("4 pods per 60 s, and 13 are asked for")
	p.xEvery = 30
	c.add("periods", p, r.table())

	down := behaving(func(b *algorithm.Behavior) {
		b.ScaleDown.Policies = []algorithm.RatePolicy{pods(2, time.Minute)}
	})
	var rows []string
	for _, past := range []struct {
		what   string
		change int32
	}{
		{"nothing", 0},
		{"the HPA scaled from 12 to 10", -2},
		{"the HPA scaled from 11 to 10", -1},
		{"the HPA scaled from 5 to 10", 5},
		{"somebody scaled from 5 to 10 by hand", 0},
	} {
		var events []algorithm.Event
		if past.change != 0 {
			events = []algorithm.Event{{At: -secs(20), Change: past.change}}
		}
		limited := algorithm.Limit(10, 1, algorithm.Bounds{Min: 1, Max: 40}, *down, events, 0)
		rows = append(rows, fmt.Sprintf("%s | %d | %d", past.what, 10-past.change, limited.Replicas))
	}
	c.add("period-start", picture{}, markdown("in the last 60 s | pods at the period's start | from 10 down to", rows...))
}

// allows is the furthest count that one policy of percent allows.
func allows(current int32, value int32, up bool) int32 {
	b := behaving(func(b *algorithm.Behavior) {
		b.ScaleUp.Policies = []algorithm.RatePolicy{percent(value, time.Minute)}
		b.ScaleDown.Policies = []algorithm.RatePolicy{percent(value, time.Minute)}
	})
	wish := int32(0)
	if up {
		wish = math.MaxInt32
	}
	return algorithm.Limit(current, wish, algorithm.Bounds{Min: 0, Max: math.MaxInt32}, *b, nil, 0).Replicas
}

func (c *chapter) percent() {
	var rows []string
	for _, r := range []struct {
		current, value int32
		up             bool
		exact          string
	}{
		{10, 25, true, "12.5"},
		{1, 10, true, "1.1"},
		{50, 10, true, "55"},
		{100, 10, true, "110"},
		{0, 100, true, "0"},
		{10, 25, false, "7.5"},
		{9, 10, false, "8.1"},
		{90, 30, false, "63"},
		{1, 10, false, "0.9"},
	} {
		sign := "−"
		if r.up {
			sign = "+"
		}
		rows = append(rows, fmt.Sprintf("%d | %s%d %% | %s | %d", r.current, sign, r.value, r.exact, allows(r.current, r.value, r.up)))
	}
	grow := func(value int32) func(float64) int32 {
		return func(x float64) int32 { return allows(int32(x), value, true) - int32(x) }
	}
	p := picture{
		title: "Pods that a policy of percent lets a workload gain in a period", xName: "pods", yName: "pods more", xEvery: 10,
		lines: []line{curve("+10 %", numbers(0, 60), grow(10)), curve("+25 %", numbers(0, 60), grow(25))},
	}
	c.add("percent", p, markdown("pods | policy | exactly | allowed", rows...))
}

func (c *chapter) selectPolicy() {
	play := func(s algorithm.SelectPolicy) *run {
		sp := spec(behaving(func(b *algorithm.Behavior) {
			b.ScaleDown.Window = 0
			b.ScaleDown.Policies = []algorithm.RatePolicy{percent(10, time.Minute), pods(4, time.Minute)}
			b.ScaleDown.Select = s
		}), jobs(1))
		return c.play(string(s), run{spec: sp, replicas: 20, until: secs(480), reads: []reads{from(0, 20), from(30, 2)}})
	}
	most, least, off := play(algorithm.SelectMax), play(algorithm.SelectMin), play(algorithm.SelectDisabled)
	p := together("10 % or 4 pods per 60 s, down from 20", []*run{most, least}, "Max", "Min")
	var rows []string
	for at := 30; at <= 390; at += 60 {
		rows = append(rows, row(at, most, least, off))
	}
	c.add("select-policy", p, markdown("at | Max | Min | Disabled", rows...))
}

// forget is a restart of the controller.
func forget(r *run) { r.state.Memory = algorithm.Memory{} }

func (c *chapter) restart() {
	sp := spec(behaving(nil), jobs(5))
	play := func(name string, hands map[time.Duration]func(*run)) *run {
		return c.play(name, run{spec: sp, replicas: 8, until: secs(660), reads: []reads{from(0, 40), from(60, 10)}, hands: hands})
	}
	kept := play("kept", nil)
	restarted := play("restarted", map[time.Duration]func(*run){secs(330): forget})
	p := together("A restart at 330 s, while a scale-down waits", []*run{restarted, kept}, "the HPA's controller restarts", "Dashpot restarts: its memory is kept")
	c.add("restart", p, markdown("at | HPA | Dashpot",
		row(330, restarted, kept), row(345, restarted, kept), row(615, restarted, kept), row(630, restarted, kept)))
}

func (c *chapter) zero() {
	toZero := func(b *algorithm.Behavior) algorithm.Spec {
		sp := spec(b, jobs(5))
		sp.Bounds.Min = 0
		return sp
	}
	reads := []reads{from(0, 10), from(60, 0), from(420, 37)}
	r := c.play("zero", run{spec: toZero(behaving(nil)), replicas: 2, until: secs(480), reads: reads})
	percentAlone := behaving(func(b *algorithm.Behavior) {
		b.ScaleUp.Policies = []algorithm.RatePolicy{percent(100, 15*time.Second)}
	})
	stuck := c.play("percent alone", run{spec: toZero(percentAlone), replicas: 2, until: secs(480), reads: reads})
	c.play("from one", run{
		controller: algorithm.Controller{
			Tolerance: algorithm.DefaultTolerance, Warmup: algorithm.DefaultWarmup(), ScaleToZero: true,
			Differences: algorithm.Differences{FromOne: true},
		},
		spec: toZero(percentAlone), replicas: 2, until: secs(480), reads: reads,
	})
	c.play("by hand", run{
		spec: toZero(behaving(nil)), replicas: 2, until: secs(480), reads: reads,
		hands: map[time.Duration]func(*run){secs(30): func(r *run) { r.replicas = 0 }},
	})
	p := together("minReplicas 0: the queue is empty, and fills again at 420 s", []*run{r, stuck}, "4 pods or 100 %", "100 % alone")
	c.add("zero", p, r.table())
}

func (c *chapter) bounds() {
	sp := spec(behaving(nil), jobs(1))
	sp.Bounds.Max = 20
	r := c.play("bounds", run{
		spec: sp, replicas: 20, until: secs(165), reads: []reads{from(0, 30)},
		hands: map[time.Duration]func(*run){
			secs(45):  func(r *run) { r.spec.Bounds.Max = 12 },
			secs(105): func(r *run) { r.spec.Bounds.Max = 40 },
		},
	})
	p := r.picture("maxReplicas 20, then 12 at 45 s, then 40 at 105 s")
	p.xEvery = 30
	c.add("bounds", p, r.table())
}
