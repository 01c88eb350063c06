package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

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

// find is what an answer has at a location: a number or text, nil, or what is neither.
func find(format string, a httpAnswer, location string) (any, error) {
	if (format == formatXML || format == formatYAML) && len(a.body) > maxTree {
		return nil, fmt.Errorf("the answer is longer than the %d bytes that are read as %s", maxTree, format)
	}
	read := map[string]func([]byte, string) (any, error){
		formatJSON: findJSON, formatXML: findXML, formatYAML: findYAML, formatPrometheus: findSeries,
	}
	found, err := read[format](a.body, location)
	if errors.Is(err, errFormat) {
		titles := map[string]string{
			formatJSON: "JSON", formatXML: "XML", formatYAML: "YAML", formatPrometheus: "in the text format of Prometheus",
		}
		return nil, fmt.Errorf("not %s, as format says it is: %s", titles[format], a.described())
	}
	return found, err
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

// numberIn is what was found as a number. A text may be a quantity, as in KEDA. It parts
// from KEDA where that makes 0 of NaN and infinities.
func numberIn(found any) scaling.Outcome {
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
		quantity, err := quantityOf(found)
		if err != nil {
			return scaling.Outcome{Err: fmt.Errorf("valueLocation leads to %s, not to a number or quantity", kindOf(found))}
		}
		value = quantity.AsApproximateFloat64()
	default:
		return scaling.Outcome{Err: fmt.Errorf("valueLocation leads to %s, not to a number", kindOf(found))}
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return scaling.Outcome{Err: fmt.Errorf("%w: %v", scaling.ErrNoData, value)}
	}
	return notNegative(value)
}

// kindOf says what was found, and not with what in it.
func kindOf(found any) string {
	switch found := found.(type) {
	case string:
		if found == "" {
			return "an empty text"
		}
		return "a text of " + size(len(found))
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	return "a date" // of YAML
}
