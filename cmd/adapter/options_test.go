package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
)

func environment(values map[string]string) func(string) string {
	return func(key string) string { return values[key] }
}

func TestParseDefaults(t *testing.T) {
	got, err := parse(nil, environment(map[string]string{"POD_NAMESPACE": "dashpot"}), &bytes.Buffer{})
	want := options{
		Options:      process.Options{HTTPAddress: ":8080", LogLevel: slog.LevelInfo, LogFormat: "text", Decisions: httpapi.Local, TLS: process.TLSOptions{MinVersion: tls.VersionTLS13}, MaxPolicies: 200_000, ForgetAfter: time.Hour},
		httpsAddress: ":6443", apiGroup: "external.metrics.k8s.io", namespace: "dashpot", leaseName: "dashpot-adapter",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, error %v; want %+v", got, err, want)
	}
}

func TestNamespace(t *testing.T) {
	for _, tt := range []struct {
		pod  string
		args []string
		want string
	}{
		{"", nil, "default"}, // this test is in no pod
		{"dashpot", nil, "dashpot"},
		{"dashpot", []string{"--namespace=metrics"}, "metrics"},
	} {
		o, err := parse(tt.args, environment(map[string]string{"POD_NAMESPACE": tt.pod}), &bytes.Buffer{})
		if err != nil || o.namespace != tt.want {
			t.Errorf("pod in %q, %v: namespace %q, error %v; want %q", tt.pod, tt.args, o.namespace, err, tt.want)
		}
	}
}

func TestParseNamesEveryProblem(t *testing.T) {
	args := []string{
		"--https-address=6443", "--http-address=:70000", "--api-group=metrics", "--namespace=No_Name", "--lease-name=-", "--tls-key=k",
		"--log-level=loud", "--redis-url=http://secret@redis", "--delegate=keda=http://secret@keda", "extra",
	}
	_, err := parse(args, environment(nil), &bytes.Buffer{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--https-address is "6443"; it must be HOST:PORT`, `--http-address is ":70000"`, `--api-group is "metrics"; it must be a DNS name`,
		`--namespace is "No_Name"; it must be the name of a namespace`, `--lease-name is "-"; it must be the name of a Lease`, `--tls-cert is "" and --tls-key is "k"`,
		`--log-level is "loud"`, `--redis-url: `, `--delegate "keda": url is "***"`, `argument "extra"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 10 {
		t.Errorf("%d lines; want one for each of 10 problems:\n%v", lines, err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is told: %v", err)
	}
	if _, err := parse([]string{"--https-address=:1", "--http-address=:1"}, environment(nil), &bytes.Buffer{}); err == nil {
		t.Error("two servers may listen on one address")
	}
}

func TestExitCodes(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // this test is in no pod
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, 0, "--api-group", ""},
		{[]string{"--version"}, 0, "", ""},
		{[]string{"--api-group=x"}, 2, "", "--api-group"},
		{nil, 1, "", "the adapter needs a cluster"},
		{[]string{"--delegate=keda=http://keda"}, 2, "", "--delegate"},
	} {
		var stdout, stderr bytes.Buffer
		code := program().Start(tt.args, environment(nil), &stdout, &stderr)
		if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%v: exit code %d, %q, %q; want %d, %q, %q", tt.args, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.stderr)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, environment(nil), &out); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("error %v; want that the help was asked for", err)
	}
}
