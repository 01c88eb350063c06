package conformance

import (
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// TestTheCureForAToleranceWorks takes counts that an HPA cannot reach, reads the YAML that
// Explain prints beside such a decision, gives the HPA its tolerance, and asks upstream
// again.
func TestTheCureForAToleranceWorks(t *testing.T) {
	const target algorithm.Milli = 1000
	tried, cured := 0, 0
	for _, tolerance := range encodeTolerances {
		for current := int32(1); current <= mostReplicas; current += 7 {
			for wanted := range int32(mostReplicas + 1) {
				if algorithm.Encode(wanted, current, current, target, tolerance).Reachable {
					continue
				}
				tried++
				remedy := behaviorOf(t, scaling.Decision{
					Mode: scaling.Stabilised, Current: current, Status: current, Replicas: wanted,
					Awake: true, Active: true, Decider: -1, Swallowed: true,
					HPA: scaling.HPA{Name: "keda-hpa-web", Target: target, Tolerance: tolerance},
				})
				after := algorithm.Tolerance{Down: toleranceOf(t, remedy.ScaleDown), Up: toleranceOf(t, remedy.ScaleUp)}
				sent := algorithm.Encode(wanted, current, current, target, after)
				landed := oracle.NewExternalAverage(target, after).Replicas(sent.Value, current)
				if !sent.Reachable || landed != wanted {
					t.Fatalf("from %d to %d replicas with tolerance %+v: with the remedy's %+v %+v is sent, upstream wants %d",
						current, wanted, tolerance, after, sent, landed)
				}
				cured++
			}
		}
	}
	if tried == 0 {
		t.Error("every count is within reach: nothing was tried")
	}
	t.Logf("counts out of reach: %d tried, %d within reach with the YAML that Explain prints", tried, cured)
}

// behaviorOf is the YAML of the condition SwallowedByTolerance, read as the API reads it:
// an unknown field is an error.
func behaviorOf(t *testing.T, d scaling.Decision) autoscalingv2.HorizontalPodAutoscalerBehavior {
	t.Helper()
	conditions := scaling.Explain(d).Conditions
	i := slices.IndexFunc(conditions, func(c scaling.Condition) bool { return c.Type == "SwallowedByTolerance" })
	if i < 0 {
		t.Fatalf("no condition SwallowedByTolerance among %+v", conditions)
	}
	_, text, found := strings.Cut(conditions[i].Message, "\n")
	if !found {
		t.Fatalf("no YAML in %q", conditions[i].Message)
	}
	var config struct {
		Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return config.Behavior
}

// toleranceOf is a direction's as the controller computes it.
func toleranceOf(t *testing.T, rules *autoscalingv2.HPAScalingRules) float64 {
	t.Helper()
	if rules == nil || rules.Tolerance == nil {
		t.Fatalf("the YAML leaves a direction's tolerance to the controller: %+v", rules)
	}
	canonical := resource.NewMilliQuantity(rules.Tolerance.MilliValue(), resource.DecimalSI)
	return canonical.AsApproximateFloat64()
}
