package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var (
	nameKey   = Key{Name: "listName", Required: true, Format: "the name of a list"}
	lengthKey = Key{Name: "listLength", Kind: Number, Range: Range{0.001, 1000}, Default: "5"}
	levelKey  = Key{Name: "level", Kind: Number, Range: AtLeast(0)}
	countKey  = Key{Name: "replicas", Kind: Whole, Range: Range{0, 100}}
	pauseKey  = Key{Name: "pause", Kind: Seconds, Range: Range{1, 300}, Default: "5"}
	tlsKey    = Key{Name: "secure", Kind: Flag}
	modeKey   = Key{Name: "selection", Choices: []string{"Max", "Min"}, Default: "Max"}
	placeKey  = Key{Name: "address", Aliases: []string{"addresses"}}
	secretKey = Key{Name: "password", Secret: true, Kind: Whole, Range: Range{0, 1}}

	allKeys = []Key{nameKey, lengthKey, levelKey, countKey, pauseKey, tlsKey, modeKey, placeKey, secretKey}
)

func TestValues(t *testing.T) {
	number := func(k Key) func(*Map) any { return func(m *Map) any { return m.Number(k) } }
	whole := func(k Key) func(*Map) any { return func(m *Map) any { return m.Whole(k) } }
	seconds := func(m *Map) any { return m.Seconds(pauseKey) }
	text := func(k Key) func(*Map) any { return func(m *Map) any { return m.Text(k) } }
	flag := func(m *Map) any { return m.Flag(tlsKey) }

	tests := []struct {
		name, key, value string
		read             func(*Map) any
		want             any
		problem          string
	}{
		{"default", "", "", number(lengthKey), 5.0, ""},
		{"number", "listLength", "37", number(lengthKey), 37.0, ""},
		{"decimal", "listLength", "5.5", number(lengthKey), 5.5, ""},
		{"white space", "listLength", " 7\n", number(lengthKey), 7.0, ""},
		{"empty is absent", "listLength", "  ", number(lengthKey), 5.0, ""},
		{"no number", "listLength", "many", number(lengthKey), 0.0, `listLength "many": must be a number from 0.001 to 1000`},
		{"zero", "listLength", "0", number(lengthKey), 0.0, `listLength "0": must be a number from 0.001 to 1000`},
		{"NaN", "listLength", "NaN", number(lengthKey), 0.0, `listLength "NaN": must be a number from 0.001 to 1000`},
		{"infinite without upper end", "level", "Inf", number(levelKey), 0.0, `level "Inf": must be a number of at least 0`},
		{"too large for a float", "level", "1e999", number(levelKey), 0.0, `level "1e999": must be a number of at least 0`},
		{"absent without default", "", "", number(levelKey), 0.0, ""},
		{"whole", "replicas", "100", whole(countKey), int32(100), ""},
		{"whole out of range", "replicas", "101", whole(countKey), int32(0), `replicas "101": must be a whole number from 0 to 100`},
		{"broken whole", "replicas", "1.5", whole(countKey), int32(0), `replicas "1.5": must be a whole number from 0 to 100`},
		{"seconds", "pause", "90", seconds, 90 * time.Second, ""},
		{"duration", "pause", "1m30s", seconds, 90 * time.Second, ""},
		{"part of a second", "pause", "1.5", seconds, 1500 * time.Millisecond, ""},
		{"too long", "pause", "6m", seconds, time.Duration(0), `pause "6m": must be seconds, or a duration such as 90s, from 1 to 300 s`},
		{"negative", "pause", "-1s", seconds, time.Duration(0), `pause "-1s": must be seconds, or a duration such as 90s, from 1 to 300 s`},
		{"flag", "secure", "TRUE", flag, true, ""},
		{"no flag", "secure", "yes", flag, false, `secure "yes": must be true or false`},
		{"choice", "selection", "Min", text(modeKey), "Min", ""},
		{"no choice", "selection", "max", text(modeKey), "", `selection "max": must be one of Max, Min`},
		{"missing", "", "", text(nameKey), "", "listName is missing: must be the name of a list"},
		{"alias", "addresses", "a:1", text(placeKey), "a:1", ""},
		{"from the environment", "addressFromEnv", "a:1", text(placeKey), "a:1", ""},
		{"alias from the environment", "addressesFromEnv", "a:1", text(placeKey), "a:1", ""},
		{"the name that was used", "listLengthFromEnv", "x", number(lengthKey), 0.0, `listLengthFromEnv "x": must be a number from 0.001 to 1000`},
		{"secret", "password", "hunter2", whole(secretKey), int32(0), "password: must be a whole number from 0 to 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := New(map[string]string{tt.key: tt.value})
			if got := tt.read(m); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := message(m.Err()); got != tt.problem {
				t.Errorf("problem %q, want %q", got, tt.problem)
			}
		})
	}
}

func TestPlainNameComesFirst(t *testing.T) {
	m := New(map[string]string{"address": "a:1", "addresses": "b:1", "addressFromEnv": "c:1"})
	if got := m.Text(placeKey); got != "a:1" {
		t.Errorf("got %s, want a:1", got)
	}
	m.Finish(nil)
	if m.Err() != nil || len(m.Warnings()) > 0 {
		t.Errorf("other names of a key that was read are no news: %v, %v", m.Err(), m.Warnings())
	}
}

func TestFinish(t *testing.T) {
	tests := []struct{ key, problem, warning string }{
		{"listName", "", ""},
		{"addresses", "", ""},
		{"addressFromEnv", "", ""},
		{"listNme", "listNme: unknown key, did you mean listName?", ""},
		{"listLenght", "listLenght: unknown key, did you mean listLength?", ""},
		{"listname", "listname: unknown key, did you mean listName?", ""},
		{"LISTLENGTH", "LISTLENGTH: unknown key, did you mean listLength?", ""},
		{"list-length", "list-length: unknown key, did you mean listLength?", ""},
		{"adressFromEnv", "adressFromEnv: unknown key, did you mean addressFromEnv?", ""},
		{"pollingInterval", "", "pollingInterval: unknown key, ignored"},
		{"pasue", "pasue: unknown key, did you mean pause?", ""},
		{"cause", "cause: unknown key, did you mean pause?", ""},
		{"caues", "", "caues: unknown key, ignored"},
		{"", "", ": unknown key, ignored"},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			m := New(map[string]string{tt.key: "secret value"})
			m.Finish(allKeys[:4], allKeys[4:])
			if got := message(m.Err()); got != tt.problem {
				t.Errorf("problem %q, want %q", got, tt.problem)
			}
			if got := strings.Join(m.Warnings(), "; "); got != tt.warning {
				t.Errorf("warning %q, want %q", got, tt.warning)
			}
		})
	}
}

func TestNested(t *testing.T) {
	m := New(map[string]string{"listLength": "x"})
	m.Number(lengthKey)
	inner := m.Nested("outer", nil).Nested("inner", map[string]string{
		"replicas": "-1", "listLengthFromEnv": "5", "other": "1", "Pause": "5",
	})
	inner.Whole(countKey)
	if inner.Has(lengthKey) {
		t.Error("KEDA resolves nothing inside a value")
	}
	inner.FinishStrict([]Key{countKey, lengthKey, pauseKey})
	want := []string{
		`listLength "x": must be a number from 0.001 to 1000`,
		`outer.inner.replicas "-1": must be a whole number from 0 to 100`,
		"outer.inner.Pause: unknown key, did you mean pause?",
		"outer.inner.listLengthFromEnv: unknown key, must be one of replicas, listLength, pause",
		"outer.inner.other: unknown key, must be one of replicas, listLength, pause",
	}
	if got := message(m.Err()); got != strings.Join(want, "; ") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "; "))
	}
}

func TestErrKeepsEveryProblem(t *testing.T) {
	m := New(map[string]string{"replicas": "x\ny"})
	m.Whole(countKey)
	m.Text(nameKey)
	m.Conflict("%d is not %d", 1, 2)
	err := m.Err()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 || strings.Contains(err.Error(), "\n") {
		t.Errorf("want three problems on one line, got %v", err)
	}
	if New(nil).Err() != nil {
		t.Error("no problem is no error")
	}
}

func TestLongValuesAreCut(t *testing.T) {
	m := New(map[string]string{"replicas": strings.Repeat("ü", 500)})
	m.Whole(countKey)
	if got := message(m.Err()); !strings.Contains(got, `"`+strings.Repeat("ü", 80)+`…"`) {
		t.Errorf("got %s", got)
	}
}

func TestLegal(t *testing.T) {
	tests := []struct {
		key  Key
		want string
	}{
		{Key{}, "a text that is not empty"},
		{Key{Kind: Mapping, Fields: []Key{countKey, pauseKey}}, "a YAML mapping of replicas, pause"},
		{Key{Kind: List, Fields: []Key{countKey, pauseKey}}, "a YAML list of at least one mapping of replicas, pause"},
	}
	for _, tt := range tests {
		if got := tt.key.Legal(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// FuzzMap: whatever a map holds, no method panics, what is read is legal, and a
// problem never shows a secret.
func FuzzMap(f *testing.F) {
	for _, k := range allKeys {
		f.Add(k.Name, "5", "x")
		f.Add("x"+k.Name, "-1", "NaN")
	}
	f.Fuzz(func(t *testing.T, key, value, secret string) {
		m := New(map[string]string{"password": secret, key: value})
		m.Text(nameKey)
		if n := m.Number(lengthKey); n != 0 && !lengthKey.Range.Contains(n) {
			t.Errorf("number %v", n)
		}
		if n := m.Whole(countKey); !countKey.Range.Contains(float64(n)) {
			t.Errorf("whole %v", n)
		}
		if d := m.Seconds(pauseKey); d != 0 && (d < time.Second || d > 5*time.Minute) {
			t.Errorf("seconds %v", d)
		}
		if s := m.Text(modeKey); s != "" && !slices.Contains(modeKey.Choices, s) {
			t.Errorf("choice %q", s)
		}
		m.Flag(tlsKey)
		before := len(m.findings.problems)
		m.Whole(secretKey)
		for _, p := range m.findings.problems[before:] {
			if !strings.HasPrefix(p.Error(), "password") || strings.Count(p.Error(), ":") != 1 {
				t.Errorf("a secret's problem says too much: %v", p)
			}
		}
		m.Finish(allKeys)
		m.FinishStrict(allKeys)
		if err := m.Err(); err != nil && strings.Contains(err.Error(), "%!") && !strings.Contains(key+value, "%!") {
			t.Errorf("badly formatted: %v", err)
		}
		for _, text := range append(m.Warnings(), message(m.Err())) {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) || !utf8.ValidString(text) {
				t.Errorf("not one line of text: %q", text)
			}
		}
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(errors.Join(err))
}
