package source

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// selector says which series of an exposition is meant: jobs{queue="a"}.
type selector struct {
	metric string
	labels map[string]string
}

var errSelector = errors.New(`a selector has a metric's name and labels with =, as in jobs{queue="a"}`)

// parseSelector reads a selector as PromQL has them, but for other comparisons than =,
// which KEDA takes for =.
func parseSelector(text string) (*selector, error) {
	s := &selector{labels: map[string]string{}}
	name, rest, braces := strings.Cut(strings.TrimSpace(text), "{")
	s.metric = strings.TrimSpace(name)
	if s.metric != "" && !model.LegacyValidation.IsValidMetricName(s.metric) {
		return nil, errSelector
	}
	for closed := !braces; !closed; {
		var ok bool
		if rest, closed, ok = s.matcher(strings.TrimSpace(rest)); !ok {
			return nil, errSelector
		}
	}
	if s.metric == "" {
		return nil, errSelector
	}
	return s, nil
}

// matcher reads label="value", or the metric's name in quotes, with the comma or brace
// behind it; or the closing brace. It returns what follows, and whether the brace was
// closed.
func (s *selector) matcher(text string) (rest string, closed, ok bool) {
	if rest, ok = strings.CutPrefix(text, "}"); ok {
		return rest, true, strings.TrimSpace(rest) == ""
	}
	label, isQuoted, rest, ok := word(text)
	if !ok {
		return "", false, false
	}
	if value, equal := strings.CutPrefix(rest, "="); equal {
		var quoted bool
		if value, quoted, rest, ok = word(strings.TrimSpace(value)); !ok || !quoted {
			return "", false, false
		}
		ok = s.add(label, value)
	} else {
		ok = isQuoted && s.add(model.MetricNameLabel, label)
	}
	rest, comma := strings.CutPrefix(rest, ",")
	return rest, false, ok && (comma || strings.HasPrefix(rest, "}"))
}

// add adds a label, which may stand there once.
func (s *selector) add(label, value string) bool {
	if label == model.MetricNameLabel {
		again := s.metric != ""
		s.metric = value
		return !again && value != ""
	}
	_, again := s.labels[label]
	s.labels[label] = value
	return !again
}

// word cuts a name or a quoted text off, and the white space behind it.
func word(text string) (word string, quoted bool, rest string, ok bool) {
	if text == "" {
		return "", false, "", false
	}
	if quote := text[0]; quote == '"' || quote == '\'' || quote == '`' {
		end := 1
		for end < len(text) && text[end] != quote {
			if text[end] == '\\' && quote != '`' {
				end++
			}
			end++
		}
		if end >= len(text) {
			return "", true, "", false
		}
		word, err := unquote(text[:end+1])
		return word, true, strings.TrimSpace(text[end+1:]), err == nil
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(letters, r) })
	if end < 0 {
		end = len(text)
	}
	return text[:end], false, strings.TrimSpace(text[end:]), model.LegacyValidation.IsValidLabelName(text[:end])
}

const letters = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// unquote reads Go's quoted texts, and those in single quotes.
func unquote(text string) (string, error) {
	if inside := text[1 : len(text)-1]; text[0] == '\'' {
		inside = strings.ReplaceAll(inside, `\'`, `'`)
		text = `"` + strings.ReplaceAll(inside, `"`, `\"`) + `"`
	}
	return strconv.Unquote(text)
}

// findSeries is the value of the one series that a selector finds in an exposition. KEDA
// takes the first of several.
func findSeries(body []byte, location string) (any, error) {
	s, err := parseSelector(location)
	if err != nil {
		return nil, err
	}
	text := bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, errFormat
	}
	var found []*dto.Metric
	for _, metric := range families[s.metric].GetMetric() {
		if s.finds(metric) {
			found = append(found, metric)
		}
	}
	switch {
	case len(found) == 0:
		return nil, errAbsent
	case len(found) > 1:
		return nil, errors.New("several series at valueLocation, where one number is needed; name labels of one")
	}
	return number64(found[0])
}

// finds reports whether a series has all the labels. One with an empty value may be
// absent.
func (s *selector) finds(metric *dto.Metric) bool {
	has := map[string]string{}
	for _, label := range metric.GetLabel() {
		has[label.GetName()] = label.GetValue()
	}
	for name, value := range s.labels {
		if has[name] != value {
			return false
		}
	}
	return true
}

func number64(metric *dto.Metric) (any, error) {
	switch {
	case metric.GetUntyped() != nil:
		return metric.GetUntyped().GetValue(), nil
	case metric.GetCounter() != nil:
		return metric.GetCounter().GetValue(), nil
	case metric.GetGauge() != nil:
		return metric.GetGauge().GetValue(), nil
	}
	return nil, errors.New("the series is a histogram or summary, which is no number")
}
