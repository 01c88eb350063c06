package scaling

import (
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// TestSharedPassThrough: a policy without behavior that KEDA asks for by the name of a
// StabilizedMetric, whose target there is 1, sends the reading in that unit: 37 jobs at 5
// each are 7.4, which is 8 replicas. So does one in shadow.
func TestSharedPassThrough(t *testing.T) {
	behavior := algorithm.DefaultBehavior()
	for name, own := range map[string]Policy{
		"pass-through": {},
		"shadow":       {Behavior: &behavior, Shadow: true},
	} {
		own.Metric, own.Target = "jobs", 1000
		own.Triggers = []Trigger{{Target: 5000, Query: fakeQuery{"s", "list jobs"}}}
		policy := own.SharedAs(&Policy{Metric: "jobs-replicas", Target: 1000})
		d := Step(Input{
			Policy: policy, Outcomes: []Outcome{{Value: 37}},
			Observation: Observation{
				Spec: 8, Status: 8, Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true,
				HPA: HPA{Name: "keda-hpa-worker", Target: 1000},
			},
		}).Decision
		if d.Value != 7400 {
			t.Errorf("%s: sends %v; want 7.4", name, d.Value.Float())
		}
		if landed, _ := algorithm.AverageValue(d.Value, 1000, 8, algorithm.Tolerance{}); landed != 8 {
			t.Errorf("%s: the HPA lands on %d; want 8", name, landed)
		}
	}
}
