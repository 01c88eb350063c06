package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// The formats of an answer.
const (
	formatJSON       = "json"
	formatXML        = "xml"
	formatYAML       = "yaml"
	formatPrometheus = "prometheus"
)

var (
	// errFormat: the answer is not of the format that it should be.
	errFormat = errors.New("another format")
	errAbsent = fmt.Errorf("%w: nothing is at valueLocation", scaling.ErrNoData)
)

// maxTree is the longest answer in XML or YAML that is read, in bytes. Both are read into
// trees of a thousand times the text at worst, and one of 1 MiB took 300 MB.
const maxTree = 128 << 10

// find is what an answer has at a location: a number or text, nil, or what is neither. Its errors quote nothing of the answer.
func find(format string, body []byte, location string) (any, error) {
	if (format == formatXML || format == formatYAML) && len(body) > maxTree {
		return nil, fmt.Errorf("the answer has %d bytes, of which at most %d are read as %s", len(body), maxTree, format)
	}
	switch format {
	case formatXML:
		return findXML(body, location)
	case formatYAML:
		return findYAML(body, location)
	case formatPrometheus:
		return findSeries(body, location)
	default:
		return findJSON(body, location)
	}
}

// findJSON follows a path of GJSON. It differs from KEDA in an answer that is no JSON, of
// which GJSON makes what it can.
func findJSON(body []byte, location string) (any, error) {
	if !isJSON(body, strings.HasPrefix(location, "..")) {
		return nil, errFormat
	}
	result := gjson.GetBytes(body, location)
	if !result.Exists() {
		return nil, errAbsent
	}
	return result.Value(), nil
}

// isJSON reports whether a text is one value in JSON, or lines of them, which GJSON calls
// "..".
func isJSON(body []byte, lines bool) bool {
	if !lines {
		return json.Valid(body)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	for {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// findYAML follows names of keys and numbers of items, from 0, as in KEDA, which takes the
// first scalar that it meets, whatever of the path is left.
func findYAML(body []byte, location string) (any, error) {
	var value any
	if err := yaml.Unmarshal(body, &value); err != nil {
		return nil, errFormat
	}
	for step := range strings.SplitSeq(location, ".") {
		found := false
		switch within := value.(type) {
		case map[string]any:
			value, found = within[step]
		case map[any]any: // some of its keys are no texts
			value, found = keyed(within, step)
		case []any:
			var i int
			if i, found = index(step, len(within)); found {
				value = within[i]
			}
		}
		if !found {
			return nil, errAbsent
		}
	}
	return value, nil
}

// keyed is the value of a key that is written so.
func keyed(within map[any]any, text string) (any, bool) {
	for key, value := range within {
		if fmt.Sprint(key) == text {
			return value, true
		}
	}
	return nil, false
}

// index reads the number of one of so many items, from 0.
func index(text string, count int) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && i < count && strconv.Itoa(i) == text
}

// outcome is what was found as a number. A text may be a quantity, as in KEDA, and a
// negative value is 0, because KEDA's adapter sends it as that. It parts from KEDA where
// that makes 0 of NaN and infinities.
func (q apiQuery) outcome(found any, a httpAnswer) scaling.Outcome {
	var value float64
	switch found := found.(type) {
	case nil:
		return scaling.Outcome{Err: fmt.Errorf("%w: null", scaling.ErrNoData)}
	case int:
		value = float64(found)
	case int64:
		value = float64(found)
	case uint64:
		value = float64(found)
	case float64:
		value = found
	case string:
		quantity, err := resource.ParseQuantity(found)
		if err != nil {
			return scaling.Outcome{Err: fmt.Errorf("not a number or quantity: %q", q.secrets(a).excerpt(found))}
		}
		value = quantity.AsApproximateFloat64()
	default:
		return scaling.Outcome{Err: fmt.Errorf("valueLocation leads to %s, not to a number", kindOf(found))}
	}
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return scaling.Outcome{Err: fmt.Errorf("%w: %v", scaling.ErrNoData, value)}
	case value < 0:
		return scaling.Outcome{Note: fmt.Sprintf("%v counts as 0, as in KEDA", value)}
	}
	return scaling.Outcome{Value: math.Abs(value)} // and not -0
}

func kindOf(found any) string {
	switch found.(type) {
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	return "a date" // of YAML
}

// inWords quotes an answer that is of another format.
func (q apiQuery) inWords(err error, a httpAnswer) error {
	if !errors.Is(err, errFormat) {
		return err
	}
	titles := map[string]string{
		formatJSON: "JSON", formatXML: "XML", formatYAML: "YAML", formatPrometheus: "in the text format of Prometheus",
	}
	return fmt.Errorf("not %s, as format says it is: %q", titles[q.format], q.secrets(a).excerpt(string(a.body)))
}

// secrets are what the answer must not be quoted with: besides what is known to be a
// secret, what may be one in the URL's parameters.
func (q apiQuery) secrets(a httpAnswer) secrets {
	sent := slices.Clone(a.sent)
	_, text, _ := strings.Cut(q.path, "?")
	parameters, _ := url.ParseQuery(text)
	for _, values := range parameters {
		for _, value := range values {
			if len(value) >= 2*shortSecret {
				sent = append(sent, value)
			}
		}
	}
	return sent
}
