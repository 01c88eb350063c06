package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestPrometheusAnswers: what triggers/prometheus.md says of answers is what becomes of them.
func TestPrometheusAnswers(t *testing.T) {
	sample := func(value string) string { return vector(`[{"metric":{},"value":[1,` + value + `]}]`) }
	var rows strings.Builder
	rows.WriteString("  | answer | is read as | with `ignoreNullValues: \"false\"` |\n  |---|---|---|\n")
	for _, answer := range []struct {
		name   string
		status int
		body   string
	}{
		{"`41.5`", 200, sample(`"41.5"`)},
		{"`-3`", 200, sample(`"-3"`)},
		{"`NaN`, as of `0/0`", 200, sample(`"NaN"`)},
		{"`+Inf`, as of `1/0`", 200, sample(`"+Inf"`)},
		{"`-Inf`", 200, sample(`"-Inf"`)},
		{"no series", 200, vector(`[]`)},
		{"`null` for a value", 200, sample(`null`)},
		{"several series", 200, vector(`[{"value":[1,"1"]},{"value":[1,"2"]}]`)},
		{"a native histogram", 200, vector(`[{"histogram":[1,{}]}]`)},
		{"a scalar", 200, result("scalar", `[1,"7"]`)},
		{"a matrix", 200, result("matrix", `[]`)},
		{"a string", 200, result("string", `[1,"a"]`)},
		{"a page of HTML", 200, "<html>log in</html>"},
		{"other JSON", 200, `{"foo":1}`},
		{"more than 1 MiB", 200, sample(`"1"`) + strings.Repeat(" ", 1<<20)},
		{"a syntax error", 400, `{"status":"error","errorType":"bad_data","error":"parse error"}`},
		{"a 5xx", 503, "unavailable"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer.status)
			_, _ = w.Write([]byte(answer.body))
		}))
		ignored, strict := readPrometheus(t, server.URL, "true"), readPrometheus(t, server.URL, "false")
		server.Close()
		if strict == ignored {
			strict = "the same"
		}
		fmt.Fprintf(&rows, "  | %s | %s | %s |\n", answer.name, ignored, strict)
	}
	if !strings.Contains(rows.String(), "| `41.5` | 41.5 | the same |") { // whatever the page says
		t.Fatalf("a sample of 41.5 is not read as that:\n%s", &rows)
	}
	checkBlocks(t, "triggers/prometheus.md", map[string]string{"answers prometheus": rows.String()})
}

func vector(series string) string { return result("vector", series) }

func result(kind, content string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + content + `}}`
}

// readPrometheus is the outcome of a query in words.
func readPrometheus(t *testing.T, url, ignoreNullValues string) string {
	t.Helper()
	types := newTypes(t)
	trigger, _, _ := types.Parse("prometheus", metadata.New(map[string]string{
		"serverAddress": url, "query": "q", "threshold": "1", "ignoreNullValues": ignoreNullValues,
	}))
	outcome := types.Read(t.Context(), []scaling.Query{trigger.Query})[0]
	switch {
	case outcome.Err != nil:
		_, reason, _ := strings.Cut(outcome.Err.Error(), url+": ")
		return "error: " + reason
	case outcome.Note != "":
		return fmt.Sprintf("%v (%s)", outcome.Value, outcome.Note)
	}
	return fmt.Sprint(outcome.Value)
}
