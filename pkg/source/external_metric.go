package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Delegates are other servers of external metrics.
type Delegates interface {
	// Names are what they are called, in order.
	Names() []string
	// Read returns the values of a metric of one of them, in its order. It has a time
	// limit of its own, and its error says whose it is.
	Read(ctx context.Context, delegate, namespace, metric string, selector labels.Selector) ([]resource.Quantity, error)
}

// How several items of one metric make a number.
const (
	combineSum = "sum"
	combineMax = "max"
	combineOne = "one"
)

var (
	delegateKey = metadata.Key{
		Name: "delegate", Format: "the name of a delegate of this process",
		Meaning: "Which server to ask. It may be left out where there is one alone.",
	}
	externalNameKey = metadata.Key{
		Name: "externalMetricName", Required: true, Format: "the name that an HPA would ask for, such as s0-redis-jobs",
		Meaning: "The metric to read. It is that of the namespace of the object with this trigger.",
	}
	metricSelectorKey = metadata.Key{
		Name: "metricSelector", Format: "a label selector such as scaledobject.keda.sh/name=worker",
		Meaning: "The selector that an HPA would send, for servers that need one, as KEDA's does.",
	}
	combineKey = metadata.Key{
		Name: "combine", Choices: []string{combineSum, combineMax, combineOne}, Default: combineSum,
		Meaning: "What several items of the metric come to: their sum, as for an HPA, the largest, or an error, so that there must be one.",
	}
	externalTargetKey     = neededTargetKey("targetValue", "value")
	externalActivationKey = activationKey("activationTargetValue")
)

// externalKind reads what other servers of external metrics have: KEDA's, for all of its
// scalers, prometheus-adapter or a cloud's. It has no counterpart in KEDA. delegates is
// nil without any.
func externalKind(delegates Delegates) kind {
	return kind{
		name: "external-metric",
		keys: []metadata.Key{
			delegateKey, externalNameKey, metricSelectorKey, combineKey, externalTargetKey, externalActivationKey,
		},
		interval: prometheusInterval, // it is what an HPA asks, and as often
		parse: func(m *metadata.Map, _ []byte) (scaling.Trigger, string) {
			q := parseExternal(m, delegates)
			return scaling.Trigger{
				Costly:     true,
				Target:     target(m, externalTargetKey),
				Activation: number(m, externalActivationKey),
				Query:      q,
			}, "external-" + q.metric
		},
	}
}

// externalQuery is one metric of one delegate. Until it is bound by In, it cannot be read.
type externalQuery struct {
	delegate, metric string
	// selector is a label selector in its text; empty for everything.
	selector string
	combine  string
	name     string
	// id names what is asked, however it is combined.
	id        string
	namespace string
}

var _ scaling.Scoped = externalQuery{}

// Server is another one for every question: how long an answer takes is up to what the
// delegate has to do for it.
func (q externalQuery) Server() string { return q.id + " in " + q.namespace }

// String names the question, as in "max of s0-redis-jobs{app=shop} of delegate keda". The
// namespace is no part of it: it is that of whoever asks.
func (q externalQuery) String() string { return q.name }

// In is the query of one workload.
func (q externalQuery) In(s scaling.Scope) scaling.Query {
	q.namespace = s.Namespace
	return q
}

func parseExternal(m *metadata.Map, delegates Delegates) externalQuery {
	q := externalQuery{
		delegate: parseDelegate(m, delegates), metric: m.Text(externalNameKey), combine: m.Text(combineKey),
	}
	if problems := content.IsPathSegmentName(q.metric); len(problems) > 0 {
		m.Problem(externalNameKey, problems[0])
	}
	of := ""
	if text := m.Text(metricSelectorKey); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			m.Problem(metricSelectorKey, err.Error())
		} else {
			q.selector = selector.String() // however it is written, it is one question
			of = "{" + q.selector + "}"
		}
	}
	q.id = "external metric " + oneLine(q.metric) + of + " of delegate " + q.delegate
	q.name = q.id
	if q.combine != combineSum {
		q.name = q.combine + " of " + q.id
	}
	return q
}

// parseDelegate reads whom to ask.
func parseDelegate(m *metadata.Map, delegates Delegates) string {
	var names []string
	if delegates != nil {
		names = delegates.Names()
	}
	name := m.Text(delegateKey)
	switch {
	case len(names) == 0:
		m.Conflict("external-metric: this process has no delegate to ask; it needs --delegate or --delegates-file")
	case name == "" && len(names) > 1:
		m.Problem(delegateKey, "one of "+strings.Join(names, ", "))
	case name == "":
		return names[0]
	case !slices.Contains(names, name):
		m.Problem(delegateKey, "one of "+strings.Join(names, ", "))
	}
	return name
}

// external reads from delegates.
type external struct {
	delegates Delegates
	timeout   time.Duration
}

func (external) close() {}

// read asks once for all queries, which are one question and differ in how they combine
// the answer.
func (e external) read(ctx context.Context, queries []externalQuery) ([]scaling.Outcome, error) {
	q := queries[0]
	switch {
	case e.delegates == nil:
		return nil, errors.New("this process has no delegates")
	case q.namespace == "":
		return nil, errors.New("there is no namespace to ask in")
	}
	selector, err := labels.Parse(q.selector)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	values, err := e.delegates.Read(ctx, q.delegate, q.namespace, q.metric, selector)
	if err != nil {
		return nil, err
	}
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		if outcomes[i], err = combined(values, q.combine); err != nil {
			outcomes[i].Err = fmt.Errorf("%s: %w", q, err)
		}
	}
	return outcomes, nil
}

// combined is the number that the items of a metric come to. Each is rounded up to
// thousandths, as an HPA does, and they add up exactly. As in KEDA, what is below 0
// counts as 0.
func combined(values []resource.Quantity, combine string) (scaling.Outcome, error) {
	if len(values) == 0 {
		return scaling.Outcome{}, fmt.Errorf("%w: the metric has no items", scaling.ErrNoData)
	}
	if combine == combineOne && len(values) > 1 {
		return scaling.Outcome{}, fmt.Errorf("%d items, where combine wants one; a metricSelector may single it out", len(values))
	}
	var sum algorithm.Milli
	largest := -algorithm.MaxMilli
	for _, value := range values {
		milli, err := milliOf(value)
		if err != nil {
			return scaling.Outcome{}, err
		}
		sum, largest = sum+milli, max(largest, milli)
		if sum > algorithm.MaxMilli || sum < -algorithm.MaxMilli { // of 9e15, of which an int64 holds a thousand
			return scaling.Outcome{}, fmt.Errorf("the items add up to more than %v", algorithm.MaxMilli.Float())
		}
	}
	result := sum
	if combine == combineMax {
		result = largest
	}
	if result < 0 {
		return scaling.Outcome{Note: fmt.Sprintf("%v counts as 0, as in KEDA", result.Float())}, nil
	}
	return scaling.Outcome{Value: result.Float()}, nil
}

// milliOf is a quantity in thousandths, rounded up.
func milliOf(value resource.Quantity) (algorithm.Milli, error) {
	most := resource.NewMilliQuantity(int64(algorithm.MaxMilli), resource.DecimalSI)
	least := resource.NewMilliQuantity(-int64(algorithm.MaxMilli), resource.DecimalSI)
	if value.Cmp(*most) > 0 || value.Cmp(*least) < 0 {
		return 0, fmt.Errorf("the item %s is beyond what can be counted, %v", value.String(), algorithm.MaxMilli.Float())
	}
	return algorithm.Milli(value.MilliValue()), nil
}
