package cluster

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// maxConditionMessage is how many bytes the API server takes.
	maxConditionMessage = 32768
	// maxWhy is how long the one sentence may be; the conditions have it in full.
	maxWhy = 1024
)

// conditionReady says whether the policy can be followed. Beside ScalingActive, which
// says whether the triggers give numbers, it is what a user waits for, and these two
// are always there. All others are findings about one decision and go with it: where
// none was made, a False AbleToScale or ScalingLimited would tell of something that
// nobody has found.
const (
	conditionReady     = "Ready"
	reasonPolicyValid  = "PolicyValid"
	messagePolicyValid = "the policy is followed"
)

// page is one metric's status: as it should be, and as it is.
type page struct {
	ref scaling.Ref
	uid string
	// wanted is what the last decision says. The times of its conditions are not set:
	// they depend on what is there.
	wanted v1alpha1.Status
	// present is what the object shows; nil until this replica has read or written it.
	present *v1alpha1.Status
	// touched is when it was last written, or when that was last tried.
	touched time.Time
	// failure is why the last write came to nothing.
	failure error
	// seen is when the metric was last reported.
	seen time.Time
	// gone: there is no such object.
	gone bool
}

// pressure is how long the page has waited for its turn, as a multiple of what pages
// like it wait. It is due from 1 on.
func (p *page) pressure(now time.Time) float64 {
	return float64(now.Sub(p.touched)) / float64(p.spacing())
}

// spacing is the time between two writes of a page like this one.
func (p *page) spacing() time.Duration {
	switch {
	case p.failure != nil:
		return statusSpacing
	case p.present == nil || !sameFindings(*p.present, p.wanted):
		return changeSpacing
	case !sameNumbers(*p.present, p.wanted):
		return statusSpacing
	}
	return refreshSpacing
}

// sameFindings reports whether two statuses have the same conditions of the same spec,
// as far as a program looks at them.
func sameFindings(a, b v1alpha1.Status) bool {
	return slices.EqualFunc(a.Conditions, b.Conditions, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
	})
}

// sameNumbers reports whether two statuses with the same findings say the same, but
// for the time of the decision.
func sameNumbers(a, b v1alpha1.Status) bool {
	sameMessage := func(a, b metav1.Condition) bool { return a.Message == b.Message }
	if a.LastDecision == nil || b.LastDecision == nil || !slices.EqualFunc(a.Conditions, b.Conditions, sameMessage) {
		return false
	}
	one, other := *a.LastDecision, *b.LastDecision
	one.Time, other.Time = metav1.Time{}, metav1.Time{}
	return equality.Semantic.DeepEqual(one, other)
}

// statusOf is the status that a decision on a metric makes.
func statusOf(m scaling.Metric, d scaling.Decision, now time.Time) v1alpha1.Status {
	e := scaling.Explain(d)
	status := v1alpha1.Status{
		ObservedGeneration: m.Generation,
		Conditions:         []metav1.Condition{readiness(d)},
		LastDecision:       lastDecision(d, e, now),
	}
	for _, c := range e.Conditions {
		known := slices.ContainsFunc(status.Conditions, func(other metav1.Condition) bool { return other.Type == c.Type })
		if !known { // the API server takes one of a type
			status.Conditions = append(status.Conditions, condition(c.Type, c.Status, c.Reason, c.Message))
		}
	}
	for i := range status.Conditions {
		status.Conditions[i].ObservedGeneration = m.Generation
	}
	return status
}

// readiness says every problem of a policy that cannot be followed, and of one that
// can what in it is remarkable.
func readiness(d scaling.Decision) metav1.Condition {
	for _, err := range []error{d.Err, d.Held} {
		if errors.Is(err, scaling.ErrBadPolicy) {
			return condition(conditionReady, false, reasonInvalidPolicy, err.Error())
		}
	}
	message := strings.Join(append([]string{messagePolicyValid}, d.Warnings...), "\n")
	return condition(conditionReady, true, reasonPolicyValid, message)
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: cut(message, maxConditionMessage)}
}

// lastDecision is a decision in short. What an error leaves undecided stays empty.
func lastDecision(d scaling.Decision, e scaling.Explanation, now time.Time) *v1alpha1.LastDecision {
	last := &v1alpha1.LastDecision{
		Time:                    metav1.NewTime(d.At),
		HorizontalPodAutoscaler: d.HPA.Name,
		Why:                     cut(e.Why, maxWhy),
	}
	if d.At.IsZero() { // no record was loaded, so nobody has asked the store for the time
		last.Time = metav1.NewTime(now)
	}
	if d.Decider >= 0 && d.Decider < len(e.Triggers) {
		last.Reading = decimal(e.Triggers[d.Decider].Value)
	}
	if d.Err == nil {
		last.CurrentReplicas, last.RecommendedReplicas, last.Replicas = &e.Current, &e.Recommended, &e.Replicas
		last.Active, last.Value = &e.Active, decimal(e.Value)
	}
	return last
}

// decimal writes a number as people do: 0.05, 1000000. No reading has more than 16
// digits before the point.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// cut shortens a text to a number of bytes, and says so.
func cut(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}

// stamped dates the conditions of wanted: one that has the status that it has in
// present, whoever wrote that, has had it for as long.
func stamped(wanted, present v1alpha1.Status, now time.Time) v1alpha1.Status {
	wanted.Conditions = slices.Clone(wanted.Conditions)
	for i := range wanted.Conditions {
		c := &wanted.Conditions[i]
		c.LastTransitionTime = metav1.NewTime(now)
		for _, before := range present.Conditions {
			if before.Type == c.Type && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
	}
	return wanted
}

// callerLeft reports whether a decision says only that nobody waited for it.
func callerLeft(d *scaling.Decision) bool { return errors.Is(d.Err, context.Canceled) }
