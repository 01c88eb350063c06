package delegate

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func written(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "delegates.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestPlan(t *testing.T) {
	file := written(t, `
delegates:
- name: keda
  url: https://keda-operator-metrics-apiserver.keda:443/
  caFile: /keda/ca.crt
  serverName: keda
  tokenFile: /keda/token
  groupVersion: metrics.example.com/v1
  timeout: 500ms
  maxConcurrent: 4
  match:
    metrics: ["s?-*", other]
    namespaces: [shop]
    labels: [scaledobject.keda.sh/name]
- {name: cloud, url: "https://cloud", certFile: c, keyFile: k, insecureSkipVerify: true, timeout: 1.5}
`)
	p, err := NewPlan([]string{"prom=https://prometheus-adapter.monitoring"}, file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Config{
		{Name: "prom", URL: "https://prometheus-adapter.monitoring", GroupVersion: "external.metrics.k8s.io/v1beta1", Timeout: time.Second, MaxConcurrent: 16},
		{
			Name: "keda", URL: "https://keda-operator-metrics-apiserver.keda:443", CAFile: "/keda/ca.crt", ServerName: "keda", TokenFile: "/keda/token",
			GroupVersion: "metrics.example.com/v1", Timeout: 500 * time.Millisecond, MaxConcurrent: 4,
			Match: Match{Metrics: []string{"s?-*", "other"}, Namespaces: []string{"shop"}, Labels: []string{"scaledobject.keda.sh/name"}},
		},
		{
			Name: "cloud", URL: "https://cloud", CertFile: "c", KeyFile: "k", InsecureSkipVerify: true,
			GroupVersion: "external.metrics.k8s.io/v1beta1", Timeout: 1500 * time.Millisecond, MaxConcurrent: 16,
		},
	}
	if !reflect.DeepEqual(p.delegates, want) {
		t.Errorf("got  %+v\nwant %+v", p.delegates, want)
	}
}

func TestNoDelegates(t *testing.T) {
	p, err := NewPlan(nil, "")
	if p != nil || err != nil {
		t.Errorf("got %v, %v; want nil", p, err)
	}
	set, err := p.Connect(nil)
	if err != nil || len(set.Names()) != 0 {
		t.Errorf("got %v, %v; want an empty set", set, err)
	}
}

// A user mends all of it at once.
func TestEveryProblemIsNamed(t *testing.T) {
	file := written(t, `
delegates:
- name: No_Name
  url: http://keda
  timeout: 5m
  maxConcurrent: 0
  caFile: 7
  insecureSkipVerify: "yes"
  groupVersion: v1beta1
  certFile: c
  ulr: x
  match: {metrics: ["["], namespaces: shop, labels: ["a b"], metric: x}
- url: https://user:secret@keda
  name: keda
  timeout: 0.001
- {name: keda, url: "https://b", caFile: ca, insecureSkipVerify: true, match: 5}
- keda
more: 1
`)
	_, err := NewPlan([]string{"keda", "keda=https://a?b=c", "https://user:secret@a"}, file)
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.ReplaceAll(err.Error(), file, "FILE")
	want := strings.TrimSpace(`
--delegate is "keda"; it must be NAME=URL, such as keda=https://keda-operator-metrics-apiserver.keda
--delegate "keda": url is "https://a?***"; it must be https://HOST[:PORT][/PATH] with a port from 1 to 65535, without @, ? and #
--delegate is "***"; it must be NAME=URL, such as keda=https://keda-operator-metrics-apiserver.keda
--delegates-file FILE: delegates[0].name is "No_Name"; it must be at most 63 of a-z, 0-9 and -, the first and the last a letter or digit
--delegates-file FILE: delegates[0].url is "http://keda"; it must be https://HOST[:PORT][/PATH] with a port from 1 to 65535, without @, ? and #
--delegates-file FILE: delegates[0].caFile is 7; it must be the path of a file
--delegates-file FILE: delegates[0].insecureSkipVerify is "yes"; it must be true or false
--delegates-file FILE: delegates[0].groupVersion is "v1beta1"; it must be GROUP/VERSION, such as external.metrics.k8s.io/v1beta1
--delegates-file FILE: delegates[0].timeout is "5m"; it must be seconds, or a duration such as 500ms, from 10ms to 2s
--delegates-file FILE: delegates[0].maxConcurrent is 0; it must be a whole number from 1 to 1000
--delegates-file FILE: delegates[0].match.metrics is ["["]; it must be a list of patterns of names, such as s0-redis-*
--delegates-file FILE: delegates[0].match.namespaces is "shop"; it must be a list of patterns of names, such as s0-redis-*
--delegates-file FILE: delegates[0].match.labels is ["a b"]; it must be a list of keys of labels, such as scaledobject.keda.sh/name
--delegates-file FILE: delegates[0].match.metric is an unknown key; it must be one of metrics, namespaces, labels
--delegates-file FILE: delegates[0].certFile is "c" and keyFile is ""; both must be set, or neither
--delegates-file FILE: delegates[0].ulr is an unknown key; it must be one of name, url, caFile, serverName, insecureSkipVerify, tokenFile, certFile, keyFile, groupVersion, timeout, maxConcurrent, match
--delegates-file FILE: delegates[1].url is "***"; it must be https://HOST[:PORT][/PATH] with a port from 1 to 65535, without @, ? and #
--delegates-file FILE: delegates[1].timeout is 0.001; it must be seconds, or a duration such as 500ms, from 10ms to 2s
--delegates-file FILE: delegates[1].name is "keda", as of a delegate before it; each must have its own
--delegates-file FILE: delegates[2].match is 5; it must be a mapping of metrics, namespaces, labels
--delegates-file FILE: delegates[2].insecureSkipVerify is true and caFile is "ca"; only one of them can hold
--delegates-file FILE: delegates[2].insecureSkipVerify is true, and there is neither tokenFile nor certFile; the cluster's own credentials go to no server that nobody has verified
--delegates-file FILE: delegates[2].name is "keda", as of a delegate before it; each must have its own
--delegates-file FILE: delegates[3] is "keda"; it must be a mapping with name and url
--delegates-file FILE: more is an unknown key; it must be one of delegates
`)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever a URL has that may be a secret is in no problem.
func TestNoSecretOfAURLShows(t *testing.T) {
	for flag, want := range map[string]string{
		"keda=https://me:hun/ter2@keda":       `--delegate "keda": url is "***"; it must be https`,
		"keda=https://me:1/hunter2@keda":      `--delegate "keda": url is "***"; it must be https`,
		"keda=https://me:hun?ter2@keda":       `--delegate "keda": url is "***"; it must be https`,
		"keda=me:hunter2@keda":                `--delegate "keda": url is "***"; it must be https`,
		"keda=https://keda/?token=hunter2":    `--delegate "keda": url is "https://keda/?***"; it must be https`,
		"keda=https://keda/#hunter2":          `--delegate "keda": url is "https://keda/#***"; it must be https`,
		"keda=https://keda?x=hunter2@y":       `--delegate "keda": url is "***"; it must be https`,
		"https://me:hunter2=x@keda":           `--delegate is "***"; it must be NAME=URL`,
		"https://keda/?token=hunter2":         `--delegate is "https://keda/?***"; it must be NAME=URL`,
		"Keda=https://keda":                   `--delegate is "Keda=https://keda"; it must be NAME=URL`,
		"keda=https://keda:99999":             `--delegate "keda": url is "https://keda:99999"; it must be https`,
		"keda=https://keda:0":                 `--delegate "keda": url is "https://keda:0"; it must be https`,
		"keda=https://keda:":                  `--delegate "keda": url is "https://keda:"; it must be https`,
		"keda=https://keda?":                  `--delegate "keda": url is "https://keda?***"; it must be https`,
		"keda=https://[::1]:443/a,b=hunter2@": `--delegate "keda": url is "***"; it must be https`,
	} {
		if _, err := NewPlan([]string{flag}, ""); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: got %v, want %s", flag, err, want)
		}
	}
	_, err := NewPlan(nil, written(t, `delegates: {url: "https://me:hunter2@keda"}`))
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "delegates is ***; it must be a list") {
		t.Errorf("in a file: got %v", err)
	}
	if _, err := NewPlan([]string{"keda=https://[::1]:65535/a"}, ""); err != nil {
		t.Error(err)
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "is null; it must be a mapping with the key delegates",
		"[]":                           "is []; it must be a mapping with the key delegates",
		"delegates:":                   "delegates is null; it must be a list of mappings, each with name and url",
		"{}":                           "delegates is missing; it must be a list of mappings, each with name and url",
		"delegates: [{}]":              "delegates[0].url is missing; it must be https",
		"delegates: []\ndelegates: []": `key "delegates" already set in map`,
		"a: [":                         "yaml: ",
	} {
		if _, err := NewPlan(nil, written(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := NewPlan(nil, "/no/such/file"); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("no file: got %v", err)
	}
}

func TestFilesOfCredentialsMustBeThere(t *testing.T) {
	p, err := NewPlan(nil, written(t, `
delegates:
- {name: a, url: "https://a", caFile: /no/ca}
- {name: b, url: "https://b", tokenFile: /no/token}
- {name: c, url: "https://c"}
- {name: d, url: "https://d", certFile: /no/cert, keyFile: /no/key}
`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.Connect(nil)
	if err == nil || set != nil {
		t.Fatalf("got %v, %v; want an error", set, err)
	}
	for _, want := range []string{"delegate a at https://a: ", "/no/ca", "delegate b at https://b: ", "/no/token", "delegate d at https://d: ", "/no/cert"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "delegate c") {
		t.Errorf("there is nothing wrong with c: %v", err)
	}
}

// FuzzConfig: whatever a file has in it, the plan is valid or the error names the file.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"delegates: [{name: a, url: 'https://a', match: {metrics: ['s?-*'], labels: [a/b], namespaces: [x]}, timeout: 1, maxConcurrent: 3}]",
		"delegates: [{name: a, url: 'https://a:99999/x', timeout: 1e300}, 5, null, {name: [], url: {}}]",
		"delegates: [{name: a, url: https://é, groupVersion: a/b/c, timeout: .nan, maxConcurrent: -1.5}]",
		"&a [*a]", "{", "a: b: c", "delegates: 5", "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Plan
		var problems []error
		p.addFile("FILE: ", data, &problems)
		for _, problem := range problems {
			if text := problem.Error(); !strings.HasPrefix(text, "FILE: ") || strings.Contains(text, "\n") {
				t.Errorf("%q: not one line about the file: %q", data, text)
			}
		}
		if len(problems) > 0 {
			return
		}
		if len(p.delegates) == 0 {
			t.Errorf("%q: neither a delegate nor a problem", data)
		}
		names := map[string]bool{}
		for _, c := range p.delegates {
			if c.Name == "" || names[c.Name] || !isBase(c.URL) || !isGroupVersion(c.GroupVersion) ||
				c.Timeout < leastTimeout || c.Timeout > mostTimeout || c.MaxConcurrent < 1 || c.MaxConcurrent > mostAtATime {
				t.Errorf("%q: got %+v", data, c)
			}
			names[c.Name] = true
			c.CAFile, c.TokenFile, c.CertFile, c.KeyFile = "", "", "", ""
			if _, err := connect(c, nil); err != nil {
				t.Errorf("%q: %v", data, err)
			}
		}
	})
}
