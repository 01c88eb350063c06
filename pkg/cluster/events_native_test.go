package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// stranded is a decision on a workload at zero that its HPA does not wake.
func stranded(why scaling.Stranded) scaling.Decision {
	d := counted(3, 12)
	d.Current, d.CanSleep, d.Stranded = 0, true, why
	return d
}

// What a native HPA's metric suffers from is told in the words of its status, the worst
// first.
func TestEventsOfNativeMetrics(t *testing.T) {
	opaque := counted(3, 12)
	opaque.HPA = scaling.HPA{Name: "worker", Target: 1000, Opaque: []string{"scaleDown.stabilizationWindowSeconds is 300, want 0"}}
	sleepless := opaque
	sleepless.CanSleep, sleepless.HPA.CannotWake = true, "scaleUp has only Percent policies; add one of type Pods"
	swallowed := counted(3, 12)
	swallowed.Swallowed = true
	for name, test := range map[string]struct {
		d    scaling.Decision
		want string
	}{
		"well":             {counted(3, 12), ""},
		"no HPA asks":      {failed(fmt.Errorf("%w: no HPA asks", scaling.ErrUnobserved)), ""},
		"the caller left":  {failed(context.Canceled), ""},
		"held by the step": {swallowed, ""},
		"invalid":          {failed(errTwoBad), "Warning InvalidPolicy x1: " + saidInvalid + "; invalid policy: interval is \"1h\", want 1s to 5m"},
		"not read":         {failed(errTimeout), "Warning FailedGetExternalMetric x1: metric jobs: trigger not read: list jobs: i/o timeout"},
		"two targets": {
			failed(fmt.Errorf("%w: averageValue (mail: 5; print: 10)", scaling.ErrAmbiguousTarget)),
			"Warning AmbiguousTarget x1: metric jobs: ambiguous target: averageValue (mail: 5; print: 10)",
		},
		"a zero by hand": {
			stranded(scaling.ForeignZero),
			"Warning NotByHPA x1: metric jobs: replicas was set to 0 by somebody other than HPA worker, which therefore is disabled and will not wake the workload. " +
				"Set replicas of the scale target to 1 or more, and the HPA takes over",
		},
		"a lost condition": {
			stranded(scaling.LostCondition),
			"Warning ConditionLost x1: metric jobs: HPA worker scaled to zero, but its condition ScaledToZero does not say so: it will not wake the workload by itself. " +
				"Set replicas of the scale target to 1 or more, or set the condition to True again in the HPA's status; " +
				"if it happens every time, the feature gate HPAScaleToZero is off in kube-controller-manager",
		},
		"an HPA that cannot wake": {sleepless, "Warning CannotWake x1: metric jobs: HPA worker: scaleUp has only Percent policies; add one of type Pods"},
		"an HPA that is not transparent": {
			opaque,
			"Warning HPANotTransparent x1: metric jobs: HPA worker changes what was decided: scaleDown.stabilizationWindowSeconds is 300, want 0. Set in its spec:\n" +
				scaling.TransparentBehavior,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _, events := reporters(t, 1)
				tell(events[0], test.d)
				var want []string
				if test.want != "" {
					want = []string{test.want}
				}
				wantTold(t, f, want...)
				time.Sleep(time.Minute)
				tell(events[0], counted(3, 12))
				if want != nil {
					want = append([]string{saidResumed}, want...)
				}
				wantTold(t, f, want...)
			})
		})
	}
}

// Who is elected no longer forgets what it told: it is news again when it is elected
// again. What it was told of meanwhile is not: somebody else was.
func TestEventsOfAnElectedReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _ := reporters(t, 0)
		e := NewEvents(f.kube, "dashpot", func(r scaling.Ref) corev1.ObjectReference {
			return corev1.ObjectReference{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		}, slog.New(slog.DiscardHandler))
		for range 2 {
			ctx, resign := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			synctest.Wait()
			tell(e, failed(errTimeout))
			time.Sleep(time.Minute)
			resign()
			if err := <-done; err != nil || len(e.troubles) != 0 {
				t.Errorf("Run: %v, and %d metrics are remembered", err, len(e.troubles))
			}
			tell(e, failed(errBadList))
			time.Sleep(time.Minute)
		}
		wantTold(t, f, "Warning FailedGetExternalMetric x2: metric jobs: trigger not read: list jobs: i/o timeout")
	})
}
