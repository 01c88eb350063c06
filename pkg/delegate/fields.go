package delegate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fields reads one mapping and collects what is wrong with it. A reading method returns
// the zero value for what is absent or a problem.
type fields struct {
	// path is what stands before a key in messages, as in "delegates[0].match.".
	path     string
	values   map[string]any
	known    []string
	problems *[]error
}

func (f *fields) problem(key, legal string) {
	given := "missing"
	if value, ok := f.values[key]; ok {
		given = show(value)
	}
	*f.problems = append(*f.problems, fmt.Errorf("%s%s is %s; it must be %s", f.path, key, given, legal))
}

// conflict notes a problem that lies between several keys.
func (f *fields) conflict(format string, args ...any) {
	*f.problems = append(*f.problems, fmt.Errorf("%s%s", f.path, fmt.Sprintf(format, args...)))
}

// take returns a value; nil if the key is absent.
func (f *fields) take(key string) any {
	f.known = append(f.known, key)
	return f.values[key]
}

// text reads a text that is legal where ok says so, and that may be absent.
func (f *fields) text(key, legal string, ok func(string) bool) string {
	value := f.take(key)
	if value == nil {
		return ""
	}
	text, isText := value.(string)
	if !isText || text == "" || !ok(text) {
		f.problem(key, legal)
		return ""
	}
	return text
}

// required is text that must be there.
func (f *fields) required(key, legal string, ok func(string) bool) string {
	if f.values[key] == nil {
		f.take(key)
		f.problem(key, legal)
		return ""
	}
	return f.text(key, legal, ok)
}

// texts reads a list of texts.
func (f *fields) texts(key, legal string, ok func(string) bool) []string {
	value := f.take(key)
	if value == nil {
		return nil
	}
	list, isList := value.([]any)
	var texts []string
	for _, entry := range list {
		if text, isText := entry.(string); isText && text != "" && ok(text) {
			texts = append(texts, text)
		}
	}
	if !isList || len(list) == 0 || len(texts) < len(list) {
		f.problem(key, "a list of "+legal)
		return nil
	}
	return texts
}

func (f *fields) flag(key string) bool {
	value := f.take(key)
	flag, ok := value.(bool)
	if value != nil && !ok {
		f.problem(key, "true or false")
	}
	return flag
}

// whole reads a whole number from 1 to most.
func (f *fields) whole(key string, most int) int {
	value := f.take(key)
	n, ok := value.(float64)
	if value != nil && (!ok || n != math.Trunc(n) || n < 1 || n > float64(most)) {
		f.problem(key, "a whole number from 1 to "+strconv.Itoa(most))
		return 0
	}
	return int(n)
}

// duration reads a number of seconds, or a text such as 500ms.
func (f *fields) duration(key string, least, most time.Duration) time.Duration {
	var d time.Duration
	switch value := f.take(key).(type) {
	case nil:
		return 0
	case float64:
		d = time.Duration(min(value, math.MaxInt32) * float64(time.Second))
	case string:
		d, _ = time.ParseDuration(value) // which is 0 otherwise, and so no problem less
	}
	if d < least || d > most {
		f.problem(key, fmt.Sprintf("seconds, or a duration such as 500ms, from %v to %v", least, most))
		return 0
	}
	return d
}

// nested returns the reader of a mapping inside this one, which may be absent.
func (f *fields) nested(key, legal string) *fields {
	value := f.take(key)
	values, ok := value.(map[string]any)
	if value != nil && !ok {
		f.problem(key, legal)
	}
	return &fields{path: f.path + key + ".", values: values, problems: f.problems}
}

// finish makes problems of the keys that nobody has read.
func (f *fields) finish() {
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.Contains(f.known, key) {
			*f.problems = append(*f.problems, fmt.Errorf("%s%s is an unknown key; it must be one of %s",
				f.path, key, strings.Join(f.known, ", ")))
		}
	}
}

// show is a value in a message: on one line, not long, and without what may be a secret.
func show(value any) string {
	const most = 80
	if text, ok := value.(string); ok {
		value = hide(text)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "not JSON"
	}
	text := string(data)
	if _, ok := value.(string); !ok {
		text = hide(text)
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// hide leaves out what may be the secret of a URL: all of what has an @, for nobody can say
// where in it a password with / or ? ends, and whatever follows a ? or #.
func hide(text string) string {
	if strings.Contains(text, "@") {
		return "***"
	}
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		return text[:i+1] + "***"
	}
	return text
}
