package cluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// While one Secret hangs, what is known is served, and what is not is unknown.
func TestMetricIsNotReadYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "x"))
		answer := make(chan struct{})
		f.kube.PrependReactor("get", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
			<-answer
			return false, nil, nil
		})
		p, _ := startPolicies(t, f, PoliciesOptions{})
		if err := p.Ready(); err == nil || err.Error() != "0 of 1 StabilizedMetrics have been read" {
			t.Errorf("Ready: %v", err)
		}
		_, err := p.Metric(t.Context(), "shop", "jobs")
		wantUnobserved(t, err, "StabilizedMetric shop/jobs", "it has not been read yet")
		close(answer)
		synctest.Wait()
		if err := p.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
		get(t, p, "jobs")
	})
}

func TestMetricsThatAreNotServed(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lazy %t", lazy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakes(aMetric(t, "jobs", plainMetric))
				var installed atomic.Bool
				f.keda.PrependReactor("list", v1alpha1.Resource, func(k8stesting.Action) (bool, runtime.Object, error) {
					return !installed.Load(), nil, apierrors.NewNotFound(metricsGVR.GroupResource(), "")
				})
				p, _ := startPolicies(t, f, PoliciesOptions{Lazy: lazy, Patience: 200 * time.Millisecond})
				if err := p.Ready(); lazy != (err == nil) || lazy != (len(f.keda.Actions()) == 0) {
					t.Errorf("before anybody asks: ready %v, requests %v", err, f.keda.Actions())
				}
				started := time.Now()
				_, err := p.Metric(t.Context(), "shop", "jobs")
				wantUnobserved(t, err, "StabilizedMetric shop/jobs", "the cluster does not serve them (is what defines them installed?)")
				if took := time.Since(started); took != 200*time.Millisecond {
					t.Errorf("waited %s, want 200ms", took)
				}
				if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "does not serve them") {
					t.Errorf("Ready: %v", err)
				}
				installed.Store(true)
				time.Sleep(time.Minute)
				synctest.Wait()
				if err := p.Ready(); err != nil {
					t.Errorf("not ready a minute later: %v", err)
				}
				get(t, p, "jobs")
			})
		})
	}
}

func TestLazyPoliciesWaitForTheirFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := startPolicies(t, newFakes(aMetric(t, "jobs", plainMetric)), PoliciesOptions{Lazy: true})
		get(t, p, "jobs")
		if _, err := p.Metric(t.Context(), "shop", "mails"); !errors.Is(err, scaling.ErrNoSuchMetric) {
			t.Errorf("another: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nobody asks, and it ends all the same
		startPolicies(t, newFakes(), PoliciesOptions{Lazy: true})
	})
}

// Many ask while everything changes.
func TestPoliciesUnderConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, _ := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "0"))
		var asking sync.WaitGroup
		end := make(chan struct{})
		for range 8 {
			asking.Go(func() {
				for !isClosed(end) {
					m, err := p.Metric(t.Context(), "shop", "jobs")
					if err != nil || m.Policy == nil || m.Policy.Metric != "jobs" {
						t.Errorf("got %+v, %v", m, err)
					}
					p.Metrics()
					time.Sleep(time.Millisecond)
				}
			})
		}
		for i := range 50 {
			changed := aMetric(t, "jobs", withSecret+fmt.Sprintf("cooldownPeriod: %d\n", i))
			changed.SetGeneration(int64(i + 2))
			update(t, f, changed)
			time.Sleep(10 * time.Millisecond)
		}
		close(end)
		asking.Wait()
		if m := get(t, p, "jobs"); m.Generation != 51 {
			t.Errorf("generation %d, want 51", m.Generation)
		}
	})
}
