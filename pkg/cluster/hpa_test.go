package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const transparent = `
  scaleUp:   {tolerance: 0, stabilizationWindowSeconds: 0, selectPolicy: Max, policies: [{type: Pods, value: 100000, periodSeconds: 1}]}
  scaleDown: {tolerance: 0, stabilizationWindowSeconds: 0, selectPolicy: Max, policies: [{type: Pods, value: 100000, periodSeconds: 1}]}
`

func equal(a, b scaling.Observation) bool { return reflect.DeepEqual(a, b) }

// hpaSpec is an HPA's spec with the given External metrics, each name: target.
func hpaSpec(behavior string, metrics ...string) string {
	var spec strings.Builder
	spec.WriteString("scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}\nmaxReplicas: 100\nmetrics:\n")
	spec.WriteString("- {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}\n")
	for _, m := range metrics {
		name, target, _ := strings.Cut(m, ": ")
		fmt.Fprintf(&spec, "- {type: External, external: {metric: {name: %s}, target: %s}}\n", name, target)
	}
	if behavior != "" {
		spec.WriteString("behavior:" + behavior)
	}
	return spec.String()
}

func TestMetricOfTheHPA(t *testing.T) {
	const (
		five  = "{type: AverageValue, averageValue: 5}"
		half  = "{type: AverageValue, averageValue: 500m}"
		value = "{type: Value, value: 5}"
	)
	two := "scaleTargetRef: {name: worker}\ntriggers: [{type: external}, {type: external-push, metricType: Value}]\n"
	moved := "scaleTargetRef: {name: worker}\ntriggers: [{type: redis, metricType: Value}, {type: external}]\n"
	tests := []struct {
		name    string
		spec    string
		metrics []string
		target  algorithm.Milli
		value   bool
	}{
		{"asked for", plainSpec, []string{"s0-jobs: " + five}, 5000, false},
		{"a fraction", plainSpec, []string{"s0-jobs: " + half}, 500, false},
		{"any index, case does not matter", plainSpec, []string{"s12-JOBS: " + five}, 5000, false},
		{"another metric", plainSpec, []string{"s0-mails: " + five}, 0, false},
		{"a name that only ends alike", plainSpec, []string{"s0-my-jobs: " + five}, 0, false},
		{"without KEDA's prefix", plainSpec, []string{"jobs: " + five, "s-jobs: " + five, "sx-jobs: " + five, "s1jobs: " + five}, 0, false},
		{"the second of two", plainSpec, []string{"s0-mails: " + half, "s1-jobs: " + five}, 5000, false},
		{"two of one name that agree", plainSpec, []string{"s0-jobs: " + five, "s1-jobs: " + five}, 5000, false},
		{"two of one name that do not", plainSpec, []string{"s0-jobs: " + half, "s1-jobs: " + five}, 0, false},
		{"of type Value", plainSpec, []string{"s0-jobs: " + value}, 0, true},
		{"the other metric is of type Value", plainSpec, []string{"s0-mails: " + value, "s1-jobs: " + five}, 5000, false},
		{"the index finds the trigger that is Value", two, []string{"s1-jobs: " + five}, 5000, true},
		{"the index finds the trigger that is not", two, []string{"s0-jobs: " + five}, 5000, false},
		{"an index that is somebody else's trigger now", moved, []string{"s0-jobs: " + five}, 5000, false},
		{"an index that is no trigger", two, []string{"s7-jobs: " + five}, 5000, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			so := newScaledObject(object(t, "ScaledObject", test.spec))
			h := newHPA(kedaHPA(t, hpaSpec(transparent, test.metrics...), "{}"))
			got := observation(so, h, replicas{1, 1, 7}, "jobs")
			if got.HPA.Name != "keda-hpa-worker" || got.HPA.Target != test.target || got.ValueType != test.value {
				t.Errorf("name %s, target %d, value %t; want keda-hpa-worker, %d, %t", got.HPA.Name, got.HPA.Target, got.ValueType, test.target, test.value)
			}
			if len(got.HPA.Opaque) != 0 || got.HPA.Tolerance != (algorithm.Tolerance{}) {
				t.Errorf("a transparent HPA is called opaque: %q, tolerance %v", got.HPA.Opaque, got.HPA.Tolerance)
			}
		})
	}
}

func TestTolerance(t *testing.T) {
	tests := []struct {
		name, behavior string
		want           algorithm.Tolerance
	}{
		{"no behavior", "", algorithm.Tolerance{Down: 0.1, Up: 0.1}},
		{"not set", " {scaleUp: {selectPolicy: Max}}", algorithm.Tolerance{Down: 0.1, Up: 0.1}},
		{"one direction", " {scaleUp: {tolerance: 50m}}", algorithm.Tolerance{Down: 0.1, Up: 0.05}},
		{"both", " {scaleUp: {tolerance: 0}, scaleDown: {tolerance: 1}}", algorithm.Tolerance{Down: 1, Up: 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := newHPA(kedaHPA(t, hpaSpec(test.behavior), "{}")).tolerance; got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// The controller multiplies: 9m is 9 * 0.001, whose last bit differs from 9 / 1000.
func TestToleranceIsTheControllersFloat(t *testing.T) {
	for n := range 1000 {
		rules := parse[autoscalingv2.HPAScalingRules](t, fmt.Sprintf("tolerance: %dm", n))
		if got, want := toleranceOf(rules), float64(n)*0.001; got != want {
			t.Errorf("%dm is %v, want %v", n, got, want)
		}
	}
}

func TestOpaqueness(t *testing.T) {
	with := func(old, replacement string) string { return strings.ReplaceAll(transparent, old, replacement) }
	const anyJump = ", want one that allows any jump: Pods 100000 per 1 s"
	tests := []struct {
		name, behavior string
		want           []string
	}{
		{"transparent", transparent, nil},
		{"no behavior", "", []string{noBehavior}},
		{"an empty behavior: the defaults of Kubernetes", " {}", []string{
			"spec.behavior.scaleUp.tolerance is not set, which means the cluster's, 0.1 by default; want 0",
			"spec.behavior.scaleUp.policies is Pods 4 per 15 s, Percent 100 per 15 s" + anyJump,
			"spec.behavior.scaleDown.tolerance is not set, which means the cluster's, 0.1 by default; want 0",
			"spec.behavior.scaleDown.stabilizationWindowSeconds is 300, want 0",
		}},
		{"tolerances", with("tolerance: 0", "tolerance: 50m"), []string{
			"spec.behavior.scaleUp.tolerance is 50m, want 0",
			"spec.behavior.scaleDown.tolerance is 50m, want 0",
		}},
		{"windows", with("Seconds: 0", "Seconds: 30"), []string{
			"spec.behavior.scaleUp.stabilizationWindowSeconds is 30, want 0",
			"spec.behavior.scaleDown.stabilizationWindowSeconds is 30, want 0",
		}},
		{"a direction that KEDA's paused-scale-in disabled", with("selectPolicy: Max", "selectPolicy: Disabled"), []string{
			"spec.behavior.scaleUp.selectPolicy is Disabled, want Max",
			"spec.behavior.scaleDown.selectPolicy is Disabled, want Max",
		}},
		{"selectPolicy not set is Max", with("selectPolicy: Max, ", ""), nil},
		{"Percent 100 lets everything go down, but not up", with("type: Pods, value: 100000, periodSeconds: 1", "type: Percent, value: 100, periodSeconds: 60"), []string{
			"spec.behavior.scaleUp.policies is Percent 100 per 60 s" + anyJump,
		}},
		{"too few pods", with("100000", "99999"), []string{
			"spec.behavior.scaleUp.policies is Pods 99999 per 1 s" + anyJump,
			"spec.behavior.scaleDown.policies is Pods 99999 per 1 s" + anyJump,
		}},
		{"more pods than wanted", with("100000", "1000000"), nil},
		{"too seldom", with("periodSeconds: 1}", "periodSeconds: 2}"), []string{
			"spec.behavior.scaleUp.policies is Pods 100000 per 2 s" + anyJump,
			"spec.behavior.scaleDown.policies is Pods 100000 per 2 s" + anyJump,
		}},
		{"so many pods that the controller's sum wraps", with("value: 100000", "value: 2147483647"), []string{
			"spec.behavior.scaleUp.policies is Pods 2147483647 per 1 s" + anyJump,
			"spec.behavior.scaleDown.policies is Pods 2147483647 per 1 s" + anyJump,
		}},
		{"one good policy is enough", with("policies: [", "policies: [{type: Pods, value: 1, periodSeconds: 60}, "), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := newHPA(kedaHPA(t, hpaSpec(test.behavior), "{}")).opaque
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

func TestReplicasByTheStatusOfAnHPA(t *testing.T) {
	const conditions = ", conditions: [{type: AbleToScale, status: %q, reason: r, message: m, lastTransitionTime: null}, {type: ScalingActive, status: %q, reason: r, message: m, lastTransitionTime: null}]}"
	synced := func(counts, able, active string) string { return "{" + counts + fmt.Sprintf(conditions, able, active) }
	tests := []struct {
		name, status string
		want         int32
		known        bool
	}{
		{"never synced", "{desiredReplicas: 0}", 0, false},
		{"it wrote 5 over 3", synced("currentReplicas: 3, desiredReplicas: 5", "True", "True"), 5, true},
		{"it could not read the metric", synced("currentReplicas: 3, desiredReplicas: 5", "True", "False"), 3, true},
		{"it could not write", synced("currentReplicas: 3, desiredReplicas: 5", "False", "True"), 3, true},
		{"it could not read the target, ever", synced("desiredReplicas: 0", "False", "True"), 0, false},
		{"asleep", synced("currentReplicas: 0, desiredReplicas: 0", "True", "False"), 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHPA(kedaHPA(t, hpaSpec(""), test.status))
			if h.current != test.want || h.known != test.known {
				t.Errorf("got %d, known %t; want %d, %t", h.current, h.known, test.want, test.known)
			}
		})
	}
}

func FuzzCutTriggerPrefix(f *testing.F) {
	for _, name := range []string{"s0-jobs", "S12-a-b", "s-", "", "s99999999999999999999-x", "s-1-x", "s+1-x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		trigger, rest, ok := cutTriggerPrefix(name)
		if !ok {
			return
		}
		if trigger < 0 || !strings.HasSuffix(name, "-"+rest) {
			t.Errorf("%q gives %d, %q", name, trigger, rest)
		}
	})
}
