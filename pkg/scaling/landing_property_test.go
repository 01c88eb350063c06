package scaling

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// drawTolerance draws what an HPA may have: none, the controller's, or one of its own in
// each direction.
func drawTolerance(t *rapid.T) algorithm.Tolerance {
	of := func(name string) float64 {
		return float64(rapid.SampledFrom([]int{0, 100, 50, 20, 300}).Draw(t, name)) / 1000
	}
	return algorithm.Tolerance{Down: of("tolerance down, ‰"), Up: of("tolerance up, ‰")}
}

// landsOn is the HPA's own arithmetic for a value of an External metric: where it goes
// from the counts that are there.
func landsOn(t *rapid.T, kind algorithm.TargetType, value, target algorithm.Milli, obs Observation) int32 {
	t.Helper()
	metric := algorithm.Metric{Source: algorithm.ExternalSource, Target: algorithm.Target{Type: kind}}
	metric.Target.AverageValue = target
	if kind == algorithm.ValueTarget {
		metric.Target.AverageValue, metric.Target.Value = 0, target
	}
	workload := algorithm.Workload{Scale: algorithm.Scale{Spec: obs.Spec, Status: obs.Status}}
	for range obs.Status {
		workload.Pods = append(workload.Pods, algorithm.Pod{Phase: algorithm.Running, Ready: algorithm.True})
	}
	c, err := algorithm.Recommend(metric, algorithm.Reading{Series: []algorithm.Milli{value}}, workload, obs.HPA.Tolerance, algorithm.Warmup{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Replicas
}

// TestTheHPALandsOnWhatWasDecided: whatever a stabilised policy reads, remembers and is
// observed with, the value that it sends makes the HPA's own arithmetic give the decided
// count; or the decision says that no value can, and the HPA stays on what is there. A
// reading that failed is no exception, and neither is a target that the HPA divides by
// although the policy has another by now.
func TestTheHPALandsOnWhatWasDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := quietUnion()
		obs := Observation{
			Spec: rapid.Int32Range(1, 60).Draw(t, "P"), Bounds: algorithm.Bounds{Min: 1, Max: 100},
			ToZero: rapid.Bool().Draw(t, "to zero"), Native: rapid.Bool().Draw(t, "native"),
			HPA: HPA{Name: "worker", Target: algorithm.Milli(rapid.SampledFrom([]int{1000, 7500, 250, 1}).Draw(t, "target, ‰")), Tolerance: drawTolerance(t)},
		}
		obs.Status = max(0, obs.Spec+rapid.SampledFrom([]int32{0, 0, 1, -1, 5}).Draw(t, "S - P"))
		record := drawReplica(t, "record", drawEvents(t))
		outcome := Outcome{Value: float64(rapid.IntRange(0, 600).Draw(t, "read"))}
		if rapid.IntRange(0, 9).Draw(t, "fails at 9") == 9 {
			outcome = Outcome{Err: errors.New("timeout")}
		}
		d := Step(Input{
			Policy: policy, Record: record, Observation: obs, Now: epoch, Outcomes: []Outcome{outcome},
			Degraded: rapid.Bool().Draw(t, "degraded"),
		}).Decision
		if d.Err != nil { // a native HPA holds by itself
			return
		}
		landed := landsOn(t, algorithm.AverageValueTarget, d.Value, obs.HPA.Target, obs)
		switch {
		case !d.Swallowed && landed != d.Replicas:
			t.Errorf("%v at target %v lands on %d, decided %d: %s", d.Value.Float(), obs.HPA.Target.Float(), landed, d.Replicas, d.Why())
		case d.Swallowed && landed != obs.Spec && landed != obs.Status:
			t.Errorf("%v at target %v lands on %d, neither P nor S: %s", d.Value.Float(), obs.HPA.Target.Float(), landed, d.Why())
		}
	})
}

// TestAValueTargetIsHeld: with metricType Value the HPA multiplies the pods that are
// ready, which nobody can aim with. What is sent keeps the count that is there, whatever
// its tolerance.
func TestAValueTargetIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad := *quietUnion()
		bad.Invalid = ErrBadPolicy
		if rapid.Bool().Draw(t, "pass-through") {
			bad.Behavior = nil
		}
		obs := Observation{
			ValueType: true, Spec: rapid.Int32Range(1, 60).Draw(t, "P"), Bounds: algorithm.Bounds{Min: 1, Max: 100},
			HPA: HPA{Name: "worker", Target: algorithm.Milli(rapid.IntRange(0, 9000).Draw(t, "target, ‰")), Tolerance: drawTolerance(t)},
		}
		obs.Status = obs.Spec
		d := Step(Input{Policy: &bad, Observation: obs, Now: epoch}).Decision
		target := obs.HPA.Target
		if target == 0 { // not observed: it is the policy's
			target = bad.Target
		}
		if landed := landsOn(t, algorithm.ValueTarget, d.Value, target, obs); d.Held == nil || landed != obs.Spec {
			t.Errorf("%v at target %v lands on %d, not on %d", d.Value.Float(), target.Float(), landed, obs.Spec)
		}
	})
}
