package cluster

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// An HPA is transparent, and passes a count on untouched, if one policy allows any
// jump at any moment. The controller adds the value to a count in 32 bits, so one
// near their end would wrap and forbid every step instead.
const (
	jumpPods    = 100_000
	maxJumpPods = 1_000_000_000
	jumpPeriod  = 1 // second, the shortest that Kubernetes accepts
)

// defaultDownWindow is the controller's --horizontal-pod-autoscaler-downscale-
// stabilization.
const defaultDownWindow = 300

const noBehavior = "spec.behavior is not set, want scaleUp and scaleDown, each with tolerance 0, " +
	"stabilizationWindowSeconds 0, selectPolicy Max and a policy Pods 100000 per 1 s"

// direction is one of the HPA's two, with what the API server fills in for it.
type direction struct {
	field    string
	window   int32
	policies []autoscalingv2.HPAScalingPolicy
	// jumps: a policy of this direction allows any change at any moment.
	jumps func(autoscalingv2.HPAScalingPolicy) bool
}

func upward() direction {
	return direction{
		field: "spec.behavior.scaleUp",
		policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		},
		jumps: allowsAnyPods,
	}
}

func downward() direction {
	return direction{
		field:    "spec.behavior.scaleDown",
		window:   defaultDownWindow,
		policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
		jumps: func(p autoscalingv2.HPAScalingPolicy) bool {
			return allowsAnyPods(p) || p.Type == autoscalingv2.PercentScalingPolicy && p.Value >= 100
		},
	}
}

func allowsAnyPods(p autoscalingv2.HPAScalingPolicy) bool {
	return p.Type == autoscalingv2.PodsScalingPolicy && jumpPods <= p.Value && p.Value <= maxJumpPods && p.PeriodSeconds <= jumpPeriod
}

// opaqueness lists what keeps an HPA from being transparent: field, value and the
// value wanted. Fields that are not set stand for their defaults.
func opaqueness(b *autoscalingv2.HorizontalPodAutoscalerBehavior) []string {
	if b == nil {
		return []string{noBehavior}
	}
	return append(upward().opaqueness(b.ScaleUp), downward().opaqueness(b.ScaleDown)...)
}

func (d direction) opaqueness(rules *autoscalingv2.HPAScalingRules) []string {
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	var found []string
	report := func(name, format string, args ...any) {
		found = append(found, d.field+"."+name+" "+fmt.Sprintf(format, args...))
	}
	switch {
	case rules.Tolerance == nil:
		report("tolerance", "is not set, which means the cluster's, 0.1 by default; want 0")
	case !rules.Tolerance.IsZero():
		report("tolerance", "is %s, want 0", rules.Tolerance)
	}
	if window := valueOr(rules.StabilizationWindowSeconds, d.window); window != 0 {
		report("stabilizationWindowSeconds", "is %d, want 0", window)
	}
	if s := rules.SelectPolicy; s != nil && *s != autoscalingv2.MaxChangePolicySelect {
		report("selectPolicy", "is %s, want Max", *s)
	}
	policies := rules.Policies
	if len(policies) == 0 {
		policies = d.policies
	}
	if !slices.ContainsFunc(policies, d.jumps) {
		report("policies", "is %s, want one that allows any jump: Pods %d per %d s", inWords(policies), jumpPods, jumpPeriod)
	}
	return found
}

func inWords(policies []autoscalingv2.HPAScalingPolicy) string {
	words := make([]string, len(policies))
	for i, p := range policies {
		words[i] = fmt.Sprintf("%s %d per %d s", p.Type, p.Value, p.PeriodSeconds)
	}
	return strings.Join(words, ", ")
}
