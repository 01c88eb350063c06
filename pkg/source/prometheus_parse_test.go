package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// promql is a good trigger with changes; a value of "-" removes a key.
func promql(changes values) values {
	m := values{"serverAddress": "http://prom:9090", "query": "sum(jobs)", "threshold": "5"}
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_, v string) bool { return v == "-" })
	return m
}

// TestC26Numbers: numbers as strings in several shapes.
func TestC26Numbers(t *testing.T) {
	const legal = "must be a number from 0.001 to 1000000000"
	tests := []struct {
		changes  values
		target   float64
		problem  string
		warnings string
	}{
		{values{"threshold": "0.5"}, 0.5, "", ""},
		{values{"threshold": "1e3"}, 1000, "", ""},
		{values{"threshold": "70000m"}, 0, `threshold "70000m": ` + legal + " (not a quantity; write 70)", ""},
		{values{"threshold": "2Ki"}, 0, `threshold "2Ki": ` + legal + " (not a quantity; write 2048)", ""},
		{values{"threshold": "5 jobs"}, 0, `threshold "5 jobs": ` + legal, ""},
		{values{"threshold": "m"}, 0, `threshold "m": ` + legal, ""},
		{values{"threshold": "0"}, 0, `threshold "0": ` + legal, ""},
		{values{"threshold": "-5"}, 0, `threshold "-5": ` + legal, ""},
		{values{"threshold": "NaN"}, 0, `threshold "NaN": ` + legal, ""},
		{values{"threshold": "-"}, 0, "threshold is missing: " + legal, ""},
		{values{"activationThreshold": "500m"}, 5, `activationThreshold "500m": must be a number of at least 0 (not a quantity; write 0.5)`, ""},
		{values{"metricType": "Value"}, 5, "", "metricType: unknown key, ignored"},
		{values{"serverAddress": "-"}, 5, "serverAddress is missing: must be a URL such as http://prometheus:9090, with a path if the API is below one", ""},
	}
	for _, tt := range tests {
		trigger, _, m := parse(newTable(t), "prometheus", promql(tt.changes))
		problem := ""
		if err := m.Err(); err != nil {
			problem = err.Error()
		}
		if problem != tt.problem || trigger.Target.Float() != tt.target || strings.Join(m.Warnings(), "; ") != tt.warnings {
			t.Errorf("%v: target %v, warnings %q, problem\n%s\nwant %v, %q,\n%s", tt.changes, trigger.Target.Float(), m.Warnings(), problem, tt.target, tt.warnings, tt.problem)
		}
	}
}

func TestPrometheusDefaults(t *testing.T) {
	table := newTable(t)
	trigger, name, m := parse(table, "prometheus", promql(nil))
	_, _, interval := table.Parse("prometheus", m)
	if m.Err() != nil || len(m.Warnings()) > 0 || name != "prometheus" || interval != 15*time.Second || trigger.Target != 5000 || trigger.Activation != 0 {
		t.Errorf("got %v, %q, name %s, interval %v, %+v", m.Err(), m.Warnings(), name, interval, trigger)
	}
	if q := trigger.Query.(promQuery); !q.ignoreNull || q.timeout != 3*time.Second {
		t.Errorf("ignoreNullValues %v, timeout %v, want true, 3s", q.ignoreNull, q.timeout)
	}
}

// TestPrometheusRequest: what is asked for, and what the question is called.
func TestPrometheusRequest(t *testing.T) {
	tests := []struct {
		name    string
		changes values
		url     string
		query   string
	}{
		{"plain", nil, "http://prom:9090/api/v1/query?query=sum%28jobs%29", "prometheus sum(jobs) at http://prom:9090"},
		{
			"path and slash", values{"serverAddress": "https://gate/select/0/prometheus/"},
			"https://gate/select/0/prometheus/api/v1/query?query=sum%28jobs%29", "prometheus sum(jobs) at https://gate/select/0/prometheus",
		},
		{
			"credentials", values{"serverAddress": "http://me:hunter2@prom:9090"},
			"http://prom:9090/api/v1/query?query=sum%28jobs%29", "prometheus sum(jobs) at http://prom:9090",
		},
		{
			"several lines", values{"query": "sum(\n  a{b=\"c d\"}\n)"},
			"http://prom:9090/api/v1/query?query=sum%28%0A++a%7Bb%3D%22c+d%22%7D%0A%29", `prometheus sum(   a{b="c d"} ) at http://prom:9090`,
		},
		{
			"namespace", values{"namespace": "my shop"},
			"http://prom:9090/api/v1/query?namespace=my+shop&query=sum%28jobs%29", "prometheus sum(jobs) in namespace my shop at http://prom:9090",
		},
		{
			"parameters", values{"queryParameters": "dedup=true, extra_filters[]={a=\"1\"}"},
			"http://prom:9090/api/v1/query?dedup=true&extra_filters%5B%5D=%7Ba%3D%221%22%7D&query=sum%28jobs%29",
			`prometheus sum(jobs) with dedup=true, extra_filters[]={a="1"} at http://prom:9090`,
		},
		{
			"tenant", values{"customHeaders": "x-scope-orgid=acme,X-Api-Key=hunter2"},
			"http://prom:9090/api/v1/query?query=sum%28jobs%29", "prometheus sum(jobs) of tenant #" + fingerprint(nil, "acme", "")[:8] + " at http://prom:9090",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := query(t, newTable(t), "prometheus", promql(tt.changes)).(promQuery)
			if got := q.at.Value().base + q.path; got != tt.url {
				t.Errorf("URL\n%s\nwant\n%s", got, tt.url)
			}
			if q.String() != tt.query {
				t.Errorf("name\n%s\nwant\n%s", q, tt.query)
			}
		})
	}
}

// TestPrometheusTimeout: KEDA's unit is the millisecond, where Dashpot's own is the
// second.
func TestPrometheusTimeout(t *testing.T) {
	const legal = ": must be a duration such as 2s, or a whole number of milliseconds"
	tests := []struct {
		given   string
		want    time.Duration
		finding string
	}{
		{"500", 500 * time.Millisecond, ""},
		{"2s", 2 * time.Second, ""},
		{"1m", 3 * time.Second, "timeout: 1m is longer than any read may take; 3s is what counts"},
		{"5", 5 * time.Millisecond, "timeout: 5 is a number of milliseconds, as in KEDA; for seconds write 5s"},
		{"0", 3 * time.Second, ""},
		{"-1s", 3 * time.Second, `timeout "-1s"` + legal},
		{"-5", 3 * time.Second, `timeout "-5"` + legal},
		{"1.5", 3 * time.Second, `timeout "1.5"` + legal},
		{"9999999999", 3 * time.Second, `timeout "9999999999"` + legal},
	}
	for _, tt := range tests {
		trigger, _, m := parse(newTable(t), "prometheus", promql(values{"timeout": tt.given}))
		finding := strings.Join(m.Warnings(), "; ")
		if err := m.Err(); err != nil {
			finding += err.Error()
		}
		if got := trigger.Query.(promQuery).timeout; got != tt.want || finding != tt.finding {
			t.Errorf("%s: got %v, %q, want %v, %q", tt.given, got, finding, tt.want, tt.finding)
		}
	}
}

// TestHTTPKeys: what is sent, or what is wrong. No message has a secret in it.
func TestHTTPKeys(t *testing.T) {
	const (
		address = "must be a URL such as http://prometheus:9090, with a path if the API is below one"
		modes   = "must be one or more of bearer, basic, custom, tls, separated by commas, but not bearer and basic together"
		header  = "must be Name=value, or several separated by commas"
	)
	tests := []struct {
		name    string
		changes values
		headers string
		finding string
	}{
		{"bearer", values{"authModes": "bearer", "bearerToken": "abc"}, "Authorization: Bearer abc", ""},
		{"C44 d: a token with a line feed", values{"authModes": "bearer", "bearerTokenFromEnv": "abc\n"}, "Authorization: Bearer abc", ""},
		{"token", values{"authMode": "bearer", "token": "abc"}, "Authorization: Bearer abc", ""},
		{"basic", values{"authModes": "basic", "username": "me", "passwordFromEnv": "hunter2"}, "Authorization: Basic bWU6aHVudGVyMg==", ""},
		{"basic without password", values{"authModes": "basic", "username": "me"}, "Authorization: Basic bWU6", ""},
		{"custom", values{"authModes": "custom", "customAuthHeader": "x-key", "customAuthValue": "hunter2"}, "X-Key: hunter2", ""},
		{"credentials in the address", values{"serverAddress": "http://me:hunter2@prom"}, "Authorization: Basic bWU6aHVudGVyMg==", ""},
		{"headers", values{"customHeaders": "b=2, a=1=1,"}, "A: 1=1\nB: 2", ""},
		{"headers and address", values{"serverAddress": "http://me:hunter2@prom", "customHeaders": "Authorization=mine"}, "Authorization: mine", ""},
		{"headers and mode", values{"authModes": "bearer", "token": "abc", "customHeaders": "authorization=mine"}, "Authorization: Bearer abc", ""},
		{"two modes", values{"authModes": "bearer, custom", "token": "abc", "customAuthHeader": "a", "customAuthValue": "b"}, "Authorization: Bearer abc", "authModes: custom is not used beside bearer or basic, as in KEDA"},
		{"no mode", values{"bearerToken": "hunter2"}, "", "bearerToken: not used: authModes does not name bearer"},

		{"no URL", values{"serverAddress": "prom:9090"}, "", `serverAddress "prom:9090": ` + address},
		{"no host", values{"serverAddress": "http://:9090"}, "", `serverAddress "http://:9090": ` + address},
		{"no port", values{"serverAddress": "http://prom:"}, "", `serverAddress "http://prom:": ` + address},
		{"illegal port", values{"serverAddress": "http://prom:0"}, "", `serverAddress "http://prom:0": ` + address},
		{"parameters", values{"serverAddress": "http://prom?a=b"}, "", "serverAddress: " + address},
		{"broken, with credentials", values{"serverAddress": "http://me:hunter2@prom:x"}, "", "serverAddress: " + address},
		{"header without value", values{"customHeaders": "hunter2"}, "", "customHeaders: " + header},
		{"illegal header", values{"customHeaders": "a b=hunter2"}, "", "customHeaders: " + header},
		{"line feed in a header", values{"customHeaders": "a=hunter2\nb: c"}, "", "customHeaders: " + header},
		{"unknown mode", values{"authModes": "oauth"}, "", `authModes "oauth": ` + modes},
		{"two that exclude each other", values{"authModes": "bearer,basic", "token": "hunter2", "username": "me"}, "", `authModes "bearer,basic": ` + modes},
		{"no token", values{"authModes": "bearer"}, "Authorization: Bearer ", "bearerToken is missing: must be a token without line breaks (authModes names bearer)"},
		{"line feed in a token", values{"authModes": "bearer", "token": "hunter\n2"}, "*", "token: must be a token without line breaks"},
		{"no user", values{"authModes": "basic", "password": "hunter2"}, "*", "username is missing: must be a text that is not empty (authModes names basic)"},
		{"no key", values{"authModes": "tls", "cert": "x"}, "", "key is missing: must be a private key in PEM (authModes names tls)"},
		{"no certificate", values{"authModes": "tls", "cert": "hunter2", "key": "hunter2"}, "", "cert: must be a certificate in PEM that key fits"},
		{"no authority", values{"ca": "hunter2"}, "", "ca: must be certificates in PEM"},
		{"KEDA's own unsafeSsl", values{"serverAddress": "https://prom", "unsafeSsl": "true"}, "", "unsafeSsl: is about the connection from KEDA to Dashpot; for the one to the source set source.unsafeSsl"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trigger, _, m := parse(newTable(t), "prometheus", promql(tt.changes))
			findings := m.Warnings()
			if err := m.Err(); err != nil {
				findings = append(slices.Clone(findings), err.Error())
			}
			if got := strings.Join(findings, "; "); got != tt.finding {
				t.Errorf("found\n%s\nwant\n%s", got, tt.finding)
			}
			if got := trigger.Query.(promQuery).at.Value().headers; got != tt.headers && tt.headers != "*" {
				t.Errorf("headers\n%s\nwant\n%s", got, tt.headers)
			}
		})
	}
}

// TestPrometheusServerTellsApart: what must not be one read has another Server, the same
// has the same, and no secret shows in any way of printing.
func TestPrometheusServerTellsApart(t *testing.T) {
	table := newTable(t)
	seen := map[string]string{}
	for _, change := range []values{
		{}, {"query": "other"}, {"namespace": "a"}, {"queryParameters": "a=b"}, {"serverAddress": "http://hunter2@prom:9090"},
		{"serverAddress": "http://other:9090"}, {"customHeaders": "a=hunter2"}, {"customHeaders": "a=hunter3"},
		{"authModes": "bearer", "token": "hunter2"}, {"authModes": "bearer", "token": "hunter3"},
		{"authModes": "basic", "username": "me", "password": "hunter2"},
		{"authModes": "custom", "customAuthHeader": "a", "customAuthValue": "hunter4"}, {"source.unsafeSsl": "true"},
	} {
		first, second := query(t, table, "prometheus", promql(change)), query(t, table, "prometheus", promql(change))
		if first != second {
			t.Errorf("%v: the same metadata gives two queries", change)
		}
		if other, ok := seen[first.Server()]; ok {
			t.Errorf("%v and %s share the server %s", change, other, first.Server())
		}
		seen[first.Server()] = fmt.Sprint(change)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			for _, printed := range []any{first, []scaling.Query{first}, first.Server()} {
				if text := fmt.Sprintf(verb, printed); strings.Contains(text, "hunter") || strings.Contains(text, fmt.Sprintf("%x", "hunter")) {
					t.Errorf("a secret shows: %s", text)
				}
			}
		}
	}
	q := query(t, table, "prometheus", promql(nil))
	if n := testing.AllocsPerRun(10, func() { _, _ = q.String(), q.Server() }); n != 0 {
		t.Errorf("%v allocations to say the query's name", n)
	}
}
