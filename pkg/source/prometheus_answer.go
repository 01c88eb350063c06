package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// promAnswer is what Prometheus answers with, an error too.
type promAnswer struct {
	Status    string    `json:"status"`
	ErrorType string    `json:"errorType"`
	Error     string    `json:"error"`
	Warnings  []string  `json:"warnings"`
	Infos     []string  `json:"infos"`
	Data      *promData `json:"data"`
}

type promData struct {
	ResultType string          `json:"resultType"`
	Result     json.RawMessage `json:"result"`
}

// promSeries is one series of a vector: its value is a time and a number in a string.
type promSeries struct {
	Value     []any            `json:"value"`
	Histogram *json.RawMessage `json:"histogram"`
}

// promErrors are the types of errors that Prometheus has, and promReasons what it says of
// one that tells one cause from another.
var (
	promErrors  = []string{"bad_data", "canceled", "execution", "internal", "not_acceptable", "not_found", "timeout", "unavailable"}
	promReasons = []string{
		"parse error", "unclosed left parenthesis", "unexpected end of input", "no expression found in input",
		"unknown function with name", "unexpected character", "unknown escape sequence", "at least one non-empty matcher",
		"ranges only allowed for vector selectors", "expected type instant vector", "expected type range vector",
		"many-to-many matching not allowed", "found duplicate series for the match group", "multiple matches for labels",
		"vector cannot contain metrics with the same labelset", "load too many samples into memory",
		"invalid regular expression", "query timed out", "query was canceled",
	}
	// position is where in the query an error is, its line and character.
	position = regexp.MustCompile(`\b\d{1,3}:\d{1,5}: parse error\b`)
)

// failure is the error that the server reports, with its type, as far as both are of
// Prometheus; nil if it reports none.
func (a promAnswer) failure() error {
	if a.Status != "error" && a.ErrorType == "" {
		return nil
	}
	kind := "an error of another type than Prometheus has"
	if slices.Contains(promErrors, a.ErrorType) {
		kind = a.ErrorType
	}
	reasons := among(promReasons, a.Error)
	if at := position.FindString(a.Error); at != "" {
		reasons[0] = at // which is the first of promReasons, and where
	}
	return errors.New(strings.TrimSuffix(kind+": "+strings.Join(reasons, ", "), ": "))
}

// remarks says that the server has some about its answer. What they are is shown to nobody
// but who asks it.
func (a promAnswer) remarks() string {
	switch {
	case len(a.Warnings) > 0:
		return "the server warns of this answer; ask it the same to see of what"
	case len(a.Infos) > 0:
		return "the server has a remark about the query; ask it the same to see which"
	}
	return ""
}

// decode is the outcome of an answer.
func (q promQuery) decode(a httpAnswer) scaling.Outcome {
	if a.success() {
		return decodeAnswer(a, q.ignoreNull)
	}
	var said promAnswer
	if err := json.Unmarshal(a.body, &said); err != nil { // a proxy's page, for one
		return scaling.Outcome{Err: a.refusal(nil)}
	}
	return scaling.Outcome{Err: a.refusal(said.failure())}
}

// decodeAnswer is the outcome of an answer with a status of success, with an error that
// does not name the query.
//
// It follows KEDA: ignoreNull makes 0 of no series, an empty or null value, NaN and
// infinities, and a negative value is 0, because KEDA's adapter sends it as that. It
// parts from KEDA where that takes something else than a vector, such as a matrix, an
// error or JSON of any other shape, for a vector without series, and so for 0.
func decodeAnswer(answer httpAnswer, ignoreNull bool) scaling.Outcome {
	var a promAnswer
	if err := json.Unmarshal(answer.body, &a); err != nil {
		return scaling.Outcome{Err: fmt.Errorf("not an answer of Prometheus: %s", answer.described())}
	}
	if err := a.failure(); err != nil {
		return scaling.Outcome{Err: err}
	}
	if a.Data == nil {
		return scaling.Outcome{Err: fmt.Errorf("not an answer of Prometheus, which has data: %s", answer.described())}
	}
	series, err := a.Data.vector()
	if err != nil {
		return scaling.Outcome{Err: err}
	}
	o := reading(series, ignoreNull)
	if o.Err == nil {
		said := slices.DeleteFunc([]string{a.remarks(), o.Note}, func(s string) bool { return s == "" })
		o.Note = strings.Join(said, "; ")
	}
	return o
}

// vector is the result, if it is one. Servers that name no type mean one.
func (d promData) vector() ([]promSeries, error) {
	switch d.ResultType {
	case "vector", "":
	case "matrix":
		return nil, errors.New("the answer is a matrix; ask for an instant, without a range such as [5m] at the end")
	case "scalar":
		return nil, errors.New("the answer is a scalar; write vector(…) around the query")
	case "string":
		return nil, errors.New("the answer is a string, not a vector")
	default:
		return nil, errors.New("the answer is of a type that Prometheus does not have, not a vector")
	}
	if len(d.Result) == 0 {
		return nil, errors.New("not an answer of Prometheus: its data has no result")
	}
	var series []promSeries
	if err := json.Unmarshal(d.Result, &series); err != nil {
		return nil, errors.New("not a vector: its result is no list of series")
	}
	return series, nil
}

// reading is the number in a vector.
func reading(series []promSeries, ignoreNull bool) scaling.Outcome {
	switch {
	case len(series) == 0:
		return null("no series", ignoreNull)
	case len(series) > 1:
		return scaling.Outcome{Err: errors.New("several series, where one number is needed; aggregate them, as by sum(…)")}
	case series[0].Histogram != nil:
		return scaling.Outcome{Err: errors.New("the series is a native histogram; ask for a number of it, as by histogram_quantile(…)")}
	case len(series[0].Value) == 0:
		return null("a series without a value", ignoreNull)
	case len(series[0].Value) == 1:
		return scaling.Outcome{Err: errors.New("not a sample: a time without a value")}
	}
	switch sample := series[0].Value[1].(type) {
	case nil:
		return null("null", ignoreNull)
	case string:
		return fromSample(sample, ignoreNull)
	default:
		return scaling.Outcome{Err: errors.New("not a sample: its value is not a number in a string")}
	}
}

func fromSample(sample string, ignoreNull bool) scaling.Outcome {
	value, err := strconv.ParseFloat(sample, 64)
	switch {
	case math.IsNaN(value):
		return null("NaN", ignoreNull)
	case math.IsInf(value, 1) && err == nil:
		return null("+Inf", ignoreNull)
	case math.IsInf(value, -1) && err == nil:
		return null("-Inf", ignoreNull)
	case err != nil:
		return scaling.Outcome{Err: errors.New("not a sample: its value is a text that is no number")}
	}
	return notNegative(value)
}

// notNegative is the outcome of a number, of which one below 0 counts as 0, because KEDA's
// adapter sends it as that.
func notNegative(value float64) scaling.Outcome {
	if value < 0 {
		return scaling.Outcome{Note: fmt.Sprintf("%v counts as 0, as in KEDA", value)}
	}
	return scaling.Outcome{Value: math.Abs(value)} // and not -0
}

// null is the outcome of what is no number.
func null(what string, ignoreNull bool) scaling.Outcome {
	if !ignoreNull {
		return scaling.Outcome{Err: fmt.Errorf("%w: %s, and ignoreNullValues is false", scaling.ErrNoData, what)}
	}
	note := what + " counts as 0, by ignoreNullValues"
	if what == "+Inf" {
		note += "; is this work without a worker? A divisor of clamp_min(…, 1) shows it"
	}
	return scaling.Outcome{Note: note}
}
