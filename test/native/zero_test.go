//go:build e2e

package native_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// percentOnly is an HPA behavior that cannot leave zero: any percentage of 0 is 0.
const percentOnly = `behavior:
  scaleUp:
    tolerance: "0"
    stabilizationWindowSeconds: 0
    policies: [{type: Percent, value: 1000, periodSeconds: 1}]
  scaleDown:
    tolerance: "0"
    stabilizationWindowSeconds: 0
    policies: [{type: Pods, value: 100000, periodSeconds: 1}]`

// testZeroByHand: a person scales 8 to 0 with a full queue. The HPA takes that for a
// pause and asks for nothing; the status and an Event say so, with the cure, which
// then works.
func testZeroByHand(t *testing.T) {
	const cure = "Set replicas of the scale target to 1 or more"
	w := newWorkload(t, 8)
	w.Queue(jobs, 40)
	w.apply(metric{name: jobs, cooldown: 30, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	r := w.Record()
	w.awaitDecided(jobs, 8)
	w.Scale(0)
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "")
	w.awaitCondition(jobs, "ScaledToZero", "NotByHPA", cure)
	w.awaitEvent(jobs, cure)
	if shown := w.kubectl("get", "smetric", jobs, "-o", "yaml"); !strings.Contains(shown, "NotByHPA") || !strings.Contains(shown, "Set replicas of the scale target") {
		t.Errorf("kubectl does not show why nothing wakes:\n%s", shown)
	}
	w.Steady(r, 3*hpaSync, 8, 0)
	w.Scale(1)
	w.Await(8, time.Minute)
	w.Expect(r, 8, 0, 1, 8)
	w.awaitNoCondition(jobs, "ScaledToZero")
}

// testConditionLost: the HPA scaled to zero itself, and what it noted of that is gone from
// its status: as if the write had been lost, before which it had no condition or that of
// an earlier step.
func testConditionLost(t *testing.T) {
	scenario.Together(t, map[string]func(*testing.T){
		"removed": func(t *testing.T) {
			loseCondition(t, func(all hpaConditions) hpaConditions {
				return slices.DeleteFunc(all, isScaledToZero)
			})
		},
		"False": func(t *testing.T) {
			loseCondition(t, func(all hpaConditions) hpaConditions {
				lost := &all[slices.IndexFunc(all, isScaledToZero)]
				lost.Status, lost.Reason, lost.Message = corev1.ConditionFalse, "NotScaledToZero", "the HPA controller has not scaled the target to zero"
				return all
			})
		},
	})
}

type hpaConditions = []autoscalingv2.HorizontalPodAutoscalerCondition

func isScaledToZero(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
	return c.Type == autoscalingv2.ScaledToZero
}

// loseCondition edits the conditions of an HPA that sleeps. Nothing wakes the workload; the
// status says so, with the cure, which works as it is documented.
func loseCondition(t *testing.T, lose func(hpaConditions) hpaConditions) {
	t.Helper()
	const cure = "set the condition to True again in the HPA's status"
	w := newWorkload(t, 1)
	w.apply(metric{name: jobs, cooldown: 5, up: jumpUp, down: jumpDown})
	w.scale(transparent())
	w.Await(0, 2*time.Minute)
	r := w.Record()
	w.awaitHPA(scenario.Worker, autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "")
	w.editStatus(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Status.Conditions = lose(h.Status.Conditions) })
	w.awaitHPA(scenario.Worker, autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "")
	w.Queue(jobs, 37)
	w.awaitCondition(jobs, "ScaledToZero", "ConditionLost", cure)
	w.awaitEvent(jobs, cure)
	w.Steady(r, 3*hpaSync, 0)
	w.shell(documentedCure(t))
	w.Await(8, time.Minute)
	w.Expect(r, 0, 8)
	w.awaitNoCondition(jobs, "ScaledToZero")
}

// documentedCure is the command that the documentation has for an HPA that has lost its
// condition, for the HPA of a workload.
func documentedCure(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?m)^```sh\n(kubectl patch hpa )\\S+( [^`]*--subresource=status [^`]*)```$").FindSubmatch(text)
	if command == nil {
		t.Fatal("docs/native.md has no command that patches an HPA's status")
	}
	return string(command[1]) + scenario.Worker + string(command[2])
}

// testCannotWake: an HPA with nothing but percentages goes to zero and stays there
// with a full queue. The status says so before it happens, and the cure works.
func testCannotWake(t *testing.T) {
	w := newWorkload(t, 1)
	w.apply(metric{name: jobs, cooldown: 5, up: jumpUp, down: jumpDown})
	h := transparent()
	h.behavior = percentOnly
	w.scale(h)
	w.awaitCondition(jobs, "CannotWake", "CannotWake", "Pods")
	w.awaitEvent(jobs, "Pods")
	w.Await(0, 2*time.Minute)
	r := w.Record()
	time.Sleep(2 * time.Second) // until the period is over in which the HPA takes back its own step
	w.Queue(jobs, 37)
	w.Steady(r, 4*hpaSync, 0)
	w.scale(transparent())
	w.Await(8, time.Minute)
	w.Expect(r, 0, 8)
	w.awaitNoCondition(jobs, "CannotWake")
}

// editStatus changes the HPA's status as somebody would through /status.
func (w *workload) editStatus(edit func(*autoscalingv2.HorizontalPodAutoscaler)) {
	w.T.Helper()
	client := env.cluster.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		h := w.hpaNow(scenario.Worker)
		edit(h)
		_, err := client.UpdateStatus(w.T.Context(), h, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// kubectl runs kubectl in the workload's namespace, and returns what it prints.
func (w *workload) kubectl(args ...string) string {
	w.T.Helper()
	return w.run(env.cluster.Kubectl(), append([]string{"--kubeconfig=" + env.cluster.Kubeconfig(), "--namespace=" + w.Namespace}, args...)...)
}

// shell runs commands of kubectl as a person does whose context is the workload's
// namespace.
func (w *workload) shell(commands string) {
	w.T.Helper()
	kubectl := fmt.Sprintf("kubectl() { %q --kubeconfig=%q --namespace=%q \"$@\"; }\n", env.cluster.Kubectl(), env.cluster.Kubeconfig(), w.Namespace)
	w.T.Logf("%s%s", commands, w.run("sh", "-ec", kubectl+commands))
}

func (w *workload) run(program string, args ...string) string {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		w.T.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
