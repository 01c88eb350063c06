package source

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// valueOf is what a trigger makes of an answer, in words.
func valueOf(format, body, location string) string {
	q := apiQuery{format: format, location: location}
	switch o := q.decode(httpAnswer{status: 200, body: []byte(body)}); {
	case o.Err != nil:
		return "error: " + o.Err.Error()
	case o.Note != "":
		return fmt.Sprintf("%v (%s)", o.Value, o.Note)
	default:
		return strconv.FormatFloat(o.Value, 'f', -1, 64)
	}
}

const absentError = "error: no data: nothing is at valueLocation"

func TestJSONValues(t *testing.T) {
	const body = `{"components":[{"id":"82328e93e","tasks":32,"str":"64","k":"1k","endless":"1e-99999999","wrong":"NaN","neg":-3,"null":null,"yes":true}],"count":2.43,"a.b":7}`
	wantValues(t, formatJSON, body, map[string]string{
		"count":                           "2.43",
		"components.0.tasks":              "32",
		"components.0.str":                "64",
		"components.0.k":                  "1000",
		"components.0.endless":            "error: valueLocation leads to a text of up to 16 bytes, not to a number or quantity",
		"components.#":                    "1",
		`components.#(id=="82328e93e").k`: "1000",
		`a\.b`:                            "7",
		"components.0.neg":                "0 (-3 counts as 0, as in KEDA)",
		"components.0.wrong":              "error: valueLocation leads to a text of up to 8 bytes, not to a number or quantity",
		"components.0.null":               "error: no data: null",
		"components.0.yes":                "error: valueLocation leads to true or false, not to a number",
		"components.0":                    "error: valueLocation leads to a mapping, not to a number",
		"components":                      "error: valueLocation leads to a list, not to a number",
		"components.1.tasks":              absentError,
		"nothing":                         absentError,
	})
	const other = "error: not JSON, as format says it is: "
	for body, want := range map[string]string{
		``:                          other + "nothing",
		`{"a":5`:                    other + "up to 8 bytes of text/plain",
		`{"a":5} trailing`:          other + "up to 16 bytes of text/plain",
		`<a>5</a>`:                  other + "up to 8 bytes of text/html",
		`{"a":-0.0}`:                "0",
		`{"a":1e999}`:               "error: no data: +Inf",
		strings.Repeat(`[`, 20_000): other + "up to 32 KiB of text/plain",
	} {
		if got := valueOf(formatJSON, body, "a"); got != want {
			t.Errorf("%.40s: %s, want %s", body, got, want)
		}
	}
	if got := valueOf(formatJSON, "{\"a\":1}\n{\"a\":2}\n", "..1.a"); got != "2" {
		t.Errorf("of the second line: %s, want 2", got)
	}
}

func TestYAMLValues(t *testing.T) {
	const body = "components: [{id: 82328e93e, tasks: 32, str: '64', k: 1k, wrong: NaN, none: ~, yes: true}]\ncount: 2.43\nhex: 0x10\n1: {x: 5}\nday: 2026-01-01\nbig: 18446744073709551615\nnan: .nan\n"
	wantValues(t, formatYAML, body, map[string]string{
		"count":               "2.43",
		"hex":                 "16",
		"1.x":                 "5",
		"components.0.tasks":  "32",
		"components.0.str":    "64",
		"components.0.k":      "1000",
		"components.0.wrong":  "error: valueLocation leads to a text of up to 8 bytes, not to a number or quantity",
		"components.0.none":   "error: no data: null",
		"components.0.yes":    "error: valueLocation leads to true or false, not to a number",
		"components":          "error: valueLocation leads to a list, not to a number",
		"components.0":        "error: valueLocation leads to a mapping, not to a number",
		"components.1":        absentError,
		"components.00.tasks": absentError,
		"components.-1.tasks": absentError,
		"day":                 "error: valueLocation leads to a date, not to a number",
		"big":                 "18446744073709552000",
		"nan":                 "error: no data: NaN",
		"count.more":          absentError,
		"":                    absentError,
	})
	const other = "error: not YAML, as format says it is: "
	for body, want := range map[string]string{
		"a: 5\na: 6\n":                other + "up to 16 bytes of text/plain",
		"a: [":                        other + "up to 8 bytes of text/plain",
		"":                            absentError,
		"# HELP jobs Jobs.\njobs 5\n": absentError,
		"a: 5\n---\na: 6\n":           "5",
		`{"a": "50Mi"}`:               "52428800",
		"a: .inf":                     "error: no data: +Inf",
		strings.Repeat("[", 20_000):   other + "up to 32 KiB of text/plain",
	} {
		if got := valueOf(formatYAML, body, "a"); got != want {
			t.Errorf("%.40q: %s, want %s", body, got, want)
		}
	}
}

func TestXMLValues(t *testing.T) {
	const body = `<?xml version="1.0"?>
<!-- stats -->
<queues xmlns="urn:x" total=" 7 ">
  <queue name="a"><stats size="5"/><length> 12 </length></queue>
  <queue name="b"><length>1Ki</length><note>none</note><empty/></queue>
  <one><two>2</two></one>
</queues>`
	wantValues(t, formatXML, body, map[string]string{
		"queues.@total":              "7",
		"queues.queue.0.length":      "12",
		"queues.queue.0.stats.@size": "5",
		"queues.queue.1.length":      "1024",
		"queues.one.two":             "2",
		"queues.one.0.two.0":         "2",
		"queues.queue.1.note":        "error: valueLocation leads to a text of up to 8 bytes, not to a number or quantity",
		"queues.queue.1.empty":       "error: valueLocation leads to an empty text, not to a number or quantity",
		"queues.queue.2.length":      absentError,
		"queues.queue.length":        `error: several elements "queue" at valueLocation; say which by a number, from 0`,
		"queues.queue":               `error: several elements "queue" at valueLocation; say which by a number, from 0`,
		"queues.queue.@name":         `error: several elements "queue" at valueLocation; say which by a number, from 0`,
		"queues.one":                 "error: valueLocation leads to an element with others inside, not to a number",
		"queues.@total.x":            absentError,
		"queues.@other":              absentError,
		"queue.0.length":             absentError,
		"@total":                     absentError,
		"0":                          absentError,
	})
	const other = "error: not XML, as format says it is: "
	for body, want := range map[string]string{
		``:          other + "nothing",
		`{"a":5}`:   other + "up to 8 bytes of JSON",
		`<a>5`:      other + "up to 8 bytes of text/html",
		`<a>5</a>`:  "5",
		`<a>-5</a>`: "0 (-5 counts as 0, as in KEDA)",
		`<!DOCTYPE a [<!ENTITY b "5">]><a>&b;</a>`: other + "up to 64 bytes of text/plain",
	} {
		if got := valueOf(formatXML, body, "a"); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if deep := strings.Repeat("<a>", 20_000); !strings.HasPrefix(valueOf(formatXML, deep, "a"), other) {
		t.Error("an endless nesting is read")
	}
}

func TestPrometheusFormatValues(t *testing.T) {
	const body = `# HELP jobs Jobs.
# TYPE jobs gauge
jobs{queue="a",host="x"} 5
jobs{queue="a",host="y"} 6.5
jobs{queue="b"} 7
# TYPE done counter
done 41
free 3
below -2
# TYPE seconds histogram
seconds_bucket{le="+Inf"} 3
seconds_sum 9
seconds_count 3
# TYPE nothing gauge
nothing NaN
{"of.all",kind="it's"} 8`
	wantValues(t, formatPrometheus, body, map[string]string{
		"done":                            "41",
		"free":                            "3",
		"free{}":                          "3",
		`jobs{queue="b"}`:                 "7",
		`jobs{queue='b'}`:                 "7",
		"jobs{queue=`b`}":                 "7",
		`jobs{ queue = "a" , host="y", }`: "6.5",
		`{__name__="done"}`:               "41",
		`{"done"}`:                        "41",
		`{"of.all", kind='it\'s'}`:        "8",
		`jobs{queue="b",host=""}`:         "7",
		`jobs{queue="c"}`:                 absentError,
		"other":                           absentError,
		"seconds_sum":                     absentError,
		"seconds":                         "error: the series is a histogram or summary, which is no number",
		`jobs{queue="a"}`:                 "error: several series at valueLocation, where one number is needed; name labels of one",
		"below":                           "0 (-2 counts as 0, as in KEDA)",
		"nothing":                         "error: no data: NaN",
	})
	const other = "error: not in the text format of Prometheus, as format says it is: "
	for body, want := range map[string]string{
		"":             absentError,
		`{"jobs":5}`:   other + "up to 16 bytes of JSON",
		"<html>":       other + "up to 8 bytes of text/html",
		"jobs\r\n":     other + "up to 8 bytes of text/plain",
		"jobs 5\r\n":   "5",
		"jobs +Inf\n":  "error: no data: +Inf",
		"jobs 5 123\n": "5",
	} {
		if got := valueOf(formatPrometheus, body, "jobs"); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}

func wantValues(t *testing.T, format, body string, values map[string]string) {
	t.Helper()
	for location, want := range values {
		if got := valueOf(format, body, location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

func TestSelectors(t *testing.T) {
	for _, bad := range []string{
		"", "{}", "{", "}", "a{", "a{b", "a{b=", `a{b="c"`, `a{b="c"}}`, `a{b="c"} x`, `a{b!="c"}`, `a{b=~"c"}`, `a{b="c" d="e"}`, `a{,}`,
		`a{b=c}`, "a b", "a[5m]", "5", `a{"b"}`, `{"a","b"}`, `{b="c"}`, `a{b="c",b="d"}`, `a{b="\q"}`, `a{'b}`, `a{"b\`, `{""}`, "a offset 5m", `a{ß="c"}`,
	} {
		if s, err := parseSelector(bad); err == nil {
			t.Errorf("%s is taken as %v", bad, s)
		}
	}
}

// FuzzValue: of any answer in any format there is a finite number that is not negative, or
// an error on one line that quotes nothing of it; and what is no data is said to be that.
func FuzzValue(f *testing.F) {
	formats := []string{formatJSON, formatXML, formatYAML, formatPrometheus}
	f.Add(0, `{"a":[{"b":"50Mi"}]}`, "a.0.b")
	f.Add(0, "{\"a\":1}\n{\"a\":2}", "..#.a|@reverse|0")
	f.Add(0, `{"a":[1,2]}`, `a.#(>1)#|@pretty:{"width":1}`)
	f.Add(1, `<a b="1"><c>2</c><c>3</c></a>`, "a.c.1")
	f.Add(1, `<a b="1"/>`, "a.@b")
	f.Add(2, "a: &x [1, *x]\nb: {<<: {c: 1}}\n? [d]\n: 1", "b.c")
	f.Add(3, "# TYPE a gauge\na{b=\"c\"} 5 7\n", `a{b="c"}`)
	f.Add(0, `{"a":"planted"}`, "a")
	f.Add(1, `<a planted="planted">planted</a>`, "a")
	f.Add(2, "planted: [planted", "a")
	f.Add(3, "planted{", "planted")
	f.Add(3, "{\"a.b\"} NaN", `{"a.b", c='d'}`)
	f.Fuzz(func(t *testing.T, format int, body, location string) {
		q := apiQuery{format: formats[uint(format)%uint(len(formats))], location: location}
		o := q.decode(httpAnswer{status: 200, body: []byte(body)})
		switch {
		case o.Err != nil && (strings.ContainsAny(o.Err.Error(), "\r\n") || (strings.Contains(o.Err.Error(), "planted") && !strings.Contains(location, "planted"))):
			t.Errorf("not one line of ours: %q", o.Err)
		case o.Err != nil && strings.Contains(o.Err.Error(), "no data") != errors.Is(o.Err, scaling.ErrNoData) && !strings.Contains(body, "no data"):
			t.Errorf("not told apart: %v", o.Err)
		case math.IsNaN(o.Value) || math.IsInf(o.Value, 0) || math.Signbit(o.Value) || (o.Err != nil && o.Value != 0):
			t.Errorf("%+v", o)
		}
	})
}

// Trees take far more memory than their text: a longer answer is refused before it is read.
func TestLongTrees(t *testing.T) {
	long := "<a>" + strings.Repeat("<b/>", maxTree/4) + "</a>"
	for format, refused := range map[string]bool{formatXML: true, formatYAML: true, formatJSON: false} {
		_, err := find(format, httpAnswer{body: []byte(long)}, "a")
		if got := err != nil && strings.Contains(err.Error(), "longer than the 131072 bytes that are read as "+format); got != refused {
			t.Errorf("%s: %v", format, err)
		}
	}
}
