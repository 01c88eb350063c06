package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// The story of one metric, one decision every 5 s, as its status tells it. The bubble's
// clock begins at 2000-01-01 00:00:00.
func TestStatusTellsOfDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		s, _ := f.write(t)
		m := called("jobs")
		steps := []struct {
			name string
			d    scaling.Decision
			want string
		}{
			{"the first is written at once", counted(3, 12), `
generation 1, 00:00:00 reading 12: 3 of 1, active, value 3
Ready=True/PolicyValid since 00:00:01
ScalingActive=True/ValidMetricFound since 00:00:01
AbleToScale=True/ReadyForNewScale since 00:00:01
ScalingLimited=False/DesiredWithinRange since 00:00:01`},
			{"another number is not", counted(4, 16), `
generation 1, 00:00:00 reading 12: 3 of 1, active, value 3
Ready=True/PolicyValid since 00:00:01
ScalingActive=True/ValidMetricFound since 00:00:01
AbleToScale=True/ReadyForNewScale since 00:00:01
ScalingLimited=False/DesiredWithinRange since 00:00:01`},
			{"a condition that changes its status and reason is", limited(4, 99), `
generation 1, 00:00:10 reading 99: 4 of 1, active, value 4
Ready=True/PolicyValid since 00:00:01
ScalingActive=True/ValidMetricFound since 00:00:01
AbleToScale=True/ReadyForNewScale since 00:00:01
ScalingLimited=True/TooManyReplicas since 00:00:11`},
			{"what an error leaves unknown is gone", failed(errTimeout), `
generation 1, 00:00:15 reading : none, value 
Ready=True/PolicyValid since 00:00:01
ScalingActive=False/FailedGetExternalMetric since 00:00:16`},
			{"a policy that cannot be followed", failed(errTwoBad), `
generation 1, 00:00:20 reading : none, value 
Ready=False/InvalidPolicy since 00:00:21
ScalingActive=False/FailedGetExternalMetric since 00:00:16`},
			{"mended", counted(3, 12), `
generation 1, 00:00:25 reading 12: 3 of 1, active, value 3
Ready=True/PolicyValid since 00:00:26
ScalingActive=True/ValidMetricFound since 00:00:26
AbleToScale=True/ReadyForNewScale since 00:00:26
ScalingLimited=False/DesiredWithinRange since 00:00:26`},
		}
		for _, step := range steps {
			s.Report(m, at(step.d))
			time.Sleep(5 * time.Second)
			if got := f.status(t, "jobs"); got != strings.TrimPrefix(step.want, "\n") {
				t.Errorf("%s: status\n%s\nwant%s", step.name, got, step.want)
			}
		}
		if spec := f.get(t, "jobs").Object["spec"]; spec == nil {
			t.Error("the spec is gone")
		}
	})
}

// How often is written in five minutes, of a metric that is decided on every second.
func TestStatusRate(t *testing.T) {
	for name, test := range map[string]struct {
		decide    func(second int) scaling.Decision
		low, high int64
	}{
		"nothing changes":       {func(int) scaling.Decision { return counted(3, 12) }, 2, 2}, // after 1 s and 301 s
		"numbers change":        {func(i int) scaling.Decision { return counted(3, float64(i)) }, 19, 21},
		"a condition flaps":     {flapping, 250, 303},
		"many reports a second": {func(int) scaling.Decision { return flapping(time.Now().Nanosecond() / 1e8) }, 0, 303},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newStatusServer(t, bareMetric("jobs"))
				s, _ := f.write(t)
				for i := range 303 {
					for range 3 {
						s.Report(called("jobs"), at(test.decide(i)))
						time.Sleep(time.Second / 3)
					}
				}
				if n := f.writes.Load(); n < test.low || n > test.high {
					t.Errorf("%d writes in 303 s, want %d to %d", n, test.low, test.high)
				}
			})
		})
	}
}

// A new leader goes on with what the last one wrote: it reads it, and writes what is new
// in it only.
func TestStatusChangesHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"), bareMetric("mails"))
		first := NewStatuses(f.dynamic, slog.New(slog.DiscardHandler))
		ctx, resign := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- first.Run(ctx) }()
		synctest.Wait()
		first.Report(called("jobs"), at(counted(3, 12)))
		first.Report(called("mails"), at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		resign()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if first.Report(called("jobs"), at(failed(errTimeout))); first.reported != nil {
			t.Error("what is decided is kept although it leads no longer")
		}

		time.Sleep(time.Minute)
		second, _ := f.write(t)
		second.Report(called("jobs"), at(counted(3, 12)))
		second.Report(called("mails"), at(failed(errTimeout)))
		time.Sleep(2 * time.Second)
		if n := f.writes.Load(); n != 3 {
			t.Errorf("%d writes, want 2 of the first leader and one of what has changed", n)
		}
		for name, want := range map[string]string{
			"jobs": "generation 1, 00:00:00 reading 12", // as it was
			"mails": `generation 1, 00:01:02 reading : none, value 
Ready=True/PolicyValid since 00:00:01
ScalingActive=False/FailedGetExternalMetric since 00:01:03`,
		} {
			if got := f.status(t, name); !strings.HasPrefix(got, want) {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
			}
		}
	})
}

// An edit is worth a write at once although nothing else changes, and is none of the
// status' business: the spec that came meanwhile stays.
func TestStatusFollowsGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		s, _ := f.write(t)
		m := called("jobs")
		s.Report(m, at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		edited := f.get(t, "jobs")
		edited.Object["spec"] = map[string]any{"shadow": true}
		f.put(t, edited)
		m.Generation = 2
		s.Report(m, at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		if got := f.status(t, "jobs"); !strings.HasPrefix(got, "generation 2") {
			t.Errorf("status\n%s", got)
		}
		if spec := fmt.Sprint(f.get(t, "jobs").Object["spec"]); spec != "map[shadow:true]" {
			t.Errorf("spec %s", spec)
		}
	})
}

// An object that is gone stays gone, and one of another UID is another object.
func TestStatusOfWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"), bareMetric("mails"))
		s, log := f.write(t)
		for _, name := range []string{"jobs", "mails"} {
			s.Report(called(name), at(counted(3, 12)))
		}
		time.Sleep(2 * time.Second)
		f.remove(t, "jobs")
		s.Report(called("jobs"), at(limited(4, 99)))
		time.Sleep(2 * time.Second)
		if log.Len() > 0 {
			t.Errorf("an object that was deleted is no failure: %s", log)
		}
		f.remove(t, "mails")
		another := bareMetric("mails")
		another.SetUID("another")
		f.create(t, another)
		for range 30 { // somebody has not heard of it yet
			for _, name := range []string{"jobs", "mails", "never"} {
				s.Report(called(name), at(limited(4, 99)))
			}
			time.Sleep(time.Second)
		}
		if _, err := f.resource().Get(t.Context(), "jobs", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("jobs: %v, want that it is not found", err)
		}
		if got := f.status(t, "mails"); got != "none" {
			t.Errorf("the new object has the old one's status:\n%s", got)
		}
		m := called("mails")
		m.UID = "another"
		s.Report(m, at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		if got := f.status(t, "mails"); !strings.HasPrefix(got, "generation 1, 00:00:34") {
			t.Errorf("the new object's status is\n%s", got)
		}
		if n := f.refusals.Load(); n != 2 {
			t.Errorf("refused %d times, want once each, to learn that jobs is gone and mails another object; log\n%s", n, log)
		}
	})
}

// An object that takes the place of another one of its name has a status of its own.
func TestStatusOfAnotherUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		s, _ := f.write(t)
		m := called("jobs")
		s.Report(m, at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		f.remove(t, "jobs")
		another := bareMetric("jobs")
		another.SetUID("another")
		f.create(t, another)
		m.UID = "another"
		s.Report(m, at(counted(3, 12)))
		time.Sleep(2 * time.Second)
		if got := f.status(t, "jobs"); !strings.Contains(got, "Ready=True/PolicyValid since 00:00:03") || f.refusals.Load() != 0 {
			t.Errorf("refused %d times, status\n%s", f.refusals.Load(), got)
		}
	})
}

// An API server that is away is asked again every 15 s per metric, and logged once a
// minute. What is written then is what is so by then.
func TestStatusOutlivesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStatusServer(t, bareMetric("jobs"))
		var away atomic.Bool
		away.Store(true)
		var attempts atomic.Int64
		f.dynamic.PrependReactor("get", "*", func(k8stesting.Action) (bool, runtime.Object, error) {
			if away.Load() {
				attempts.Add(1)
			}
			return away.Load(), nil, apierrors.NewServiceUnavailable("gone fishing")
		})
		s, log := f.write(t)
		for i := range 59 {
			s.Report(called("jobs"), at(flapping(i)))
			time.Sleep(time.Second)
		}
		if n := attempts.Load(); n != 4 {
			t.Errorf("%d attempts in 59 s, want 4", n)
		}
		away.Store(false)
		s.Report(called("jobs"), at(limited(4, 99)))
		time.Sleep(15 * time.Second)
		if got := f.status(t, "jobs"); !strings.Contains(got, "TooManyReplicas") {
			t.Errorf("status\n%s", got)
		}
		if n := strings.Count(log.String(), "gone fishing"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, log)
		}
	})
}

// 1,000 metrics take 20 s for their first status, and one that changes does not wait
// until all others have had theirs.
func TestThousandStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for i := range 1000 {
			objects = append(objects, bareMetric(fmt.Sprint("m", i)))
		}
		f := newStatusServer(t, objects...)
		s, _ := f.write(t)
		started := time.Now()
		report := func(second int) {
			for i := range 1000 {
				s.Report(called(fmt.Sprint("m", i)), at(counted(3, float64(second))))
			}
		}
		report(0)
		if took := time.Since(started); took != 0 {
			t.Errorf("reporting took %s", took)
		}
		time.Sleep(20*time.Second + time.Millisecond)
		if n := f.writes.Load(); n != 1000 {
			t.Errorf("%d writes after 20 s, want 1,000", n)
		}
		for i := range 10 { // all of them change all the time
			report(i)
			time.Sleep(time.Second)
		}
		if n := f.writes.Load(); n > 1000+10*writesPerRound {
			t.Errorf("%d writes in 10 s more, want 50 per second", n-1000)
		}
		s.Report(called("m500"), at(failed(errTimeout)))
		time.Sleep(2 * time.Second)
		if got := f.status(t, "m500"); !strings.Contains(got, "FailedGetExternalMetric") {
			t.Errorf("after 2 s:\n%s", got)
		}
	})
}
