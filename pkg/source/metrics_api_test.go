package source

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// api is a good trigger with changes; a value of "-" removes a key.
func api(changes values) values {
	m := values{"url": "http://shop:8080/stats", "valueLocation": "tasks", "targetValue": "5"}
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_, v string) bool { return v == "-" })
	return m
}

// readAPI is the outcome of a trigger at a server that answers so.
func readAPI(t *testing.T, answer http.HandlerFunc, changes values) scaling.Outcome {
	t.Helper()
	table := newTable(t)
	return readOne(t, table, query(t, table, "metrics-api", api(merge(changes, values{"url": fake(t, answer) + "/stats"}))))
}

func merge(all ...values) values {
	merged := values{}
	for _, m := range all {
		maps.Copy(merged, m)
	}
	return merged
}

// TestC36Answers: numbers in texts, quantities, numbers in an answer of Prometheus, and
// an exposition where JSON was expected.
func TestC36Answers(t *testing.T) {
	vector := func(result string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + result + `]}}`
	}
	tests := []struct {
		body, location string
		milli          algorithm.Milli
		err            string
	}{
		{`{"foo":"123"}`, "foo", 123_000, ""},
		{`{"foo":"50Mi"}`, "foo", 52_428_800_000, ""},
		{vector(`{"metric":{},"value":[1,"41.5"]}`), "data.result.0.value.1", 41_500, ""},
		{vector(``), "data.result.0.value.1", 0, "no data: nothing is at valueLocation"},
		{"# HELP jobs Jobs.\njobs 5\n", "jobs", 0, "not JSON, as format says it is: up to 32 bytes of text/plain"},
		{`{"foo":650634.4566410647}`, "foo", 650_634_457, ""},
	}
	for _, tt := range tests {
		o := readAPI(t, status(http.StatusOK, tt.body), values{"valueLocation": tt.location})
		if tt.err != "" {
			if o.Err == nil || !strings.HasSuffix(o.Err.Error(), "/stats: "+tt.err) {
				t.Errorf("%s: %+v, want error %s", tt.body, o, tt.err)
			}
			continue
		}
		if milli, err := algorithm.ToMilli(o.Value); o.Err != nil || err != nil || milli != tt.milli {
			t.Errorf("%s: %+v, %v: %d, want %d", tt.body, o, err, milli, tt.milli)
		}
	}
}

// TestMetricsAPIRequests: what is sent, and what the question is called.
func TestMetricsAPIRequests(t *testing.T) {
	tests := []struct {
		name    string
		changes values
		url     string // as the server sees it
		header  string // its name and value
		query   string // behind "metrics-api tasks at http://shop:8080"
	}{
		{"plain", nil, "/stats", "", "/stats"},
		{"no path", values{"url": "http://shop:8080"}, "/", "", ""},
		{"parameters", values{"url": "http://shop:8080/a%20b?queue=jobs&x=1"}, "/a%20b?queue=jobs&x=1", "", "/a%20b?#" + fingerprint(nil, "queue=jobs&x=1")[:8]},
		{"key in a header", values{"authMode": "apiKey", "apiKey": "abc"}, "/stats", "X-Api-Key: abc", "/stats"},
		{"named", values{"authModes": "apiKey", "apiKeyFromEnv": "abc", "method": "header", "keyParamName": "x-key"}, "/stats", "X-Key: abc", "/stats"},
		{"key as a parameter", values{"authMode": "apiKey", "apiKey": "a&b", "method": "query"}, "/stats?api_key=a%26b", "", "/stats"},
		{
			"beside another", values{"url": "http://shop:8080/stats?queue=jobs&k=v", "authMode": "apiKey", "apiKey": "abc", "method": "query", "keyParamName": "k"},
			"/stats?k=abc&queue=jobs", "", "/stats?#" + fingerprint(nil, "queue=jobs&k=v")[:8],
		},
		{"basic", values{"authMode": "basic", "username": "me", "password": "secret"}, "/stats", "Authorization: Basic bWU6c2VjcmV0", "/stats"},
		{"in the URL", values{"url": "http://me:secret@shop:8080/stats"}, "/stats", "Authorization: Basic bWU6c2VjcmV0", "/stats"},
		{"bearer", values{"authMode": "bearer", "token": "abc\n"}, "/stats", "Authorization: Bearer abc", "/stats"},
		{"key and bearer", values{"authModes": "apiKey, bearer", "apiKey": "k", "bearerToken": "abc"}, "/stats", "Authorization: Bearer abc, X-Api-Key: k", "/stats"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := query(t, newTable(t), "metrics-api", api(tt.changes)).(apiQuery)
			if want := "metrics-api tasks at http://shop:8080" + tt.query; q.String() != want {
				t.Errorf("name\n%s\nwant\n%s", q, want)
			}
			if strings.Contains(q.Server(), "secret") || strings.Contains(q.Server(), "queue=") {
				t.Errorf("the server's name %s has a secret", q.Server())
			}
			at, path, _ := q.request()
			if header := strings.ReplaceAll(at.Value().headers, "\n", ", "); path != tt.url || header != tt.header || at.Value().base != "http://shop:8080" {
				t.Errorf("%s%s with %q, want %s with %q", at.Value().base, path, header, tt.url, tt.header)
			}
		})
	}
}

func TestMetricsAPIProblems(t *testing.T) {
	const modes = "must be one or more of apiKey, basic, bearer, tls, separated by commas, but not bearer and basic together"
	const legalURL = "must be a URL such as http://shop:8080/stats?queue=jobs"
	const number = "must be a number from 0.001 to 1000000000"
	const location = "must be a path of GJSON such as queues.0.length for json, a path such as queues.0.length for yaml and xml, " +
		"or a selector such as jobs{queue=\"a\"} for prometheus"
	const aSelector = ` (a selector has a metric's name and labels with =, as in jobs{queue="a"})`
	const oneNumber = " (one that begins with [ or {, be it after a . or |, makes a new document of several values)"
	tests := []struct {
		changes           values
		problem, warnings string
	}{
		{values{}, "", ""},
		{values{"url": "-"}, "url is missing: " + legalURL, ""},
		{values{"url": "shop:8080"}, `url "shop:8080": ` + legalURL, ""},
		{values{"url": "ftp://shop"}, `url "ftp://shop": ` + legalURL, ""},
		{values{"url": "http://shop:99999?key=abc"}, "url: " + legalURL, ""},
		{values{"valueLocation": "-"}, "valueLocation is missing: " + location, ""},
		{values{"valueLocation": "n|[@this,@this]|#"}, `valueLocation "n|[@this,@this]|#": ` + location + oneNumber, ""},
		{values{"valueLocation": "{a,b}.a"}, `valueLocation "{a,b}.a": ` + location + oneNumber, ""},
		{values{"valueLocation": "@ugly|@ugly|@ugly|@ugly|n"}, `valueLocation "@ugly|@ugly|@ugly|@ugly|n": ` + location + " (it has 4 modifiers, which begin with @; at most 3 are allowed)", ""},
		{values{"valueLocation": `jobs{queue!="a"}`, "format": "prometheus"}, `valueLocation "jobs{queue!=\"a\"}": ` + location + aSelector, ""},
		{values{"format": "toml"}, `format "toml": must be one of json, xml, yaml, prometheus`, ""},
		{values{"targetValue": "0"}, `targetValue "0": ` + number, ""},
		{values{"targetValue": "-"}, "targetValue is missing: " + number, ""},
		{values{"targetValue": "384M"}, `targetValue "384M": ` + number + " (not a quantity; write 384000000)", ""},
		{values{"activationTargetValue": "-1"}, `activationTargetValue "-1": must be a number of at least 0`, ""},
		{
			values{"aggregateFromKubeServiceEndpoints": "true"},
			`aggregateFromKubeServiceEndpoints "true": must be false (Dashpot does not ask the endpoints of a Service one by one; ` +
				"let Prometheus collect them and take the trigger prometheus)", "",
		},
		{values{"aggregateFromKubeServiceEndpoints": "false"}, "", ""},
		{values{"aggregationType": "sum"}, "", "aggregationType: not used: aggregateFromKubeServiceEndpoints is not true"},
		{values{"authMode": "custom"}, `authMode "custom": ` + modes, ""},
		{values{"authModes": "bearer,basic"}, `authModes "bearer,basic": ` + modes, ""},
		{values{"authModes": "apiKey"}, "apiKey is missing: must be a text that is not empty (authModes names apiKey)", ""},
		{values{"authModes": "apiKey", "apiKey": "a\nb"}, "apiKey: must be a text without line breaks", ""},
		{values{"authModes": "apiKey", "apiKey": "a\nb", "method": "query"}, "", ""},
		{values{"authModes": "apiKey", "apiKey": "a", "keyParamName": "a b"}, `keyParamName "a b": must be the name of a header or parameter`, ""},
		{values{"authModes": "apiKey", "apiKey": "a", "method": "body"}, `method "body": must be one of header, query`, ""},
		{values{"authModes": "basic"}, "username is missing: must be a text that is not empty (authModes names basic)", ""},
		{values{"authModes": "tls"}, "cert is missing: must be a certificate in PEM that key fits (authModes names tls); key is missing: must be a private key in PEM (authModes names tls)", ""},
		{values{"apiKey": "abc"}, "", "apiKey: not used: authModes does not name apiKey"},
		{values{"timeout": "5s"}, "", "timeout: 5s is longer than any read may take; 3s is what counts"},
		{values{"unsafeSsl": "true", "url": "https://shop"}, "", "unsafeSsl: is about the connection from KEDA to Dashpot; for the one to the source set source.unsafeSsl"},
	}
	for _, tt := range tests {
		_, _, m := parse(newTable(t), "metrics-api", api(tt.changes))
		problem := ""
		if err := m.Err(); err != nil {
			problem = err.Error()
		}
		if problem != tt.problem || strings.Join(m.Warnings(), "; ") != tt.warnings {
			t.Errorf("%v:\n%s\n%q\nwant\n%s\n%q", tt.changes, problem, m.Warnings(), tt.problem, tt.warnings)
		}
	}
}

func TestMetricsAPIDefaults(t *testing.T) {
	table := newTable(t)
	trigger, name, m := parse(table, "metrics-api", api(values{"valueLocation": "a.0.b"}))
	_, _, interval := table.Parse("metrics-api", m)
	if m.Err() != nil || name != "metric-api-a.0.b" || interval != 15*time.Second || trigger.Target != 5000 || trigger.Activation != 0 || !trigger.Costly {
		t.Errorf("got %v, name %s, interval %v, %+v", m.Err(), name, interval, trigger)
	}
}

// TestMetricsAPITellsApart: what asks for something else, or by other credentials, is
// another server and another query; what asks the same is equal.
func TestMetricsAPITellsApart(t *testing.T) {
	table := newTable(t)
	seen, equal := map[string]int{}, query(t, table, "metrics-api", api(nil))
	if query(t, table, "metrics-api", api(nil)) != equal {
		t.Error("two that ask the same are not equal")
	}
	for i, changes := range []values{
		nil, {"valueLocation": "others"}, {"url": "http://shop:8080/other"}, {"url": "http://shop:8080/stats?x=1"}, {"url": "http://shop:8080/stats?x=2"},
		{"format": "yaml"}, {"authMode": "apiKey", "apiKey": "a"}, {"authMode": "apiKey", "apiKey": "b"}, {"authMode": "apiKey", "apiKey": "a", "method": "query"},
		{"authMode": "bearer", "token": "a"}, {"source.unsafeSsl": "true"}, {"url": "http://me:you@shop:8080/stats"},
	} {
		server := query(t, table, "metrics-api", api(changes)).Server()
		if before, ok := seen[server]; ok {
			t.Errorf("%d and %d are one server: %s", before, i, server)
		}
		seen[server] = i
	}
}

// TestMetricsAPIRefusals: only a status of 200 has a number.
func TestMetricsAPIRefusals(t *testing.T) {
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		changes values
		want    string
	}{
		{"a fault", status(http.StatusServiceUnavailable, `{"tasks":5}`), nil, "503 Service Unavailable"},
		{"accepted", status(http.StatusAccepted, `{"tasks":5}`), nil, "202 Accepted"},
		{
			"elsewhere", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
			}, nil,
			"302 Found: redirected to another host, which is not followed",
		},
		{"too long", status(http.StatusOK, `{"tasks":5}`+strings.Repeat(" ", maxAnswer)), nil, "the answer is longer than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := readAPI(t, tt.answer, tt.changes)
			if o.Err == nil || !strings.HasSuffix(o.Err.Error(), "/stats: "+tt.want) {
				t.Errorf("got %+v, want error %s", o, tt.want)
			}
		})
	}
}
