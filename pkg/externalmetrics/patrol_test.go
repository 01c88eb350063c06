package externalmetrics

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// beat is a district: its metrics, and what the patrol makes of them.
type beat struct {
	mu      sync.Mutex
	metrics []scaling.Metric
	// told are the seconds at which a decision on a metric was told, by its name.
	told map[string][]float64
	// busy and busiest are how many evaluations are under way, and have ever been.
	busy, busiest int
	takes         func(ctx context.Context, name string)
	started       time.Time
}

// newBeat has n metrics with an interval.
func newBeat(n int, interval time.Duration) *beat {
	b := &beat{told: map[string][]float64{}, takes: func(context.Context, string) {}, started: time.Now()}
	for i := range n {
		b.metrics = append(b.metrics, patrolled(fmt.Sprintf("m%03d", i), interval))
	}
	return b
}

func patrolled(name string, interval time.Duration) scaling.Metric {
	ref := scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: name}
	return scaling.Metric{Ref: ref, UID: "uid-of-" + name, Policy: &scaling.Policy{Record: name, Interval: interval}}
}

func (b *beat) Metrics() []scaling.Metric {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.metrics)
}

func (b *beat) Evaluate(ctx context.Context, req scaling.Request) scaling.Decision {
	b.mu.Lock()
	b.busy++
	b.busiest = max(b.busiest, b.busy)
	takes := b.takes
	b.mu.Unlock()
	takes(ctx, req.Ref.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
	return scaling.Decision{Key: scaling.Key{Ref: req.Ref, Record: req.Policy.Record}, Err: ctx.Err()}
}

func (b *beat) tell(m scaling.Metric, d scaling.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Key.Record != m.Policy.Record {
		panic("told of the decision on another policy")
	}
	b.told[m.Ref.Name] = append(b.told[m.Ref.Name], time.Since(b.started).Seconds())
}

func (b *beat) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// visits is how often a metric was told about.
func (b *beat) visits(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.told[name])
}

func (b *beat) underWay() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy
}

// patrol runs until the test ends.
func (b *beat) patrol(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- NewPatrol(b, b, b.tell).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// 1,000 metrics, each every 5.5 s, and never more than a few at one moment.
func TestPatrolIsEven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(1000, time.Second)
		b.takes = func(context.Context, string) { time.Sleep(5 * time.Millisecond) }
		b.patrol(t)
		time.Sleep(60 * time.Second)
		synctest.Wait()
		perSecond := make([]int, 60)
		for name, times := range b.told {
			if times[0] > 5.1 {
				t.Errorf("%s was first visited after %.1f s", name, times[0])
			}
			for i := range times {
				perSecond[int(times[i])]++
				if i < 2 {
					continue // between the first visit and the second lies a part of a period
				}
				if pause := times[i] - times[i-1]; pause < 5.4 || pause > 5.6 {
					t.Errorf("%s was visited after a pause of %.3f s, want 5.5", name, pause)
				}
			}
		}
		for second, n := range perSecond[6:] {
			if n < 130 || n > 235 {
				t.Errorf("%d visits in second %d, want about 182", n, second+6)
			}
		}
		if len(b.told) != 1000 || b.busiest > 8 {
			t.Errorf("%d metrics were visited, %d at once; want 1,000 and a few", len(b.told), b.busiest)
		}
	})
}

func TestPatrolKeepsThePolicysInterval(t *testing.T) {
	for interval, want := range map[time.Duration]int{0: 109, time.Second: 109, 5 * time.Second: 109, 15 * time.Second: 39, 5 * time.Minute: 2} {
		synctest.Test(t, func(t *testing.T) {
			b := newBeat(1, interval)
			b.patrol(t)
			time.Sleep(10 * time.Minute)
			if n := b.visits("m000"); n < want-1 || n > want+1 {
				t.Errorf("interval %s: %d visits in 10 minutes, want %d", interval, n, want)
			}
		})
	}
}

// One evaluation that never ends keeps no other from its time, and is ended after 10 s.
func TestPatrolOfOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(1000, 5*time.Second)
		b.takes = func(ctx context.Context, name string) {
			if name == "m500" {
				<-ctx.Done()
			}
		}
		b.patrol(t)
		time.Sleep(60 * time.Second)
		synctest.Wait()
		for name, times := range b.told {
			for i := 2; i < len(times); i++ {
				if pause := times[i] - times[i-1]; name != "m500" && (pause < 5.49 || pause > 5.51) {
					t.Errorf("%s was visited after a pause of %.3f s, want 5.5", name, pause)
				}
			}
		}
		if n := b.visits("m500"); n < 3 || n > 6 {
			t.Errorf("the one that hangs was told about %d times in 60 s, want every 10 to 16 s", n)
		}
	})
}

// More work than the workers can do is done by 16 of them, and everybody gets a turn.
func TestPatrolIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(1000, 5*time.Second)
		b.takes = func(context.Context, string) { time.Sleep(500 * time.Millisecond) }
		b.patrol(t)
		time.Sleep(125 * time.Second) // 32 per second: each every 31 s
		synctest.Wait()
		for _, m := range b.metrics {
			if n := b.visits(m.Ref.Name); n < 3 || n > 5 {
				t.Errorf("%s was visited %d times in 125 s, want about 4", m.Ref.Name, n)
			}
		}
		if b.busiest != patrolWorkers {
			t.Errorf("%d evaluations at once, want 16", b.busiest)
		}
	})
}

func TestPatrolFollowsTheMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(1, 5*time.Minute)
		b.patrol(t)
		time.Sleep(20*time.Second + time.Millisecond)
		before := b.visits("m000")
		for _, step := range []struct {
			name   string
			change func()
			want   map[string]int // visits since, within a second
		}{
			{"a new one", func() { b.metrics = append(b.metrics, patrolled("new", 5*time.Minute)) }, map[string]int{"new": 1}},
			{"nothing", func() {}, map[string]int{"new": 0}},
			{"an edit", func() { b.metrics[0] = patrolled("m000", 10*time.Minute) }, map[string]int{"m000": 1, "new": 0}},
			{"another UID", func() { b.metrics[0].UID = "another" }, map[string]int{"m000": 1, "new": 0}},
			{"both are gone", func() { b.metrics = nil }, map[string]int{"m000": 0, "new": 0}},
			{"one is back", func() { b.metrics = []scaling.Metric{patrolled("new", 5*time.Minute)} }, map[string]int{"m000": 0, "new": 1}},
			{"and gone", func() { b.metrics = nil }, map[string]int{"m000": 0, "new": 0}},
		} {
			count := map[string]int{}
			for name := range step.want {
				count[name] = b.visits(name)
			}
			b.change(step.change)
			time.Sleep(time.Second)
			for name, want := range step.want {
				if got := b.visits(name) - count[name]; got != want {
					t.Errorf("%s: %d visits of %s, want %d", step.name, got, name, want)
				}
			}
		}
		time.Sleep(time.Hour)
		if n := b.visits("m000") + b.visits("new"); n != before+2+2 {
			t.Errorf("%d visits, want none after they were gone", n)
		}
	})
}

// A metric that is edited while it is evaluated is evaluated again, as it is now.
func TestPatrolOfAnEditMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(1, 5*time.Minute)
		b.takes = func(context.Context, string) { time.Sleep(3 * time.Second) }
		b.patrol(t)
		for b.underWay() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		b.change(func() { b.metrics[0] = patrolled("m000", 5*time.Minute) })
		time.Sleep(7 * time.Second)
		if n := b.visits("m000"); n != 2 {
			t.Errorf("%d visits, want the one under way and one of the edited metric", n)
		}
	})
}

// The end waits for what is under way, and tells nothing any more.
func TestPatrolEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat(100, 5*time.Second)
		b.takes = func(ctx context.Context, _ string) {
			<-ctx.Done()
			time.Sleep(time.Second)
		}
		stop := b.patrol(t)
		time.Sleep(4 * time.Second)
		stop()
		if n := b.underWay(); n != 0 || len(b.told) != 0 {
			t.Errorf("%d evaluations are under way, %d decisions were told", n, len(b.told))
		}
	})
}
