package algorithm

import (
	"errors"
	"time"
)

// Controller is an HPA controller's configuration.
type Controller struct {
	// Tolerance is --horizontal-pod-autoscaler-tolerance; a Behavior has its own two.
	Tolerance float64
	// DownscaleStabilization is --horizontal-pod-autoscaler-downscale-stabilization, the
	// window of an HPA without a behavior. A long memory promises one hour of it.
	DownscaleStabilization time.Duration
	Warmup                 Warmup
	// ScaleToZero is the feature gate HPAScaleToZero.
	ScaleToZero bool
	// Differences are where the answers are Dashpot's and not the HPA's.
	Differences Differences
}

// DefaultController is kube-controller-manager 1.37 without flags.
func DefaultController() Controller {
	return Controller{
		Tolerance:              DefaultTolerance,
		DownscaleStabilization: 5 * time.Minute,
		Warmup:                 DefaultWarmup(),
		ScaleToZero:            true,
	}
}

// Differences are the deliberate ones between Dashpot and the HPA. The zero value has
// none: the same replicas, conditions and reasons, reconcile by reconcile.
type Differences struct {
	// LongMemory keeps every recommendation for the longest legal window and every
	// change of scale for the longest legal period. The HPA reuses the slot of one that
	// no window or period reaches at that moment: an edit that lengthens a window finds
	// some of them gone, and a down policy's short period forgets what a long up policy
	// still counts.
	LongMemory bool
	// SeedDown lets the count that a long memory starts from hold a scale-down only. The
	// HPA's holds a scale-up too, for a whole scale-up window after each restart.
	SeedDown bool
	// FromOne limits the step that wakes a workload as if one replica ran, so that a
	// policy in percent can wake it. The HPA's never does: any percentage of 0 is 0.
	FromOne bool
}

// stepFrom is the count that a step is measured from.
func (d Differences) stepFrom(current, wanted int32) int32 {
	if d.FromOne && wanted > 0 {
		return max(current, 1)
	}
	return current
}

// Spec is what a HorizontalPodAutoscaler asks for, with every default filled in.
type Spec struct {
	Bounds Bounds
	// Metrics are at least one: the API server fills in one of CPU where there is none.
	Metrics []Metric
	// Behavior is nil for the controller's older rules: one window downward, at most
	// twice the count or 4 upward.
	Behavior *Behavior
}

// Input is everything one reconcile looks at.
type Input struct {
	Spec     Spec
	Workload Workload
	// Readings are those of Spec.Metrics, in their order. A metric without one has failed.
	Readings []Reading
	// NoScale: the scale could not be read. Refused: the write of it would fail.
	NoScale, Refused bool
	// Selector is why the pods cannot be told, InvalidSelector or AmbiguousSelector;
	// "" if they can.
	Selector Reason
}

// Condition is one of the HPA's conditions; the zero value is one that is not set.
type Condition struct {
	Status Status
	Reason Reason
}

// Conditions are all that the HPA has.
type Conditions struct {
	AbleToScale, ScalingActive, ScalingLimited, ScaledToZero Condition
}

// State is what passes from one reconcile to the next. The Memory is the controller's
// and ends with it: it means nothing to one with other Differences. The Conditions are
// kept by the API server.
type State struct {
	Memory     Memory
	Conditions Conditions
	// calculations is the room that one Outcome after the other uses.
	calculations []Calculation
}

// Outcome is what a reconcile did and how it came to it.
type Outcome struct {
	// Replicas is spec.replicas of the scale afterwards, Rescaled whether it was written.
	Replicas int32
	Rescaled bool
	// Calculations are those of the metrics, in their order, until the State's next
	// reconcile; empty if none were asked. Decider is the index of the one that decided,
	// -1 if none did.
	Calculations []Calculation
	Decider      int
	// Recommended is what the metrics want together, Stabilized and Limited the count
	// after windows, and after policies and bounds. Meaningless unless Decider >= 0.
	Recommended int32
	Stabilized  Stabilized
	Limited     Limited
	// Err is why metrics did not count, all of them joined.
	Err error
}

// The reasons of conditions that a reconcile sets itself.
const (
	FailedGetScale          Reason = "FailedGetScale"
	SucceededGetScale       Reason = "SucceededGetScale"
	FailedUpdateScale       Reason = "FailedUpdateScale"
	SucceededRescale        Reason = "SucceededRescale"
	ValidMetricFound        Reason = "ValidMetricFound"
	ScalingDisabled         Reason = "ScalingDisabled"
	InvalidSelector         Reason = "InvalidSelector"
	AmbiguousSelector       Reason = "AmbiguousSelector"
	InvalidMetricSourceType Reason = "InvalidMetricSourceType"
	ScaledToZero            Reason = "ScaledToZero"
	NotScaledToZero         Reason = "NotScaledToZero"
)

// Reconcile does what the HPA controller does each time: it looks at the scale and the
// metrics, decides a count, and says what it wrote. It writes to nothing but s. Time never
// runs backwards from one reconcile of a State to the next.
//
// Source: horizontal.go, reconcileAutoscaler.
func (c Controller) Reconcile(in Input, s *State) Outcome {
	current, now := in.Workload.Scale.Spec, in.Workload.Now
	out := Outcome{Replicas: current, Decider: -1}
	if in.NoScale {
		s.Conditions.AbleToScale = Condition{False, FailedGetScale}
		return out
	}
	s.Conditions.AbleToScale = Condition{True, SucceededGetScale}
	c.Differences.seed(&s.Memory, now, current)

	desired := c.desired(&in, s, &out)
	if desired == current {
		return out
	}
	if in.Refused {
		s.Conditions.AbleToScale = Condition{False, FailedUpdateScale}
		return out
	}
	s.Conditions.AbleToScale = Condition{True, SucceededRescale}
	c.Differences.change(&s.Memory, Event{now, desired - current}, in.Spec.Behavior)
	s.Conditions.ScaledToZero = c.scaledToZero(&in, desired)
	out.Replicas, out.Rescaled = desired, true
	return out
}

// desired is the count to write: the present one if nothing is to be done. Without
// replicas only an HPA that has put the workload to sleep itself goes on; a count outside
// the bounds is brought back without asking anybody.
func (c Controller) desired(in *Input, s *State, out *Outcome) int32 {
	current, bounds := in.Workload.Scale.Spec, in.Spec.Bounds
	asleep := c.ScaleToZero && s.Conditions.ScaledToZero.Status == True
	switch {
	case current == 0 && (!asleep || bounds.Min == 0 && !in.Spec.canWake()):
		s.Conditions.ScalingActive = Condition{False, ScalingDisabled}
		if !c.ScaleToZero {
			s.Conditions.ScaledToZero = Condition{}
		}
		return current
	case current > bounds.Max && current != 0:
		return bounds.Max
	case current < bounds.Min && current != 0:
		return bounds.Min
	}
	if !c.compute(in, s, out) {
		return current
	}
	desired := c.normalize(in, s, out)
	if current == 0 && asleep {
		desired = max(desired, bounds.Min)
	}
	return desired
}

// canWake reports whether a metric can be read while nothing runs.
func (s *Spec) canWake() bool {
	for _, m := range s.Metrics {
		if m.Source == ObjectSource || m.Source == ExternalSource {
			return true
		}
	}
	return false
}

// scaledToZero is the condition after a write: the HPA's own zero is one that it may end.
func (c Controller) scaledToZero(in *Input, desired int32) Condition {
	switch {
	case !c.ScaleToZero:
		return Condition{}
	case in.Workload.Scale.Spec > 0 && desired == 0 && in.Spec.Bounds.Min == 0 && in.Spec.canWake():
		return Condition{True, ScaledToZero}
	}
	return Condition{False, NotScaledToZero}
}

// compute asks every metric and takes the largest answer. It reports whether there is
// one that may be followed.
func (c Controller) compute(in *Input, s *State, out *Outcome) bool {
	if in.Selector != "" {
		s.Conditions.ScalingActive = Condition{False, in.Selector}
		return false
	}
	tolerance := Tolerance{Down: c.Tolerance, Up: c.Tolerance}
	if in.Spec.Behavior != nil {
		tolerance = in.Spec.Behavior.Tolerance()
	}
	var all Combination
	var failures []error
	var firstFailure Reason
	s.calculations = s.calculations[:0]
	for i := range in.Spec.Metrics {
		m := &in.Spec.Metrics[i]
		reading := Reading{Err: ErrNoData}
		if i < len(in.Readings) {
			reading = in.Readings[i]
		}
		calculation, err := Recommend(*m, reading, in.Workload, tolerance, c.Warmup)
		if err != nil {
			if failures == nil {
				firstFailure = m.failure()
			}
			failures = append(failures, err)
			calculation = Calculation{Failed: true}
		}
		all.Add(Proposal{Replicas: calculation.Replicas, Failed: calculation.Failed})
		s.calculations = append(s.calculations, calculation)
	}
	out.Calculations, out.Err = s.calculations, errors.Join(failures...)

	recommended, decider, ok := all.Result(in.Workload.Scale.Spec)
	if !ok {
		s.Conditions.ScalingActive = Condition{False, firstFailure}
		return false
	}
	s.Conditions.ScalingActive = Condition{True, ValidMetricFound}
	out.Recommended, out.Decider = recommended, decider
	return true
}

// failure is the reason of a metric that could not be computed.
func (m *Metric) failure() Reason {
	switch m.Source {
	case ResourceSource:
		return "FailedGetResourceMetric"
	case ContainerResourceSource:
		return "FailedGetContainerResourceMetric"
	case PodsSource:
		return "FailedGetPodsMetric"
	case ObjectSource:
		return "FailedGetObjectMetric"
	case ExternalSource:
		return "FailedGetExternalMetric"
	}
	return InvalidMetricSourceType
}

// normalize runs the recommendation through windows, policies and bounds.
func (c Controller) normalize(in *Input, s *State, out *Outcome) int32 {
	now, behavior, current := in.Workload.Now, in.Spec.Behavior, in.Workload.Scale.Spec
	history, events := c.Differences.pastOf(&s.Memory)
	if behavior == nil {
		out.Stabilized = stabilizeDown(out.Recommended, history, now, c.DownscaleStabilization)
		from := c.Differences.stepFrom(current, out.Stabilized.Replicas)
		out.Limited = limitDoubling(from, out.Stabilized.Replicas, in.Spec.Bounds)
		c.Differences.recommend(&s.Memory, Sample{now, out.Recommended}, c.DownscaleStabilization)
	} else {
		out.Stabilized = Stabilize(current, out.Recommended, history, now, *behavior)
		from := c.Differences.stepFrom(current, out.Stabilized.Replicas)
		out.Limited = Limit(from, out.Stabilized.Replicas, in.Spec.Bounds, *behavior, events, now)
		c.Differences.recommend(&s.Memory, Sample{now, out.Recommended}, max(behavior.ScaleUp.Window, behavior.ScaleDown.Window))
	}
	s.Conditions.AbleToScale = Condition{True, out.Stabilized.Reason}
	s.Conditions.ScalingLimited = Condition{False, out.Limited.Reason}
	if out.Limited.Replicas != out.Stabilized.Replicas {
		s.Conditions.ScalingLimited.Status = True
	}
	return out.Limited.Replicas
}
