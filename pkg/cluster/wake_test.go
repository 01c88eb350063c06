package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// upRules are all combinations of up to three policies with a selectPolicy, and what is
// not set at all.
func upRules() []*autoscalingv2.HPAScalingRules {
	kinds := []autoscalingv2.HPAScalingPolicy{
		{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 60},
		{Type: autoscalingv2.PodsScalingPolicy, Value: 2147483647, PeriodSeconds: 1},
		{Type: autoscalingv2.PercentScalingPolicy, Value: 1, PeriodSeconds: 1800},
		{Type: autoscalingv2.PercentScalingPolicy, Value: 100000, PeriodSeconds: 1},
	}
	lists := [][]autoscalingv2.HPAScalingPolicy{nil}
	for from := 0; len(lists[from]) < 3; from++ {
		for _, p := range kinds {
			lists = append(lists, append(lists[from][:len(lists[from]):len(lists[from])], p))
		}
	}
	rules := []*autoscalingv2.HPAScalingRules{nil}
	for _, policies := range lists {
		rules = append(rules, &autoscalingv2.HPAScalingRules{Policies: policies})
		for _, s := range []autoscalingv2.ScalingPolicySelect{"Max", "Min", "Disabled"} {
			rules = append(rules, &autoscalingv2.HPAScalingRules{Policies: policies, SelectPolicy: &s})
		}
	}
	return rules
}

// upBehavior is the behavior that the controller works with: what is not set is the
// default.
func upBehavior(up *autoscalingv2.HPAScalingRules) algorithm.Behavior {
	b := algorithm.DefaultBehavior()
	if up == nil {
		return b
	}
	if up.SelectPolicy != nil {
		b.ScaleUp.Select = algorithm.SelectPolicy(*up.SelectPolicy)
	}
	if len(up.Policies) > 0 {
		b.ScaleUp.Policies = nil
	}
	for _, p := range up.Policies {
		b.ScaleUp.Policies = append(b.ScaleUp.Policies, algorithm.RatePolicy{
			Type: algorithm.PolicyType(p.Type), Value: p.Value, Period: time.Duration(p.PeriodSeconds) * time.Second,
		})
	}
	return b
}

// An HPA is said not to wake exactly where the controller's limit at zero is zero, and
// what is offered as the cure is one.
func TestCannotWakeIsTheControllersLimit(t *testing.T) {
	rules := upRules()
	said := 0
	for _, up := range rules {
		limited := algorithm.Limit(0, 10, algorithm.Bounds{Min: 0, Max: 100}, upBehavior(up), nil, time.Hour)
		words := sleepless(up)
		if (words != "") != (limited.Replicas == 0) {
			t.Errorf("%s: the controller allows %d, and we say %q", describe(up), limited.Replicas, words)
		}
		if words == "" {
			continue
		}
		said++
		_, cure, _ := strings.Cut(words, "Set in its spec:\n")
		var spec struct {
			Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
		}
		if err := yaml.UnmarshalStrict([]byte(cure), &spec); err != nil || spec.Behavior == nil {
			t.Fatalf("%s: the cure is no behavior: %v\n%s", describe(up), err, cure)
		}
		cured := algorithm.Limit(0, 10, algorithm.Bounds{Min: 0, Max: 100}, upBehavior(spec.Behavior.ScaleUp), nil, time.Hour)
		if still := sleepless(spec.Behavior.ScaleUp); still != "" || cured.Replicas == 0 {
			t.Errorf("%s: with the cure the controller allows %d, and we say %q", describe(up), cured.Replicas, still)
		}
	}
	if said == 0 || said == len(rules) {
		t.Errorf("%d of %d rules cannot wake: that compares nothing", said, len(rules))
	}
}

func describe(up *autoscalingv2.HPAScalingRules) string {
	if up == nil {
		return "no scaleUp"
	}
	selected := "none"
	if up.SelectPolicy != nil {
		selected = string(*up.SelectPolicy)
	}
	return fmt.Sprintf("selectPolicy %s of %q", selected, inWords(up.Policies))
}

func TestCannotWakeInWords(t *testing.T) {
	tests := []struct{ name, up, want string }{
		{"the defaults", "{}", ""},
		{"Pods", "{policies: [{type: Pods, value: 1, periodSeconds: 60}]}", ""},
		{"Percent and Pods", "{policies: [{type: Percent, value: 50, periodSeconds: 60}, {type: Pods, value: 1, periodSeconds: 60}]}", ""},
		{"only Percent", "{policies: [{type: Percent, value: 50, periodSeconds: 60}]}", `spec.behavior.scaleUp.policies is Percent 50 per 60 s, and a percentage of 0 replicas is 0: it never scales up from zero. Set in its spec:
behavior:
  scaleUp:
    selectPolicy: Max
    policies:
    - {type: Percent, value: 50, periodSeconds: 60}
    - {type: Pods, value: 4, periodSeconds: 15}
`},
		{"Min of both", "{selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 60}, {type: Percent, value: 50, periodSeconds: 60}]}", `spec.behavior.scaleUp.selectPolicy is Min of Pods 1 per 60 s, Percent 50 per 60 s, and a percentage of 0 replicas is 0: it never scales up from zero. Set in its spec:
behavior:
  scaleUp:
    selectPolicy: Max
    policies:
    - {type: Pods, value: 1, periodSeconds: 60}
    - {type: Percent, value: 50, periodSeconds: 60}
`},
		{"Disabled", "{selectPolicy: Disabled}", `spec.behavior.scaleUp.selectPolicy is Disabled: it never scales up from zero. Set in its spec:
behavior:
  scaleUp:
    selectPolicy: Max
    policies:
    - {type: Pods, value: 4, periodSeconds: 15}
    - {type: Percent, value: 100, periodSeconds: 15}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sleepless(parse[autoscalingv2.HPAScalingRules](t, test.up)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
