package scaling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// TestFindings: what is in the way is named as a condition, with the cure for the
// object that the user has.
func TestFindings(t *testing.T) {
	asleep := HPA{Name: "worker", Target: 1000, Disabled: true}
	for _, tt := range []struct {
		name             string
		d                Decision
		condition, words string
	}{
		{
			"an HPA of KEDA's that has windows of its own",
			Decision{Mode: Stabilised, HPA: HPA{Name: "keda-hpa-worker", Target: 1000, Opaque: []string{"spec.behavior is not set"}}},
			"HPANotTransparent", "Set in the ScaledObject, advanced.horizontalPodAutoscalerConfig",
		},
		{
			"a native one",
			Decision{Native: true, Mode: Stabilised, HPA: HPA{Name: "worker", Target: 1000, Opaque: []string{"spec.behavior is not set"}}},
			"HPANotTransparent", "Set in its spec:\nbehavior:",
		},
		{
			"a step inside a native one's tolerance",
			Decision{Native: true, Mode: Stabilised, Swallowed: true, Current: 20, Replicas: 21, HPA: HPA{Name: "worker", Target: 1000}},
			"SwallowedByTolerance", "from 20 to 21 replicas",
		},
		{
			"a zero that a person made",
			Decision{Native: true, Mode: Stabilised, Stranded: ForeignZero, HPA: asleep},
			"ScaledToZero", "by somebody other than HPA worker, which therefore is disabled and will not wake the workload. Set replicas of the scale target to 1",
		},
		{
			"the HPA's own zero that it has forgotten",
			Decision{Native: true, Mode: Stabilised, Stranded: LostCondition, HPA: asleep},
			"ScaledToZero", "set the condition to True again in the HPA's status",
		},
		{
			"an HPA that can never wake",
			Decision{Native: true, Mode: Stabilised, CanSleep: true, HPA: HPA{Name: "worker", CannotWake: "only Percent policies"}},
			"CannotWake", "HPA worker: only Percent policies",
		},
		{
			"two owners, of KEDA's",
			sharedBy(Owners{Names: []string{"keda-hpa-a (ScaledObject a)", "native"}}),
			"SharedTarget", "apps/Deployment/worker is scaled by HPAs keda-hpa-a (ScaledObject a) and native: while it has pods, the HPA controller lets none of them scale. Leave one",
		},
		{
			"a thousand owners",
			sharedBy(Owners{Names: []string{"a", "b", "c"}, More: 997}),
			"SharedTarget", "is scaled by HPAs a, b, c and 997 more: while",
		},
		{
			"several HPAs",
			Decision{Native: true, Err: fmt.Errorf("%w: HPAs a and b", ErrAmbiguousTarget)},
			"AmbiguousTarget", "ambiguous target: HPAs a and b",
		},
	} {
		var found []Condition
		tt.d.Decider = -1
		for _, c := range Explain(tt.d).Conditions {
			if c.Type == tt.condition {
				found = append(found, c)
			}
		}
		if len(found) != 1 || !found[0].Status || !strings.Contains(found[0].Message, tt.words) {
			t.Errorf("%s: condition %s is %+v; want it to say %q", tt.name, tt.condition, found, tt.words)
		}
	}
}

// sharedBy is a decision on a workload that has these owners.
func sharedBy(owners Owners) Decision {
	return Decision{Key: Key{Target: "apps/Deployment/worker"}, HPA: HPA{Name: "native", Owners: owners}}
}

// TestNoFindings: an HPA that never sleeps may have any policy for waking, and one that
// is at a zero of its own is well.
func TestNoFindings(t *testing.T) {
	for name, d := range map[string]Decision{
		"cannot wake, and need not": {Native: true, Mode: Stabilised, HPA: HPA{CannotWake: "only Percent policies"}},
		"asleep":                    {Native: true, Mode: Stabilised, CanSleep: true, HPA: HPA{ScaledToZero: true}},
	} {
		d.Decider, d.Stabilized.Reason = -1, algorithm.ReadyForNewScale
		for _, c := range Explain(d).Conditions {
			if c.Type != "ScalingActive" && c.Type != "AbleToScale" {
				t.Errorf("%s: finding %+v", name, c)
			}
		}
	}
}
