package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
)

func environment(values map[string]string) func(string) string {
	return func(key string) string { return values[key] }
}

func TestParseDefaults(t *testing.T) {
	got, err := parse(nil, environment(nil), &bytes.Buffer{})
	want := options{
		Options:     process.Options{HTTPAddress: ":8080", LogLevel: slog.LevelInfo, LogFormat: "text", Decisions: httpapi.Local, TLS: process.TLSOptions{MinVersion: tls.VersionTLS13}, MaxPolicies: 200_000, ForgetAfter: time.Hour},
		grpcAddress: ":9090", observe: observeAuto, maxStreams: 50_000,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, error %v; want %+v", got, err, want)
	}
}

func TestParseTakesTheEnvironmentWhereNoFlagIs(t *testing.T) {
	env := environment(map[string]string{"DASHPOT_REDIS_URL": "redis://env:6379", "KUBECONFIG": "/env"})
	for _, test := range []struct {
		name             string
		args             []string
		redis, kubernete string
	}{
		{"no flags", nil, "redis://env:6379", "/env"},
		{"flags", []string{"--redis-url=redis://flag:6379", "--kubeconfig=/flag"}, "redis://flag:6379", "/flag"},
		{"memory in spite of the environment", []string{"--redis-url="}, "", "/env"},
	} {
		o, err := parse(test.args, env, &bytes.Buffer{})
		if err != nil || o.RedisURL != test.redis || o.Kubeconfig != test.kubernete {
			t.Errorf("%s: redis %q, kubeconfig %q, error %v", test.name, o.RedisURL, o.Kubeconfig, err)
		}
	}
}

func TestParseNamesEveryProblem(t *testing.T) {
	args := []string{
		"--grpc-address=9090", "--http-address=:70000", "--observe=maybe", "--tls-key=k", "--tls-client-ca=ca",
		"--max-policies=0", "--max-per-namespace=-1", "--decisions=some", "--allow-address=10.0.0.0/8,10.*", "--deny-address=10.1.2.3/8", "--max-streams=-1", "--forget-after=9m59s", "--log-level=loud", "--log-format=xml", "--redis-url=http://secret@redis", "extra",
	}
	_, err := parse(args, environment(nil), &bytes.Buffer{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--grpc-address is "9090"; it must be HOST:PORT`, `--http-address is ":70000"; it must be HOST:PORT`,
		`--observe is "maybe"; it must be auto, on, off`, `--tls-cert is "" and --tls-key is "k"; both must be set`,
		`--max-policies is 0; it must be from 1 to 2147483647`, `--max-streams is -1; it must be from 1`,
		`--max-per-namespace is -1; it must be from 1`, `--decisions is "some"; it must be local, all, off`,
		`--allow-address is "10.*"; it must be a network`, `--deny-address is "10.1.2.3/8"; it must be a network`,
		`--forget-after is 9m59s; it must be from 10m to 24h`,
		`--tls-client-ca is "ca" without --tls-cert`, `--log-level is "loud"; it must be debug, info, warn or error`,
		`--log-format is "xml"; it must be text or json`, `--redis-url: `, `argument "extra" is not a flag`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 16 {
		t.Errorf("%d lines; want one for each of 16 problems:\n%v", lines, err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is told: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--unknown"}, {"--grpc-address=:1", "--http-address=:1"}, {"--grpc-address="}, {"--tls-cert=c"}, {"--redis-url=redis"},
	} {
		if _, err := parse(args, environment(nil), &bytes.Buffer{}); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestHelpDoesNotTellThePassword(t *testing.T) {
	var out bytes.Buffer
	_, err := parse([]string{"--help"}, environment(map[string]string{"DASHPOT_REDIS_URL": "redis://:secret@redis"}), &out)
	if !errors.Is(err, pflag.ErrHelp) || !strings.Contains(out.String(), "--grpc-address") || strings.Contains(out.String(), "secret") {
		t.Errorf("error %v, help:\n%s", err, out.String())
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, 0, "--redis-url", ""},
		{[]string{"--version"}, 0, "", ""},
		{[]string{"--observe=maybe"}, 2, "", "--observe"},
		{[]string{"--observe=off", "--tls-cert=/nowhere", "--tls-key=/nowhere"}, 1, "", "scaler failed"},
	} {
		var stdout, stderr bytes.Buffer
		code := program().Start(test.args, environment(nil), &stdout, &stderr)
		if code != test.code || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%v: exit code %d, %q, %q; want %d, %q, %q", test.args, code, stdout.String(), stderr.String(), test.code, test.stdout, test.stderr)
		}
	}
}

// kubeconfig writes a file that names a server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	content := `{apiVersion: v1, kind: Config, current-context: c,
		clusters: [{name: k, cluster: {server: "` + server + `"}}],
		contexts: [{name: c, context: {cluster: k, user: u}}], users: [{name: u}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestObserve(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // this test is in no pod
	file := kubeconfig(t, "http://127.0.0.1:1")
	for _, test := range []struct {
		mode, kubeconfig string
		observes, fails  bool
	}{
		{observeAuto, "", false, false},
		{observeAuto, file, true, false},
		{observeAuto, "/nowhere", false, true}, // credentials that are named must be there
		{observeOn, "", false, true},
		{observeOn, file, true, false},
		{observeOff, file, false, false},
	} {
		view, err := observe(options{Options: process.Options{Kubeconfig: test.kubeconfig}, observe: test.mode}, slog.New(slog.DiscardHandler))
		if (err != nil) != test.fails || (view.observer != nil) != test.observes {
			t.Errorf("--observe=%s with kubeconfig %q: observes %v, error %v", test.mode, test.kubeconfig, view.observer != nil, err)
		}
	}
	if _, err := observe(options{observe: observeOn}, slog.New(slog.DiscardHandler)); !errors.Is(err, rest.ErrNotInCluster) {
		t.Errorf("error %v; want the reason", err)
	}
}
