package metadata

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Map reads keys from a map of strings and collects what is wrong with them. The
// map itself is not changed. A Map is for one parse by one goroutine.
//
// As in KEDA, white space around a value is dropped and an empty value counts as
// absent. A reading method returns the zero value for a value that is a problem,
// and for an absent key without a default.
type Map struct {
	path     string
	values   map[string]string
	handled  map[string]bool
	findings *findings
}

// findings are shared by a Map and those nested in it.
type findings struct {
	problems []error
	warnings []string
}

// New returns a Map over a trigger's metadata.
func New(values map[string]string) *Map {
	return &Map{values: values, handled: map[string]bool{}, findings: &findings{}}
}

// Nested returns a Map over the entries of a mapping inside this one. Its problems
// are this one's, and name their keys behind the mapping's own:
// behavior.scaleUp.selectPolicy.
func (m *Map) Nested(name string, values map[string]string) *Map {
	return &Map{path: m.path + name + ".", values: values, handled: map[string]bool{}, findings: m.findings}
}

// Has reports whether a key is given, under any of its names.
func (m *Map) Has(k Key) bool {
	_, value := m.lookUp(k)
	return value != ""
}

// Text reads a value as it stands, which has to be one of the key's choices if it
// has any.
func (m *Map) Text(k Key) string {
	value, ok := m.value(k)
	if ok && len(k.Choices) > 0 && !slices.Contains(k.Choices, value) {
		m.Problem(k, "")
		return ""
	}
	return value
}

// Number reads a finite number.
func (m *Map) Number(k Key) float64 {
	value, ok := m.value(k)
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !k.Range.Contains(n) {
		m.Problem(k, "")
		return 0
	}
	return n
}

// Whole reads a whole number. The key's range must lie within an int32.
func (m *Map) Whole(k Key) int32 {
	value, ok := m.value(k)
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !k.Range.Contains(n) || n != math.Trunc(n) {
		m.Problem(k, "")
		return 0
	}
	return int32(n)
}

// Seconds reads a time, given as a number of seconds or as a Go duration.
func (m *Map) Seconds(k Key) time.Duration {
	value, ok := m.value(k)
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil {
		var d time.Duration
		d, err = time.ParseDuration(value)
		seconds = d.Seconds()
	}
	if err != nil || !k.Range.Contains(seconds) {
		m.Problem(k, "")
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// Flag reads true or false, in the spellings of strconv.ParseBool.
func (m *Map) Flag(k Key) bool {
	value, ok := m.value(k)
	if !ok {
		return false
	}
	flag, err := strconv.ParseBool(value)
	if err != nil {
		m.Problem(k, "")
	}
	return flag
}

// Problem reports the value of a key as illegal, or the key as missing where it is
// absent. detail adds what the key's legal values alone do not say; it may be empty.
func (m *Map) Problem(k Key, detail string) {
	name, value := m.lookUp(k)
	given := " is missing"
	switch {
	case value != "" && k.Secret:
		given = ""
	case value != "":
		given = fmt.Sprintf(" %q", shortened(value))
	}
	if detail != "" {
		detail = " (" + detail + ")"
	}
	m.findings.problems = append(m.findings.problems,
		fmt.Errorf("%s%s%s: must be %s%s", m.path, name, given, k.Legal(), detail))
}

// Conflict reports a problem that lies between several keys.
func (m *Map) Conflict(format string, args ...any) {
	m.findings.problems = append(m.findings.problems, fmt.Errorf(m.path+format, args...))
}

// Warn notes something that does not keep the metadata from being used.
func (m *Map) Warn(format string, args ...any) {
	m.findings.warnings = append(m.findings.warnings, fmt.Sprintf(m.path+format, args...))
}

// Remark notes, as Warn does, something that is not about one key.
func (m *Map) Remark(format string, args ...any) {
	remark := fmt.Sprintf(format, args...)
	if m.path != "" {
		remark = strings.TrimSuffix(m.path, ".") + ": " + remark
	}
	m.findings.warnings = append(m.findings.warnings, remark)
}

// Finish accounts for the entries that were not read: one whose name is nearly that
// of a known key is a problem, any other that is not known a warning.
func (m *Map) Finish(known ...[]Key) {
	m.finish(known, func(name string) {
		m.Warn("%s: unknown key, ignored", spelled(name))
	})
}

// FinishStrict is Finish where every unknown entry is a problem.
func (m *Map) FinishStrict(known ...[]Key) {
	m.finish(known, func(name string) {
		m.Conflict("%s: unknown key, must be one of %s", spelled(name), fieldNames(slices.Concat(known...)))
	})
}

func (m *Map) finish(known [][]Key, unknown func(name string)) {
	var names []string
	for _, k := range slices.Concat(known...) {
		names = append(names, m.names(k)...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		if m.handled[name] || slices.Contains(names, name) {
			continue
		}
		if near := Nearest(name, names); near != "" {
			m.Conflict("%s: unknown key, did you mean %s?", spelled(name), near)
			continue
		}
		unknown(name)
	}
}

// Err returns all problems as one error, on one line, or nil.
func (m *Map) Err() error {
	if len(m.findings.problems) == 0 {
		return nil
	}
	return problems(m.findings.problems)
}

// Warnings returns all warnings.
func (m *Map) Warnings() []string { return m.findings.warnings }

// value looks a key up, with its default. ok is false if there is none.
func (m *Map) value(k Key) (string, bool) {
	_, value := m.lookUp(k)
	if value == "" {
		value = k.Default
	}
	if value == "" && k.Required {
		m.Problem(k, "")
	}
	return value, value != ""
}

// lookUp returns the name under which a key is given, and its value; the key's
// first name and nothing if it is not. All its names count as handled.
func (m *Map) lookUp(k Key) (name, value string) {
	name = k.Name
	for _, candidate := range m.names(k) {
		m.handled[candidate] = true
		if given := strings.TrimSpace(m.values[candidate]); given != "" && value == "" {
			name, value = candidate, given
		}
	}
	return name, value
}

// names are all names under which a key may be given, in order of precedence. KEDA
// resolves environment variables at the top level only, not inside a mapping.
func (m *Map) names(k Key) []string {
	names := append([]string{k.Name}, k.Aliases...)
	if m.path != "" {
		return names
	}
	for _, name := range names[:len(names):len(names)] {
		names = append(names, name+"FromEnv")
	}
	return names
}

// problems joins errors with semicolons: they end up in Events and gRPC messages,
// where line breaks are a nuisance.
type problems []error

func (p problems) Error() string {
	return strings.ReplaceAll(errors.Join(p...).Error(), "\n", "; ")
}

func (p problems) Unwrap() []error { return p }

// spelled is the name of an unknown key as it may stand in a message: a map key can be
// anything.
func spelled(name string) string {
	if short := shortened(name); short != name || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) || !utf8.ValidString(name) {
		return strconv.Quote(short)
	}
	return name
}

// shortened keeps a message readable when the value is a whole YAML document.
func shortened(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}
