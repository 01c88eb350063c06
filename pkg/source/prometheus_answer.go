package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// failure is the error that the server reports, with its type; nil if it reports none.
func (a promAnswer) failure(sent secrets) error {
	if a.Status != "error" && a.ErrorType == "" {
		return nil
	}
	return fmt.Errorf("%s: %s", sent.excerpt(a.ErrorType), sent.excerpt(a.Error))
}

// decode is the outcome of an answer.
func (q promQuery) decode(a httpAnswer) scaling.Outcome {
	if a.success() {
		return decodeAnswer(a.body, q.ignoreNull, a.sent)
	}
	var said promAnswer
	if err := json.Unmarshal(a.body, &said); err != nil { // a proxy's page, for one
		return scaling.Outcome{Err: a.refusal(nil)}
	}
	return scaling.Outcome{Err: a.refusal(said.failure(a.sent))}
}

// decodeAnswer is the outcome of an answer with a status of success, with an error that
// does not name the query. sent is what the request had that must not be shown.
//
// It follows KEDA: ignoreNull makes 0 of no series, an empty or null value, NaN and
// infinities, and a negative value is 0, because KEDA's adapter sends it as that. It
// parts from KEDA where that takes something else than a vector, such as a matrix, an
// error or JSON of any other shape, for a vector without series, and so for 0.
func decodeAnswer(body []byte, ignoreNull bool, sent secrets) scaling.Outcome {
	var a promAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return scaling.Outcome{Err: fmt.Errorf("not an answer of Prometheus: %q", sent.excerpt(string(body)))}
	}
	if err := a.failure(sent); err != nil {
		return scaling.Outcome{Err: err}
	}
	if a.Data == nil {
		return scaling.Outcome{Err: fmt.Errorf("not an answer of Prometheus, which has data: %q", sent.excerpt(string(body)))}
	}
	series, err := a.Data.vector(sent)
	if err != nil {
		return scaling.Outcome{Err: err}
	}
	o := reading(series, ignoreNull, sent)
	if o.Err == nil {
		said := []string{sent.excerpt(strings.Join(append(a.Warnings, a.Infos...), "; ")), o.Note}
		o.Note = strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
	}
	return o
}

// vector is the result, if it is one. Servers that name no type mean one.
func (d promData) vector(sent secrets) ([]promSeries, error) {
	switch d.ResultType {
	case "vector", "":
	case "matrix":
		return nil, errors.New("the answer is a matrix; ask for an instant, without a range such as [5m] at the end")
	case "scalar":
		return nil, errors.New("the answer is a scalar; write vector(…) around the query")
	default:
		return nil, fmt.Errorf("the answer is a %s, not a vector", sent.excerpt(d.ResultType))
	}
	if len(d.Result) == 0 {
		return nil, errors.New("not an answer of Prometheus: its data has no result")
	}
	var series []promSeries
	if err := json.Unmarshal(d.Result, &series); err != nil {
		return nil, fmt.Errorf("not a vector: %q", sent.excerpt(string(d.Result)))
	}
	return series, nil
}

// reading is the number in a vector.
func reading(series []promSeries, ignoreNull bool, sent secrets) scaling.Outcome {
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
		return fromSample(sample, ignoreNull, sent)
	default:
		return scaling.Outcome{Err: errors.New("not a sample: its value is not a number in a string")}
	}
}

func fromSample(sample string, ignoreNull bool, sent secrets) scaling.Outcome {
	value, err := strconv.ParseFloat(sample, 64)
	switch {
	case math.IsNaN(value):
		return null("NaN", ignoreNull)
	case math.IsInf(value, 1) && err == nil:
		return null("+Inf", ignoreNull)
	case math.IsInf(value, -1) && err == nil:
		return null("-Inf", ignoreNull)
	case err != nil:
		return scaling.Outcome{Err: fmt.Errorf("not a number: %q", sent.excerpt(sample))}
	case value < 0:
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
