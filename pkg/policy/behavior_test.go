package policy_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestBehaviorDefaults: as soon as behavior is given, both directions are complete.
func TestBehaviorDefaults(t *testing.T) {
	upWindow := algorithm.DefaultBehavior()
	upWindow.ScaleUp.Window = time.Minute
	downTolerance := algorithm.DefaultBehavior()
	downTolerance.ScaleDown.Tolerance = 0
	disabled := algorithm.DefaultBehavior()
	disabled.ScaleDown.Select = algorithm.SelectDisabled
	slow := algorithm.DefaultBehavior()
	slow.ScaleDown.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 1, Period: 15 * time.Second}}

	tests := []struct {
		name, behavior string
		want           algorithm.Behavior
	}{
		{"empty", "{}", algorithm.DefaultBehavior()},
		{"empty directions", "scaleUp: {}\nscaleDown: {}", algorithm.DefaultBehavior()},
		{"null is absent", "scaleUp: null\nscaleDown: {policies: null, selectPolicy: ~}", algorithm.DefaultBehavior()},
		{"a window", "scaleUp: {stabilizationWindowSeconds: 60}", upWindow},
		{"a window as JSON", `{"scaleUp":{"stabilizationWindowSeconds":60}}`, upWindow},
		{"a tolerance alone", "scaleDown: {tolerance: 0}", downTolerance},
		{"disabled", "scaleDown: {selectPolicy: Disabled}", disabled},
		{"policies", "scaleDown:\n  policies:\n  - {type: Pods, value: 1, periodSeconds: 15}\n", slow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := good(t, jobs(values{"behavior": tt.behavior}))
			if !reflect.DeepEqual(*p.Behavior, tt.want) {
				t.Errorf("got %+v, want %+v", *p.Behavior, tt.want)
			}
		})
	}
}

func TestBehaviorInFull(t *testing.T) {
	p := good(t, jobs(values{"behavior": `
scaleUp:
  stabilizationWindowSeconds: 3600
  selectPolicy: Min
  tolerance: "0.05"
  policies:
  - {type: Pods, value: 1000000, periodSeconds: 1800}
  - {type: Percent, value: 1, periodSeconds: 1}
scaleDown:
  stabilizationWindowSeconds: 0
  tolerance: 100m
`}))
	want := algorithm.Behavior{
		ScaleUp: algorithm.Rules{
			Window: time.Hour, Select: algorithm.SelectMin, Tolerance: 0.05,
			Policies: []algorithm.RatePolicy{
				{Type: algorithm.PodsPolicy, Value: 1_000_000, Period: 30 * time.Minute},
				{Type: algorithm.PercentPolicy, Value: 1, Period: time.Second},
			},
		},
		ScaleDown: algorithm.DefaultBehavior().ScaleDown,
	}
	want.ScaleDown.Window = 0
	if !reflect.DeepEqual(*p.Behavior, want) {
		t.Errorf("got %+v, want %+v", *p.Behavior, want)
	}
}

func TestBehaviorProblems(t *testing.T) {
	const window = ": must be a whole number from 0 to 3600"
	const rules = "stabilizationWindowSeconds, selectPolicy, policies, tolerance"
	tests := []struct{ name, behavior, want string }{
		{"window too long", "scaleUp: {stabilizationWindowSeconds: 3601}", `behavior.scaleUp.stabilizationWindowSeconds "3601"` + window},
		{"window negative", "scaleDown: {stabilizationWindowSeconds: -1}", `behavior.scaleDown.stabilizationWindowSeconds "-1"` + window},
		{"window a mapping", "scaleDown: {stabilizationWindowSeconds: {a: 1}}", `behavior.scaleDown.stabilizationWindowSeconds "{\"a\":1}"` + window},
		{"select", "scaleUp: {selectPolicy: max}", `behavior.scaleUp.selectPolicy "max": must be one of Max, Min, Disabled`},
		{"tolerance negative", "scaleUp: {tolerance: -0.1}", `behavior.scaleUp.tolerance "-0.1": must be a number or quantity from 0 to 1000000, such as 0.1 or 100m`},
		{"tolerance in percent", "scaleUp: {tolerance: 10%}", `behavior.scaleUp.tolerance "10%": must be a number or quantity from 0 to 1000000, such as 0.1 or 100m`},
		{"period zero", "scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 0}]}", `behavior.scaleUp.policies[0].periodSeconds "0": must be a whole number from 1 to 1800`},
		{"period too long", "scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1801}]}", `behavior.scaleUp.policies[0].periodSeconds "1801": must be a whole number from 1 to 1800`},
		{"value zero", "scaleUp: {policies: [{type: Pods, value: 0, periodSeconds: 1}]}", `behavior.scaleUp.policies[0].value "0": must be a whole number from 1 to 1000000`},
		{"value huge", "scaleUp: {policies: [{type: Pods, value: 1000001, periodSeconds: 1}]}", `behavior.scaleUp.policies[0].value "1000001": must be a whole number from 1 to 1000000`},
		{"type missing", "scaleUp: {policies: [{value: 1, periodSeconds: 1}]}", `behavior.scaleUp.policies[0].type is missing: must be one of Pods, Percent`},
		{"second policy", "scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1}, {type: Pods, value: 1, periodSeconds: 1, valu: 2}]}", `behavior.scaleUp.policies[1].valu: unknown key, did you mean value?`},
		{"no policies", "scaleUp: {policies: []}", `behavior.scaleUp.policies "[]": must be a YAML list of at least one mapping of type, value, periodSeconds (an empty list)`},
		{"policy a number", "scaleUp: {policies: [1]}", "behavior.scaleUp.policies[0]: must be a mapping of type, value and periodSeconds (…)"},
		{"unknown field", "scaleUp: {cooldown: 5}", "behavior.scaleUp.cooldown: unknown key, must be one of " + rules},
		{"wrong capitals", "scaleup: {}", "behavior.scaleup: unknown key, did you mean scaleUp?"},
		{"null", "null", `behavior "null": must be a YAML mapping of scaleUp, scaleDown (not a mapping)`},
		{"text", "fast", `behavior "fast": must be a YAML mapping of scaleUp, scaleDown (…)`},
		{"twice", "{scaleUp: {}, scaleUp: {}}", `behavior "{scaleUp: {}, scaleUp: {}}": must be a YAML mapping of scaleUp, scaleDown (…)`},
		{"direction a number", "scaleUp: 5", `behavior.scaleUp "5": must be a YAML mapping of ` + rules + " (…)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, jobs(values{"behavior": tt.behavior}))
			if p.Behavior == nil {
				t.Error("a broken behavior is still one: the mode must not change")
			}
			if p.Invalid == nil {
				t.Fatal("no problem found")
			}
			got := strings.TrimPrefix(p.Invalid.Error(), scaling.ErrBadPolicy.Error()+": ")
			start, end, _ := strings.Cut(tt.want, "…") // the YAML library's own words
			if !strings.HasPrefix(got, start) || !strings.HasSuffix(got, end) || (end == "" && got != start) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestToleranceAsKubernetesReadsIt compares with a quantity that has been through the
// API server.
func TestToleranceAsKubernetesReadsIt(t *testing.T) {
	for _, text := range []string{
		"0", "0.1", "100m", "0.05", "50m", "0.07", "0.29", "0.57", "0.015", "15m", "0.0001", "1u", "1n", "0.1m", "0.3n",
		"1e-05", "1", "1.5", "12", "1000", "2000", "1000000", "0.123456789", "0.1234567891", "1e-3", "57e-2", "0.1e1", "999999.999",
	} {
		t.Run(text, func(t *testing.T) {
			stored := resource.MustParse(text).DeepCopy()
			encoded, err := stored.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var read resource.Quantity
			if err := read.UnmarshalJSON(encoded); err != nil {
				t.Fatal(err)
			}
			p := good(t, jobs(values{"behavior": "scaleUp: {tolerance: '" + text + "'}"}))
			if got, want := p.Behavior.ScaleUp.Tolerance, read.AsApproximateFloat64(); got != want {
				t.Errorf("got %v, want %v (%s)", got, want, encoded)
			}
		})
	}
	for _, text := range []string{"x", "1mu", "1000001", "-1m", "NaN", "Inf", "-", "m", ".", "9e999999999", "1e-999999999"} {
		if p := parse(t, jobs(values{"behavior": "scaleUp: {tolerance: '" + text + "'}"})); p.Invalid == nil {
			t.Errorf("%q is no tolerance", text)
		}
	}
}

func TestFallback(t *testing.T) {
	tests := []struct {
		text string
		want scaling.Fallback
	}{
		{"{after: 90s, replicas: 3}", scaling.Fallback{After: 90 * time.Second, Replicas: 3}},
		{"{after: 90, replicas: 0, behavior: static}", scaling.Fallback{After: 90 * time.Second, Static: true}},
		{"{after: 2m, replicas: 3, behavior: currentReplicasIfHigher}", scaling.Fallback{After: 2 * time.Minute, Replicas: 3}},
	}
	for _, tt := range tests {
		if p := good(t, jobs(values{"fallback": tt.text})); *p.Fallback != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.text, *p.Fallback, tt.want)
		}
	}
	p := parse(t, jobs(values{"fallback": "{after: 0, replicas: -1, behaviour: static}"}))
	wantProblems(t, p, []string{
		"fallback.behaviour: unknown key, did you mean behavior?",
		`fallback.after "0": must be seconds, or a duration such as 90s, from 1 to 86400 s`,
		`fallback.replicas "-1": must be a whole number from 0 to 1000000`,
	})
	wantProblems(t, parse(t, jobs(values{"fallback": "{after: 5s}"})), []string{
		"fallback.replicas is missing: must be a whole number from 0 to 1000000",
	})
}
