package scaling

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Explanation is a decision in words and JSON: the answer to "why did it (not)
// scale?".
type Explanation struct {
	Policy Key       `json:"policy"`
	Mode   Mode      `json:"mode"`
	At     time.Time `json:"at"`
	// RecordTime is when the record that the decision was made from was stored.
	RecordTime time.Time `json:"recordTime,omitzero"`
	// Why is the decision's reason in one sentence.
	Why   string `json:"why"`
	Error string `json:"error,omitempty"`
	// Replicas and Awake are what was decided, Active and Value what is answered.
	Replicas int32   `json:"replicas"`
	Awake    bool    `json:"awake"`
	Active   bool    `json:"active"`
	Value    float64 `json:"value"`

	Current     int32            `json:"current"`
	Status      int32            `json:"status"`
	Bounds      algorithm.Bounds `json:"bounds"`
	Triggers    []TriggerTrace   `json:"triggers,omitempty"`
	Recommended int32            `json:"recommended"`
	Stabilized  *Checked         `json:"stabilized,omitempty"`
	Limited     *Checked         `json:"limited,omitempty"`
	Cooldown    *Cooldown        `json:"cooldown,omitempty"`
	Conditions  []Condition      `json:"conditions"`
	Warnings    []string         `json:"warnings,omitempty"`
}

// Cooldown says how long the workload stays awake without work. Ours and KEDA's
// add up, because KEDA starts to count when we stop being active.
type Cooldown struct {
	LastActive time.Time `json:"lastActive,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	Over       bool      `json:"over"`
	// KEDASeconds is KEDA's cooldownPeriod, EarliestZero the sum of both.
	KEDASeconds  int       `json:"kedaCooldownPeriod"`
	EarliestZero time.Time `json:"earliestZero,omitzero"`
}

// Condition is one finding, with the HPA's own type and reason words where the HPA
// has them.
type Condition struct {
	Type    string `json:"type"`
	Status  bool   `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// TransparentBehavior is the HPA behavior that passes a decided count on untouched,
// as a ScaledObject's advanced.horizontalPodAutoscalerConfig.behavior or an HPA's
// spec.behavior.
const TransparentBehavior = `behavior:
  scaleUp:
    tolerance: "0"
    stabilizationWindowSeconds: 0
    selectPolicy: Max
    policies: [{type: Pods, value: 100000, periodSeconds: 1}]
  scaleDown:
    tolerance: "0"
    stabilizationWindowSeconds: 0
    selectPolicy: Max
    policies: [{type: Pods, value: 100000, periodSeconds: 1}]
`

// Explain puts a decision into words.
func Explain(d Decision) Explanation {
	e := Explanation{
		Policy: d.Key, Mode: d.Mode, At: d.At, RecordTime: d.From, Why: d.Why(),
		Replicas: d.Replicas, Awake: d.Awake, Active: d.Active, Value: d.Value.Float(),
		Current: d.Current, Status: d.Status, Bounds: d.Bounds,
		Triggers: d.Basis.Triggers(), Recommended: d.Recommended,
		Conditions: conditions(d), Warnings: d.Warnings,
	}
	if d.Err != nil {
		e.Error = d.Err.Error()
	}
	if d.Stabilized.Reason != "" {
		e.Stabilized = &d.Stabilized
	}
	if d.Limited.Reason != "" {
		e.Limited = &d.Limited
	}
	if d.CanSleep && d.Mode != PassThrough && d.readsWork() {
		e.Cooldown = cooldown(d)
	}
	return e
}

func cooldown(d Decision) *Cooldown {
	c := &Cooldown{Over: d.Over, KEDASeconds: int(d.KEDACooldown / time.Second)}
	if d.EverActive {
		c.LastActive, c.Until = d.LastActive, d.CooldownUntil
		c.EarliestZero = d.CooldownUntil.Add(d.KEDACooldown)
	}
	return c
}

// Why is the decision's reason in one sentence, without times that move on while
// nothing changes.
func (d Decision) Why() string {
	switch {
	case d.Err != nil:
		return "no answer: " + oneLine(d.Err)
	case d.Held != nil:
		return fmt.Sprintf("held at %d: %s", d.running(), oneLine(d.Held))
	case d.Stranded != "":
		return d.stranded()
	case d.Mode == PassThrough:
		return d.whyPassThrough()
	case d.looksOn():
		return d.whyStabilised() + upToOthers
	case !d.Awake && (d.Current == 0 || !d.readsWork()):
		return "asleep: no trigger is above its activation threshold"
	case !d.Awake && d.Native:
		return "no work for the cooldown: on the way to zero"
	case !d.Awake:
		return fmt.Sprintf("no work for the cooldown: KEDA may scale from %d to zero", d.Current)
	}
	return d.whyStabilised()
}

func (d Decision) whyPassThrough() string {
	if !d.Active && !d.Awake && !d.looksOn() {
		return "inactive: no trigger is above its activation threshold"
	}
	asks := fmt.Sprintf("%s asks for %d; the HPA's own behavior applies", d.decider(), d.Recommended)
	if d.looksOn() {
		asks += upToOthers
	}
	return asks
}

const upToOthers = "; other triggers say whether the workload runs"

// looksOn: the workload runs, and whether it does is up to triggers of other policies.
func (d Decision) looksOn() bool { return !d.Awake && d.Running > 0 && !d.readsWork() }

// readsWork: what the policy reads can be work.
func (d Decision) readsWork() bool { return d.Basis.Policy == nil || d.Basis.Policy.canWork() }

func (d Decision) whyStabilised() string {
	var b strings.Builder
	switch {
	case d.Over:
		fmt.Fprintf(&b, "no work for the cooldown, on the way to %d", d.Stabilized.Replicas)
	case d.Fallback:
		fmt.Fprintf(&b, "fallback asks for %d", d.Recommended)
	default:
		fmt.Fprintf(&b, "%s asks for %d", d.decider(), d.Recommended)
	}
	if d.Stabilized.Reason == algorithm.ScaleDownStabilized || d.Stabilized.Reason == algorithm.ScaleUpStabilized {
		fmt.Fprintf(&b, "; %s holds %d", d.Stabilized.Reason, d.Stabilized.Replicas)
	}
	if d.Limited.Reason != "" && d.Limited.Reason != algorithm.DesiredWithinRange {
		fmt.Fprintf(&b, "; %s allows %d", d.Limited.Reason, d.Limited.Replicas)
	}
	if d.Replicas != d.Limited.Replicas {
		fmt.Fprintf(&b, "; at least %d while awake", d.Replicas)
	}
	if d.Degraded {
		b.WriteString("; the store does not answer, so nothing shrinks")
	}
	return b.String()
}

// running is the count that really runs, as far as it is known.
func (d Decision) running() int32 {
	if d.OpenLoop {
		return d.Current
	}
	return d.Running
}

// decider names the trigger that asked for most.
func (d Decision) decider() string {
	if d.Decider < 0 {
		return "no trigger"
	}
	return d.Basis.Readings[d.Decider].Query
}

// oneLine joins the parts of a joined error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func conditions(d Decision) []Condition {
	list := []Condition{scalingActive(d)}
	if r := d.Stabilized.Reason; r != "" {
		list = append(list, Condition{"AbleToScale", true, string(r), until("the windows give "+replicas(d.Stabilized.Replicas), d.Stabilized.Until)})
	}
	if r := d.Limited.Reason; r != "" {
		list = append(list, Condition{"ScalingLimited", r != algorithm.DesiredWithinRange, string(r), until("policies and bounds give "+replicas(d.Limited.Replicas), d.Limited.Until)})
	}
	if d.Held != nil {
		list = append(list, Condition{"Held", true, "Held", d.Why()})
	}
	if d.Degraded {
		list = append(list, Condition{"Degraded", true, "StoreUnreachable", "decided from this replica's memory; counts only rise until the store answers"})
	}
	if d.OpenLoop {
		list = append(list, Condition{"OpenLoop", true, "NotObserved", "the cluster is not observed: the last decision is taken as applied"})
	}
	list = append(list, hpaFindings(d)...)
	if errors.Is(d.Err, ErrAmbiguousTarget) {
		list = append(list, Condition{"AmbiguousTarget", true, "AmbiguousTarget", oneLine(d.Err)})
	}
	if o := d.Overruled; o.Times > 0 {
		list = append(list, Condition{"Overruled", true, "ReplicasSetByOthers", fmt.Sprintf(
			"somebody else has set replicas to %d against what was decided, %d times within an hour: a manifest that is applied again and again, or another autoscaler. "+
				"Leave replicas out of the manifest, and let one autoscaler have the workload", o.To, o.Times)})
	}
	if d.ZeroReason != "" {
		list = append(list, Condition{"ScaledToZero", true, "NotByDashpot", d.ZeroReason})
	}
	return list
}

// hpaFindings say what of the HPA that reads the metric is in the way, each with its cure.
func hpaFindings(d Decision) []Condition {
	cure := "Set in the ScaledObject, advanced.horizontalPodAutoscalerConfig:\n" + TransparentBehavior
	if d.Native {
		cure = "Set in its spec:\n" + TransparentBehavior
	}
	var list []Condition
	if d.Mode == Stabilised && d.HPA.Target > 0 && len(d.HPA.Opaque) > 0 {
		list = append(list, Condition{"HPANotTransparent", true, "HPANotTransparent",
			fmt.Sprintf("HPA %s changes what was decided: %s. %s", d.HPA.Name, strings.Join(d.HPA.Opaque, "; "), cure)})
	}
	if d.Swallowed {
		list = append(list, Condition{"SwallowedByTolerance", true, "SwallowedByTolerance",
			fmt.Sprintf("no value takes HPA %s from %d to %d replicas: the step lies inside its tolerance. %s", d.HPA.Name, d.Current, d.Replicas, cure)})
	}
	if d.CanSleep && d.HPA.CannotWake != "" {
		list = append(list, Condition{"CannotWake", true, "CannotWake", fmt.Sprintf("HPA %s: %s", d.HPA.Name, d.HPA.CannotWake)})
	}
	if d.Stranded != "" {
		list = append(list, Condition{"ScaledToZero", true, string(d.Stranded), d.stranded()})
	}
	if len(d.HPA.Owners.Names) > 0 {
		list = append(list, Condition{"SharedTarget", true, "SharedTarget", fmt.Sprintf(
			"%s is scaled by HPAs %s: while it has pods, the HPA controller lets none of them scale. Leave one", d.Key.Target, d.HPA.Owners)})
	}
	return list
}

// String is a list in words: a, b and c.
func (o Owners) String() string {
	parts := slices.Clone(o.Names)
	if o.More > 0 {
		parts = append(parts, fmt.Sprintf("%d more", o.More))
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// stranded says whose zero a workload is at that its HPA does not wake, and the cure.
func (d Decision) stranded() string {
	if d.Stranded == LostCondition {
		return fmt.Sprintf("HPA %s scaled to zero, but its condition ScaledToZero does not say so: it will not wake the workload by itself. "+
			"Set replicas of the scale target to 1 or more, or set the condition to True again in the HPA's status; "+
			"if it happens every time, the feature gate HPAScaleToZero is off in kube-controller-manager", d.HPA.Name)
	}
	return fmt.Sprintf("replicas was set to 0 by somebody other than HPA %s, which therefore is disabled and will not wake the workload. "+
		"Set replicas of the scale target to 1 or more, and the HPA takes over", d.HPA.Name)
}

// scalingActive says with upstream's reasons whether the triggers could be used.
func scalingActive(d Decision) Condition {
	for _, err := range []error{d.Err, d.Held} {
		if err != nil {
			return Condition{"ScalingActive", false, "FailedGetExternalMetric", oneLine(err)}
		}
	}
	return Condition{"ScalingActive", true, "ValidMetricFound", fmt.Sprintf("%s asks for %s", d.decider(), replicas(d.Recommended))}
}

func replicas(n int32) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// until adds when something ends by itself, where it does.
func until(message string, end time.Time) string {
	if end.IsZero() {
		return message
	}
	return message + " until " + end.UTC().Format(time.RFC3339)
}
