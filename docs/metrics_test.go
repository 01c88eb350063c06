package docs_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
)

const metricsFile = "metrics.md"

// metric is one of the program's, as a scrape shows it.
type metric struct{ name, kind, help, labels string }

// TestMetricsReference: the tables of metrics.md are what a scrape shows.
func TestMetricsReference(t *testing.T) {
	of := map[bool][]string{}
	for _, m := range scraped(t) {
		policy := strings.HasPrefix(m.name, "dashpot_policy_")
		row := fmt.Sprintf("| %#q | %s | %s |", m.name, m.kind, m.help)
		if !policy {
			row = fmt.Sprintf("| %#q | %s | %s | %s |", m.name, m.kind, m.labels, m.help)
		} else if m.labels != "`kind`, `name`, `namespace`, `record`" {
			t.Errorf("%s has the labels %s", m.name, m.labels)
		}
		of[policy] = append(of[policy], row)
	}
	checkBlocks(t, metricsFile, map[string]string{
		"metrics of the process": "| metric | type | labels | |\n|---|---|---|---|\n" + strings.Join(of[false], "\n") + "\n",
		"metrics of a policy":    "| metric | type | |\n|---|---|---|\n" + strings.Join(of[true], "\n") + "\n",
	})
}

// TestMetricsAreScraped: the scrape of this test has every metric that the code names.
func TestMetricsAreScraped(t *testing.T) {
	files, err := filepath.Glob("../internal/process/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := read(t, file)
		named = append(named, captures(`"(dashpot_[a-z_]*[a-z])"`, text)...)
		for _, name := range captures(`gauge\("([a-z_]+)"`, text) {
			named = append(named, "dashpot_policy_"+name)
		}
	}
	slices.Sort(named)
	var shown []string
	for _, m := range scraped(t) {
		shown = append(shown, m.name)
	}
	if !slices.Equal(slices.Compact(named), shown) {
		t.Errorf("the code names %v, and a scrape has %v", named, shown)
	}
}

// TestMetricsInText: every metric of ours that a page names is one.
func TestMetricsInText(t *testing.T) {
	known := map[string]bool{}
	for _, m := range scraped(t) {
		known[m.name] = true
	}
	series := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, file := range allPages(t) {
		for _, name := range captures(`\b(dashpot_[a-z_]*[a-z])\b`, read(t, file)) {
			if !known[name] && !known[series.ReplaceAllString(name, "")] {
				t.Errorf("%s names the metric %s; there is none", file, name)
			}
		}
	}
}

// TestAlertsAreDocumented: metrics.md has every alert of the chart, and no other.
func TestAlertsAreDocumented(t *testing.T) {
	var want []string
	for _, name := range captures(`- alert: (\S.*)`, read(t, "../charts/dashpot/templates/monitoring/rules.yaml")) {
		for _, program := range []string{"Scaler", "Adapter"} {
			want = append(want, strings.ReplaceAll(name, "{{ title $program }}", program))
		}
	}
	got := captures("`(Dashpot[A-Z]\\w+)`", read(t, metricsFile))
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%s has the alerts %v; the chart has %v", metricsFile, got, want)
	}
}

// scraped are the program's metrics, in order, from a process in which everything has
// happened once.
func scraped(t *testing.T) []metric {
	t.Helper()
	m := process.NewMetrics()
	m.RPC("GetMetrics", codes.OK, 0)
	m.Served("", 200, 0)
	m.Decided(&scaling.Decision{Mode: scaling.Stabilised})
	m.Source(noSource{}).Read(t.Context(), nil)
	if _, err := m.Store(memstore.New()).Load(t.Context(), scaling.Key{}); err != nil {
		t.Fatal(err)
	}
	m.ShowPolicies(func() []scaling.Decision {
		return []scaling.Decision{{Basis: scaling.Basis{Readings: make([]scaling.Reading, 1)}}}
	})
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return parseMetrics(answer.Body.String())
}

// parseMetrics reads Prometheus' text format, as far as it is of this program's own.
func parseMetrics(text string) []metric {
	all := map[string]*metric{}
	for line := range strings.Lines(text) {
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "# HELP dashpot_"):
			all[words[2]] = &metric{name: words[2], help: strings.Join(words[3:], " ")}
		case strings.HasPrefix(line, "# TYPE dashpot_"):
			all[words[2]].kind = words[3]
		case strings.HasPrefix(line, "dashpot_"):
			name, rest, _ := strings.Cut(line, "{")
			labels := captures(`([a-z]+)="`, rest)
			labels = slices.DeleteFunc(labels, func(label string) bool { return label == "le" })
			slices.Sort(labels)
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				if m := all[strings.TrimSuffix(name, suffix)]; m != nil && len(labels) > 0 {
					m.labels = "`" + strings.Join(labels, "`, `") + "`"
				}
			}
		}
	}
	var list []metric
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	return list
}

type noSource struct{}

func (noSource) Read(context.Context, []scaling.Query) []scaling.Outcome { return nil }
