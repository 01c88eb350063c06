package source

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// vector is an answer of one series with the value given as JSON.
func vector(value string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1700000000.1,` + value + `]}]}}`
}

// result is an answer with a result of a type.
func result(resultType, content string) string {
	return `{"status":"success","data":{"resultType":"` + resultType + `","result":` + content + `}}`
}

// TestAnswers: each shape of an answer has its outcome, by ignoreNullValues where that
// matters.
func TestAnswers(t *testing.T) {
	const (
		byIgnoring = " counts as 0, by ignoreNullValues"
		noData     = "no data: "
		notIgnored = ", and ignoreNullValues is false"
	)
	tests := []struct {
		name, body string
		value      float64
		note, err  string
		// otherwise is the error with ignoreNullValues false, if it is another outcome.
		otherwise string
	}{
		{"C36: one sample", vector(`"41.5"`), 41.5, "", "", ""},
		{"zero", vector(`"0"`), 0, "", "", ""},
		{"negative zero", vector(`"-0"`), 0, "", "", ""},
		{"negative", vector(`"-3"`), 0, "-3 counts as 0, as in KEDA", "", ""},
		{"C28 a: NaN", vector(`"NaN"`), 0, "NaN" + byIgnoring, "", noData + "NaN" + notIgnored},
		{"C28 b: +Inf", vector(`"+Inf"`), 0, "+Inf" + byIgnoring + "; is this work without a worker? A divisor of clamp_min(…, 1) shows it", "", noData + "+Inf" + notIgnored},
		{"-Inf", vector(`"-Inf"`), 0, "-Inf" + byIgnoring, "", noData + "-Inf" + notIgnored},
		{"C36: no series", result("vector", "[]"), 0, "no series" + byIgnoring, "", noData + "no series" + notIgnored},
		{"null for a vector", result("vector", "null"), 0, "no series" + byIgnoring, "", noData + "no series" + notIgnored},
		{"null for a number", vector("null"), 0, "null" + byIgnoring, "", noData + "null" + notIgnored},
		{"no value", result("vector", `[{"metric":{}}]`), 0, "a series without a value" + byIgnoring, "", noData + "a series without a value" + notIgnored},
		{"empty value", result("vector", `[{"metric":{},"value":[]}]`), 0, "a series without a value" + byIgnoring, "", noData + "a series without a value" + notIgnored},
		{"no type named", `{"data":{"result":[{"value":[1,"7"]}]}}`, 7, "", "", ""},
		{"warnings", `{"warnings":["one","two"],"infos":["three"],` + vector(`"-1"`)[1:], 0, "the server warns of this answer; ask it the same to see of what; -1 counts as 0, as in KEDA", "", ""},

		{"no histogram", result("vector", `[{"histogram":null,"value":[1,"7"]}]`), 7, "", "", ""},

		{"time alone", result("vector", `[{"value":[1]}]`), 0, "", "not a sample: a time without a value", ""},
		{"bare number", vector("7"), 0, "", "not a sample: its value is not a number in a string", ""},
		{"no number", vector(`"many"`), 0, "", "not a sample: its value is a text that is no number", ""},
		{"too large", vector(`"1e999"`), 0, "", "not a sample: its value is a text that is no number", ""},
		{"several series", result("vector", `[{"value":[1,"1"]},{"value":[1,"2"]}]`), 0, "", "several series, where one number is needed; aggregate them, as by sum(…)", ""},
		{"native histogram", result("vector", `[{"histogram":[1,{"count":"1"}]}]`), 0, "", "the series is a native histogram; ask for a number of it, as by histogram_quantile(…)", ""},
		{"scalar", result("scalar", `[1,"7"]`), 0, "", "the answer is a scalar; write vector(…) around the query", ""},
		{"string", result("string", `[1,"7"]`), 0, "", "the answer is a string, not a vector", ""},
		{"matrix", result("matrix", `[{"values":[[1,"7"]]}]`), 0, "", "the answer is a matrix; ask for an instant, without a range such as [5m] at the end", ""},
		{"empty matrix", result("matrix", `[]`), 0, "", "the answer is a matrix; ask for an instant, without a range such as [5m] at the end", ""},
		{"no vector", result("vector", `{"a":1}`), 0, "", "not a vector: its result is no list of series", ""},
		{"no result", `{"status":"success","data":{"resultType":"vector"}}`, 0, "", "not an answer of Prometheus: its data has no result", ""},
		{"error in spite of its status", `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`, 0, "", "execution: load too many samples into memory", ""},
		{"remarks", `{"infos":["three"],` + vector(`"1"`)[1:], 1, "the server has a remark about the query; ask it the same to see which", "", ""},
		{"an error of no type", `{"status":"error","error":"x"}`, 0, "", "an error of another type than Prometheus has", ""},
		{"an error of another type", `{"errorType":"422","error":"x"}`, 0, "", "an error of another type than Prometheus has", ""},
		{"where in the query", `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:9: parse error: unclosed left parenthesis"}`, 0, "", "bad_data: 1:9: parse error, unclosed left parenthesis", ""},
		{"type of a result that is none", result("streams", `[]`), 0, "", "the answer is of a type that Prometheus does not have, not a vector", ""},
		{"other JSON", `{"foo":1}`, 0, "", "not an answer of Prometheus, which has data: up to 16 bytes of JSON", ""},
		{"null", "null", 0, "", "not an answer of Prometheus, which has data: up to 8 bytes of JSON", ""},
		{"HTML", "<html>\n<h1>Log in</h1>", 0, "", "not an answer of Prometheus: up to 32 bytes of text/html", ""},
		{"text format", "# HELP up Whether\n", 0, "", "not an answer of Prometheus: up to 32 bytes of text/plain", ""},
		{"nothing", "", 0, "", "not an answer of Prometheus: nothing", ""},
		{"half", vector(`"7"`)[:40], 0, "", "not an answer of Prometheus: up to 64 bytes of text/plain", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, ignoreNull := range []bool{true, false} {
				want := struct {
					value     float64
					note, err string
				}{tt.value, tt.note, tt.err}
				if !ignoreNull && tt.otherwise != "" {
					want.value, want.note, want.err = 0, "", tt.otherwise
				}
				got := decodeAnswer(httpAnswer{body: []byte(tt.body)}, ignoreNull)
				err := ""
				if got.Err != nil {
					err = got.Err.Error()
				}
				if got.Value != want.value || got.Note != want.note || err != want.err || math.Signbit(got.Value) {
					t.Errorf("ignoreNullValues %v: got %v, note %q, error %q; want %v, %q, %q", ignoreNull, got.Value, got.Note, err, want.value, want.note, want.err)
				}
				if noNumber := strings.HasPrefix(err, noData); noNumber != errors.Is(got.Err, scaling.ErrNoData) {
					t.Errorf("%v is ErrNoData: %v", got.Err, !noNumber)
				}
			}
		})
	}
}

// FuzzAnswer: whatever a server says, there is a finite value that is not negative, or
// an error; and what is said of it is one line that quotes nothing.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		vector(`"41.5"`), vector("null"), vector("[]"), vector(`"-1e-400"`), result("vector", "null"), result("matrix", "[[]]"),
		`{"status":"error","errorType":"planted","error":"planted\nb\xff"}`, `{"warnings":["planted"],"data":{"result":"planted"}}`, vector(`"planted"`), result("planted", "[]"), "planted", `{"warnings":["\u0000"],` + vector(`"1"`)[1:], "<html>", "[1]", "{}",
		result("vector", `[{"histogram":null,"value":[0,"1"]}]`), result("vector", strings.Repeat("[", 1000)),
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, ignoreNull bool) {
		got := decodeAnswer(httpAnswer{body: body}, ignoreNull)
		text := got.Note
		if got.Err != nil {
			text = got.Err.Error()
			if got.Value != 0 || got.Note != "" {
				t.Errorf("an error with %v, %q", got.Value, got.Note)
			}
		}
		if math.IsNaN(got.Value) || math.IsInf(got.Value, 0) || got.Value < 0 {
			t.Errorf("value %v", got.Value)
		}
		if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "planted") {
			t.Errorf("not one line of ours: %q", text)
		}
	})
}
