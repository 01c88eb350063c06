package cluster

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// sleepless says why an HPA with these rules for scaling up never leaves zero replicas,
// with the cure; empty if it does. A policy of Percent allows n % of 0 replicas, which is
// 0, so at zero there must be one of Pods, and it must count. Where nothing is set, the
// API server fills in 4 Pods or 100 Percent, whichever is more, and all is well.
func sleepless(up *autoscalingv2.HPAScalingRules) string {
	if up == nil {
		return ""
	}
	policies := up.Policies
	if len(policies) == 0 {
		policies = upward().policies
	}
	selected := autoscalingv2.MaxChangePolicySelect
	if up.SelectPolicy != nil {
		selected = *up.SelectPolicy
	}
	isPods := func(p autoscalingv2.HPAScalingPolicy) bool { return p.Type == autoscalingv2.PodsScalingPolicy }
	isPercent := func(p autoscalingv2.HPAScalingPolicy) bool { return p.Type == autoscalingv2.PercentScalingPolicy }
	var cause string
	switch {
	case selected == autoscalingv2.DisabledPolicySelect:
		cause = "spec.behavior.scaleUp.selectPolicy is Disabled"
	case selected == autoscalingv2.MinChangePolicySelect && slices.ContainsFunc(policies, isPercent):
		cause = fmt.Sprintf("spec.behavior.scaleUp.selectPolicy is Min of %s, and a percentage of 0 replicas is 0", inWords(policies))
	case !slices.ContainsFunc(policies, isPods):
		cause = fmt.Sprintf("spec.behavior.scaleUp.policies is %s, and a percentage of 0 replicas is 0", inWords(policies))
	default:
		return ""
	}
	if !slices.ContainsFunc(policies, isPods) {
		policies = append(slices.Clone(policies), autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15})
	}
	return cause + ": it never scales up from zero. Set in its spec:\n" + wakingBehavior(policies)
}

// wakingBehavior is a behavior with these policies that leaves zero, as YAML.
func wakingBehavior(policies []autoscalingv2.HPAScalingPolicy) string {
	var text strings.Builder
	text.WriteString("behavior:\n  scaleUp:\n    selectPolicy: Max\n    policies:\n")
	for _, p := range policies {
		fmt.Fprintf(&text, "    - {type: %s, value: %d, periodSeconds: %d}\n", p.Type, p.Value, p.PeriodSeconds)
	}
	return text.String()
}
