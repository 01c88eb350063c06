package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// adapters are delegates, by name, each with the same values of every metric, as
// quantities; or with an error.
type adapters struct {
	names  []string
	values string
	err    error
	hangs  bool
	asked  []string
}

func (a *adapters) Names() []string { return a.names }

func (a *adapters) Read(ctx context.Context, delegate, namespace, metric string, selector labels.Selector) ([]resource.Quantity, error) {
	a.asked = append(a.asked, fmt.Sprintf("%s: %s/%s{%s}", delegate, namespace, metric, selector))
	if a.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var quantities []resource.Quantity
	for _, text := range strings.Fields(a.values) {
		quantities = append(quantities, resource.MustParse(text))
	}
	return quantities, a.err
}

func externalMetadata(more ...string) map[string]string {
	values := map[string]string{"externalMetricName": "s0-redis-jobs", "targetValue": "5"}
	for i := 0; i < len(more); i += 2 {
		values[more[i]] = more[i+1]
	}
	return values
}

func parseExternalMetric(t *testing.T, delegates Delegates, values map[string]string) (table *Table, trigger scaling.Trigger, metric string, err error) {
	t.Helper()
	table = New(Options{Delegates: delegates})
	t.Cleanup(table.Close)
	m := metadata.New(values)
	trigger, metric, interval := table.Parse("external-metric", m)
	if interval != 15*time.Second {
		t.Errorf("interval %v", interval)
	}
	m.FinishStrict(table.Keys("external-metric"))
	return table, trigger, metric, m.Err()
}

func TestExternalMetricParse(t *testing.T) {
	two := &adapters{names: []string{"keda", "prom"}}
	_, trigger, metric, err := parseExternalMetric(t, two, externalMetadata(
		"delegate", "prom", "metricSelector", "b in (y,x), a = 1", "combine", "max", "targetValue", "2.5", "activationTargetValue", "1"))
	if err != nil || metric != "external-s0-redis-jobs" || trigger.Target != 2500 || trigger.Activation != 1 || !trigger.Costly || trigger.Counts {
		t.Errorf("got %+v, %q, %v", trigger, metric, err)
	}
	q := scaling.In(trigger.Query, scaling.Scope{Namespace: "shop"})
	want := "max of external metric s0-redis-jobs{a=1,b in (x,y)} of delegate prom"
	if q.String() != want || trigger.Query.String() != want || q.Server() == trigger.Query.Server() {
		t.Errorf("got %q at %q", q, q.Server())
	}
	_, trigger, _, err = parseExternalMetric(t, &adapters{names: []string{"keda"}}, externalMetadata())
	if err != nil || trigger.Query.String() != "external metric s0-redis-jobs of delegate keda" {
		t.Errorf("the only delegate: %v, %v", trigger.Query, err)
	}
}

func TestExternalMetricProblems(t *testing.T) {
	two := &adapters{names: []string{"keda", "prom"}}
	for name, test := range map[string]struct {
		delegates Delegates
		values    map[string]string
		want      string
	}{
		"no delegate":       {nil, externalMetadata(), "external-metric: this process has no delegate to ask; it needs --delegate or --delegates-file"},
		"none of them":      {&adapters{}, externalMetadata("delegate", "keda"), "external-metric: this process has no delegate to ask; it needs --delegate or --delegates-file"},
		"which of them":     {two, externalMetadata(), "delegate is missing: must be the name of a delegate of this process (one of keda, prom)"},
		"another one":       {two, externalMetadata("delegate", "cloud"), `delegate "cloud": must be the name of a delegate of this process (one of keda, prom)`},
		"no name":           {two, externalMetadata("delegate", "keda", "externalMetricName", ""), "externalMetricName is missing: must be the name that an HPA would ask for, such as s0-redis-jobs"},
		"another path":      {two, externalMetadata("delegate", "keda", "externalMetricName", "../x"), `externalMetricName "../x": must be the name that an HPA would ask for, such as s0-redis-jobs (may not contain '/')`},
		"a selector":        {two, externalMetadata("delegate", "keda", "metricSelector", "a=="), ""},
		"no selector":       {two, externalMetadata("delegate", "keda", "metricSelector", "a in"), `metricSelector "a in": must be a label selector such as scaledobject.keda.sh/name=worker`},
		"no way to combine": {two, externalMetadata("delegate", "keda", "combine", "avg"), `combine "avg": must be one of sum, max, one`},
		"no target":         {two, externalMetadata("delegate", "keda", "targetValue", ""), "targetValue is missing: must be a number from 0.001 to 1000000000"},
		"a namespace":       {two, externalMetadata("delegate", "keda", "namespace", "bank"), "namespace: unknown key"},
	} {
		_, _, _, err := parseExternalMetric(t, test.delegates, test.values)
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") || (err != nil && !strings.Contains(got, test.want)) {
			t.Errorf("%s: got  %v\nwant %s", name, got, test.want)
		}
	}
}

func TestExternalMetricCombines(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		values, combine string
		want            float64
		note, failure   string
	}{
		{"7500m", "one", 7.5, "", ""},
		{"1 2500m 1e3", "sum", 1003.5, "", ""},
		{"1 2500m 1e3", "max", 1000, "", ""},
		{"0", "one", 0, "", ""},
		{"0", "sum", 0, "", ""},
		{"1u 1n", "sum", 0.002, "", ""}, // each rounded up, as by an HPA
		{"100m 200m", "sum", 0.3, "", ""},
		{"9T", "one", 9e12, "", ""},
		{"8999999999999999m 1m", "sum", 9e12, "", ""},
		{"-3 1", "sum", 0, "-2 counts as 0, as in KEDA", ""},
		{"-3 1", "max", 1, "", ""},
		{"-3 -1", "max", 0, "-1 counts as 0, as in KEDA", ""},
		{"", "sum", nan, "", "no data: the metric has no items"},
		{"", "max", nan, "", "no data: the metric has no items"},
		{"", "one", nan, "", "no data: the metric has no items"},
		{"1 1", "one", nan, "", "2 items, where combine wants one; a metricSelector may single it out"},
		{"9000000000000001m", "one", nan, "", "the item 9000000000000001m is beyond what can be counted, 9e+12"},
		{"1 90E", "max", nan, "", "the item 90E is beyond what can be counted, 9e+12"},
		{"1 -90E", "max", nan, "", "the item -90E is beyond what can be counted, 9e+12"},
		{"1e40", "sum", nan, "", "is beyond what can be counted, 9e+12"},
		{"9T 1m", "sum", nan, "", "the items add up to more than 9e+12"},
		{"9T 9T 9T 9T", "sum", nan, "", "the items add up to more than 9e+12"},
	} {
		a := &adapters{names: []string{"keda"}, values: test.values}
		table, trigger, _, err := parseExternalMetric(t, a, externalMetadata("combine", test.combine, "metricSelector", "scaledobject.keda.sh/name=worker"))
		if err != nil {
			t.Fatal(err)
		}
		got := table.Read(t.Context(), []scaling.Query{scaling.In(trigger.Query, scaling.Scope{Namespace: "shop"})})[0]
		if test.failure != "" {
			if got.Err == nil || !strings.Contains(got.Err.Error(), test.failure) || !strings.Contains(got.Err.Error(), "external metric s0-redis-jobs{") || got.Value != 0 ||
				errors.Is(got.Err, scaling.ErrNoData) != (test.values == "") {
				t.Errorf("%s of %s: got %+v, want %s", test.combine, test.values, got, test.failure)
			}
		} else if got.Value != test.want || math.Signbit(got.Value) || got.Note != test.note || got.Err != nil {
			t.Errorf("%s of %s: got %+v, want %v %q", test.combine, test.values, got, test.want, test.note)
		}
		if asked := strings.Join(a.asked, " "); asked != "keda: shop/s0-redis-jobs{scaledobject.keda.sh/name=worker}" {
			t.Errorf("asked for %s", asked)
		}
	}
}

// Two triggers that differ in how they combine are one question.
func TestExternalMetricIsAskedOnce(t *testing.T) {
	a := &adapters{names: []string{"keda"}, values: "1 2"}
	table, sum, _, _ := parseExternalMetric(t, a, externalMetadata())
	_, largest, _, _ := parseExternalMetric(t, a, externalMetadata("combine", "max"))
	_, one, _, _ := parseExternalMetric(t, a, externalMetadata("combine", "one"))
	scope := scaling.Scope{Namespace: "shop"}
	outcomes := scaling.ReadAll(t.Context(), table, []scaling.Query{scaling.In(sum.Query, scope), scaling.In(largest.Query, scope), scaling.In(one.Query, scope)})
	if len(a.asked) != 1 || outcomes[0].Value != 3 || outcomes[1].Value != 2 || outcomes[2].Err == nil {
		t.Errorf("asked for %v: %+v", a.asked, outcomes)
	}
	scaling.ReadAll(t.Context(), table, []scaling.Query{scaling.In(sum.Query, scope), scaling.In(sum.Query, scaling.Scope{Namespace: "bank"})})
	if len(a.asked) != 3 {
		t.Errorf("two namespaces are two questions: %v", a.asked)
	}
}

func TestExternalMetricFailures(t *testing.T) {
	refusal := errors.New("delegate keda at https://keda: no answer within 1s")
	a := &adapters{names: []string{"keda"}, err: refusal}
	table, trigger, _, err := parseExternalMetric(t, a, externalMetadata())
	if err != nil {
		t.Fatal(err)
	}
	read := func(q scaling.Query) error { return table.Read(t.Context(), []scaling.Query{q})[0].Err }
	got := read(scaling.In(trigger.Query, scaling.Scope{Namespace: "shop"}))
	want := "external metric s0-redis-jobs of delegate keda: delegate keda at https://keda: no answer within 1s"
	if got == nil || got.Error() != want || !errors.Is(got, refusal) {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := read(trigger.Query); got == nil || !strings.Contains(got.Error(), "there is no namespace to ask in") {
		t.Errorf("unbound: %v", got)
	}
	if len(a.asked) != 1 {
		t.Errorf("asked for %v", a.asked)
	}
}

// A delegate's own limit is shorter; this is the table's promise.
func TestExternalMetricHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &adapters{names: []string{"keda"}, hangs: true}
		m := metadata.New(externalMetadata())
		trigger, _ := externalKind(a).parse(m, nil)
		began := time.Now()
		q, _ := scaling.In(trigger.Query, scaling.Scope{Namespace: "shop"}).(externalQuery)
		if _, err := (external{a, 3 * time.Second}).read(t.Context(), []externalQuery{q}); err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
