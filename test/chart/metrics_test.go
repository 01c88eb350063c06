package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/internal/prometest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// expressions are the queries of the alerts and of the dashboard, by what shows them.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := objects(t, renderSet(t, "monitored").Manifest)
	found := map[string]string{}
	rules := find(all, "PrometheusRule", release)
	groups, _, _ := unstructured.NestedSlice(rules.Object, "spec", "groups")
	for _, group := range groups {
		list, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
		for _, entry := range list {
			rule, _ := entry.(map[string]any)
			found[fmt.Sprint("alert ", rule["alert"])] = fmt.Sprint(rule["expr"])
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				RefID string `json:"refId"`
				Expr  string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Name       string `json:"name"`
				Definition string `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
	}
	text, _, _ := unstructured.NestedString(find(all, "ConfigMap", release+"-dashboard").Object, "data", "dashpot.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatalf("the dashboard: %v", err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found["panel "+panel.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, variable := range dashboard.Templating.List {
		if selector, isValues := strings.CutPrefix(variable.Definition, "label_values("); isValues {
			found["variable "+variable.Name] = selector[:strings.LastIndex(selector, ",")]
		}
	}
	if len(found) < 20 {
		t.Fatalf("only %d expressions: %v", len(found), found)
	}
	return found
}

// exported is what the programs show to Prometheus: the labels of each series, by the name
// that a query has for it.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	m := process.NewMetrics()
	m.RPC("/externalscaler.ExternalScaler/GetMetrics", codes.OK, time.Millisecond)
	m.Served("keda", http.StatusOK, time.Millisecond)
	m.Decided(&scaling.Decision{})
	m.Source(answers{}).Read(t.Context(), nil)
	if _, err := m.Store(answers{}).Load(t.Context(), scaling.Key{}); err == nil {
		t.Error("no error of the store")
	}
	m.ShowPolicies(func() []scaling.Decision {
		return []scaling.Decision{{Basis: scaling.Basis{Readings: make([]scaling.Reading, 1)}}}
	})
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	series := map[string][]string{}
	for line := range strings.Lines(recorder.Body.String()) {
		name, labels, _ := strings.Cut(line, "{")
		if !strings.HasPrefix(name, "dashpot_") {
			continue
		}
		labels, _, _ = strings.Cut(labels, "} ")
		for _, match := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(labels, -1) {
			if !slices.Contains(series[name], match[1]) {
				series[name] = append(series[name], match[1])
			}
		}
	}
	return series
}

// answers is a store and a source.
type answers struct{ scaling.Store }

func (answers) Load(context.Context, scaling.Key) (*scaling.Loaded, error) {
	return nil, errors.New("away")
}

func (answers) Read(context.Context, []scaling.Query) []scaling.Outcome { return nil }

// attached are the labels that Prometheus adds to every series of a target.
var attached = []string{"job", "namespace", "instance", "pod", "service", "endpoint", "container"}

// TestMetricsExist: every metric that an alert or a panel asks for is one that the code
// exports, and so is every label by which it is selected, grouped or named.
func TestMetricsExist(t *testing.T) {
	series := exported(t)
	for place, expression := range expressions(t) {
		var labels []string
		for _, name := range regexp.MustCompile(`dashpot_\w+`).FindAllString(expression, -1) {
			if series[name] == nil {
				t.Errorf("%s asks for %s, which nobody exports", place, name)
			}
			labels = append(labels, series[name]...)
		}
		if len(labels) == 0 {
			t.Errorf("%s asks for nothing of ours: %s", place, expression)
		}
		for _, label := range labelsIn(expression) {
			if !slices.Contains(labels, label) && !slices.Contains(attached, label) {
				t.Errorf("%s: no series has the label %s: %s", place, label, expression)
			}
		}
	}
}

// labelsIn are the labels that an expression groups by or selects by.
func labelsIn(expression string) []string {
	var labels []string
	for _, match := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
		labels = append(labels, strings.Split(match[1], ", ")...)
	}
	for _, match := range regexp.MustCompile(`(\w+)(?:=|!=|=~|!~)"`).FindAllStringSubmatch(expression, -1) {
		labels = append(labels, match[1])
	}
	return labels
}

// TestExpressionsAreQueries: a real Prometheus takes each of them.
func TestExpressionsAreQueries(t *testing.T) {
	server := prometest.Start(t)
	grafana := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$name", ".*")
	for place, expression := range expressions(t) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			server.URL()+"/api/v1/query?query="+url.QueryEscape(grafana.Replace(expression)), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("%s: Prometheus says %s to %s", place, response.Status, expression)
		}
	}
}
