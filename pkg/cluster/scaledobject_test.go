package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestScaledObjectBecomesAnObservation(t *testing.T) {
	const push = "triggers: [{type: external-push}]\n"
	defaults := scaling.Observation{
		UID:    "uid-of-worker",
		Target: "apps/Deployment/worker", Spec: 3, Status: 2, Revision: 7,
		Bounds: algorithm.Bounds{Min: 1, Max: 100}, ToZero: true, Cooldown: 300 * time.Second, OtherWakes: true,
	}
	tests := []struct {
		name string
		spec string
		want func(*scaling.Observation)
	}{
		{"KEDA's defaults", "scaleTargetRef: {name: worker}\n" + push, func(*scaling.Observation) {}},
		{"minReplicaCount 0", "scaleTargetRef: {name: worker}\nminReplicaCount: 0\n" + push, func(*scaling.Observation) {}},
		{"minReplicaCount 2 never sleeps", "scaleTargetRef: {name: worker}\nminReplicaCount: 2\nmaxReplicaCount: 7\n" + push, func(o *scaling.Observation) {
			o.Bounds, o.ToZero = algorithm.Bounds{Min: 2, Max: 7}, false
		}},
		{"minReplicaCount 2 sleeps with idleReplicaCount", "scaleTargetRef: {name: worker}\nminReplicaCount: 2\nidleReplicaCount: 0\n" + push, func(o *scaling.Observation) {
			o.Bounds.Min = 2
		}},
		{"cooldownPeriod 0 is not the default", "scaleTargetRef: {name: worker}\ncooldownPeriod: 0\n" + push, func(o *scaling.Observation) { o.Cooldown = 0 }},
		{"cooldownPeriod 10", "scaleTargetRef: {name: worker}\ncooldownPeriod: 10\n" + push, func(o *scaling.Observation) { o.Cooldown = 10 * time.Second }},
		{"another kind of apps", "scaleTargetRef: {kind: StatefulSet, name: db}\n" + push, func(o *scaling.Observation) { o.Target = "apps/StatefulSet/db" }},
		{"a custom kind", "scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: worker}\n" + push, func(o *scaling.Observation) { o.Target = "argoproj.io/Rollout/worker" }},
		{"a kind of the core group", "scaleTargetRef: {apiVersion: v1, kind: ReplicationController, name: worker}\n" + push, func(o *scaling.Observation) {
			o.Target = "core/ReplicationController/worker"
		}},
		{"metricType Value on the only external trigger", "scaleTargetRef: {name: worker}\ntriggers: [{type: cpu, metricType: Utilization}, {type: external, metricType: Value}]\n", func(o *scaling.Observation) {
			o.ValueType = true
		}},
		{"metricType AverageValue", "scaleTargetRef: {name: worker}\ntriggers: [{type: external, metricType: AverageValue}]\n", func(*scaling.Observation) {}},
		{"metricType Value on somebody else's trigger", "scaleTargetRef: {name: worker}\ntriggers: [{type: redis, metricType: Value}, {type: external}]\n", func(*scaling.Observation) {}},
		{"cpu alone: nothing else wakes it", "scaleTargetRef: {name: worker}\ntriggers: [{type: external, metadata: {source: cpu}}]\n", func(o *scaling.Observation) {
			o.OtherWakes = false
		}},
		{"cpu beside cron", "scaleTargetRef: {name: worker}\ntriggers: [{type: external, metadata: {source: cpu}}, {type: external, metadata: {source: cron}}]\n", func(*scaling.Observation) {}},
		{"two external triggers and no HPA: nobody can tell", "scaleTargetRef: {name: worker}\ntriggers: [{type: external, metricType: Value}, {type: external-push}]\n", func(*scaling.Observation) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			so := newScaledObject(object(t, "ScaledObject", test.spec))
			if so.problem != nil {
				t.Fatal(so.problem)
			}
			want := defaults
			test.want(&want)
			if got := observation(so, nil, replicas{3, 2, 7}, "jobs"); !equal(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestNameOfTheHPA(t *testing.T) {
	if got := newScaledObject(object(t, "ScaledObject", plainSpec)).hpaName; got != "keda-hpa-worker" {
		t.Errorf("by default: %s, want keda-hpa-worker", got)
	}
	named := plainSpec + "advanced: {horizontalPodAutoscalerConfig: {name: mine}}\n"
	if got := newScaledObject(object(t, "ScaledObject", named)).hpaName; got != "mine" {
		t.Errorf("named: %s, want mine", got)
	}
}

func TestWhoScaledToZero(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		spec        int32
		want        string
	}{
		{"nothing certain", nil, 0, ""},
		{"paused at a count", map[string]string{pausedReplicasAnnotation: "0"}, 0, "KEDA is paused at 0 replicas by the annotation autoscaling.keda.sh/paused-replicas"},
		{"paused", map[string]string{pausedAnnotation: "true"}, 0, "KEDA is paused by the annotation autoscaling.keda.sh/paused"},
		{"paused, no boolean", map[string]string{pausedAnnotation: "please"}, 0, "KEDA is paused by the annotation autoscaling.keda.sh/paused"},
		{"not paused", map[string]string{pausedAnnotation: "false"}, 0, ""},
		{"paused above zero", map[string]string{pausedAnnotation: "true"}, 3, ""},
		{"both: the count wins", map[string]string{pausedAnnotation: "false", pausedReplicasAnnotation: "0"}, 0, "KEDA is paused at 0 replicas by the annotation autoscaling.keda.sh/paused-replicas"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := object(t, "ScaledObject", plainSpec)
			u.SetAnnotations(test.annotations)
			if got := observation(newScaledObject(u), nil, replicas{test.spec, 0, 7}, "jobs").ZeroReason; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestScaledObjectThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"a text for a number": {"scaleTargetRef: {name: worker}\nminReplicaCount: two\n", "read ScaledObject shop/worker"},
		"a broken apiVersion": {"scaleTargetRef: {apiVersion: a/b/c, name: worker}\n", `scaleTargetRef.apiVersion "a/b/c"`},
	} {
		t.Run(name, func(t *testing.T) {
			so := newScaledObject(object(t, "ScaledObject", test.spec))
			if so.problem == nil || !strings.Contains(so.problem.Error(), test.want) {
				t.Errorf("problem %v, want one with %s", so.problem, test.want)
			}
		})
	}
}

// What pods use may leave it to other triggers whether the workload runs, if there are
// any that can wake it. Nobody leaves it to itself.
func TestOtherWakes(t *testing.T) {
	external := func(metadata string) string { return "{type: external, metadata: {" + metadata + "}}" }
	for _, test := range []struct {
		name     string
		triggers []string
		asking   int
		want     bool
	}{
		{"cpu alone", []string{external("source: cpu")}, 0, false},
		{"cpu and memory", []string{external("source: cpu"), external("source: ' memory '")}, 0, false},
		{"cpu and KEDA's own memory", []string{external("source: cpu"), "{type: memory}"}, 0, false},
		{"cpu and KEDA's own redis", []string{external("source: cpu"), "{type: redis}"}, 0, true},
		{"cpu and cron", []string{external("source: cpu"), external("source: cron")}, 0, true},
		{"cpu and cron, before there is an HPA", []string{external("source: cpu"), external("source: cron")}, -1, true},
		{"cpu and somebody else's scaler", []string{external("source: cpu"), "{type: external-push, metadata: {scalerAddress: 'x:1'}}"}, 0, true},
		{"cpu and a name from the environment", []string{external("source: cpu"), external("sourceFromEnv: SOURCE")}, 0, false},
		{"cpu and a StabilizedMetric", []string{external("source: cpu"), external("metric: jobs")}, 0, true},
		{"cpu and a StabilizedMetric, before there is an HPA", []string{external("source: cpu"), external("metric: jobs")}, -1, false},
		{"a StabilizedMetric alone", []string{external("metric: load")}, 0, false},
		{"a StabilizedMetric alone, its name from the environment", []string{external("metricFromEnv: METRIC")}, 0, false},
		{"a StabilizedMetric beside cpu", []string{external("source: cpu"), external("metric: load")}, 1, false},
		{"two StabilizedMetrics, for both may be of cpu", []string{external("metric: load"), external("metric: jobs")}, 0, false},
		{"a StabilizedMetric and cron", []string{external("metric: load"), external("source: cron")}, 0, true},
		{"an HPA that names more triggers than there are", []string{external("metric: load")}, 3, false},
	} {
		spec := "scaleTargetRef: {name: worker}\ntriggers: [" + strings.Join(test.triggers, ", ") + "]\n"
		so := newScaledObject(object(t, "ScaledObject", spec))
		if so.problem != nil {
			t.Fatal(so.problem)
		}
		if got := so.otherWakes(test.asking); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
