package process

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func none(string) string { return "" }

func TestDelegateFlags(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // this test is in no pod
	file := filepath.Join(t.TempDir(), "delegates.yaml")
	if err := os.WriteFile(file, []byte("delegates: [{name: keda, url: 'https://keda'}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args, want []string
	}{
		"none":            {nil, []string{}},
		"flags in order":  {[]string{"--delegate=b=https://b", "--delegate=a=https://a"}, []string{"b", "a"}},
		"a file":          {[]string{"--delegates-file=" + file}, []string{"keda"}},
		"the flags first": {[]string{"--delegates-file=" + file, "--delegate=prom=https://prom"}, []string{"prom", "keda"}},
	} {
		var o Options
		if err := NewFlags("test", "", &o, &bytes.Buffer{}).Read(test.args, none); err != nil {
			t.Fatal(err)
		}
		set, err := o.ConnectDelegates()
		if err != nil || !slices.Equal(set.Names(), test.want) {
			t.Errorf("%s: got %v, error %v; want %v", name, set, err, test.want)
		}
	}
}

func TestDelegateFlagsThatMakeNoSense(t *testing.T) {
	var o Options
	flags := NewFlags("test", "", &o, &bytes.Buffer{})
	if err := flags.Read([]string{"--delegate=keda", "--delegate=a=http://a", "--delegates-file=/no/such"}, none); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`--delegate is "keda"; it must be NAME=URL`, `--delegate "a": url is "http://a"; it must be https://`, "--delegates-file: open /no/such",
	} {
		if err := flags.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if o.Delegates != nil {
		t.Error("there are delegates all the same")
	}
}

// A rule that is empty, as by a variable that is not set, is no rule that was meant.
func TestEmptyAddresses(t *testing.T) {
	for _, flag := range []string{"--allow-address", "--deny-address"} {
		var o Options
		flags := NewFlags("test", "", &o, &bytes.Buffer{})
		if err := flags.Read([]string{flag + "="}, none); err != nil {
			t.Fatal(err)
		}
		if err := flags.Err(); err == nil || !strings.Contains(err.Error(), flag+" is empty") {
			t.Errorf("%s=: %v", flag, err)
		}
	}
}

// Delegates get the cluster's credentials; what is wrong with those is not passed over.
func TestDelegatesAndTheKubeconfig(t *testing.T) {
	o := Options{Kubeconfig: "/no/such/kubeconfig"}
	if _, err := o.ConnectDelegates(); err != nil {
		t.Errorf("without delegates nobody needs credentials: %v", err)
	}
	flags := NewFlags("test", "", &o, &bytes.Buffer{})
	if err := flags.Read([]string{"--delegate=a=https://a", "--kubeconfig=/no/such/kubeconfig"}, none); err != nil {
		t.Fatal(err)
	}
	if _, err := o.ConnectDelegates(); err == nil || !strings.Contains(err.Error(), "/no/such/kubeconfig") {
		t.Errorf("got %v", err)
	}
}

func TestTLSFlags(t *testing.T) {
	certificate := []string{"--tls-cert=c", "--tls-key=k"}
	for _, test := range []struct {
		args []string
		want TLSOptions
		err  string
	}{
		{nil, TLSOptions{MinVersion: tls.VersionTLS13}, ""},
		{append(certificate, "--http-tls"), TLSOptions{Cert: "c", Key: "k", MinVersion: tls.VersionTLS13, HTTP: true}, ""},
		{append(certificate, "--tls-min-version=1.2"), TLSOptions{Cert: "c", Key: "k", MinVersion: tls.VersionTLS12}, ""},
		{[]string{"--tls-min-version=1.1"}, TLSOptions{}, `--tls-min-version is "1.1"; it must be 1.3 or 1.2`},
		{[]string{"--tls-min-version="}, TLSOptions{}, `--tls-min-version is ""; it must be 1.3 or 1.2`},
		{[]string{"--http-tls"}, TLSOptions{MinVersion: tls.VersionTLS13, HTTP: true}, "--http-tls is set without --tls-cert"},
	} {
		var o Options
		flags := NewFlags("test", "", &o, &bytes.Buffer{})
		if err := flags.Read(test.args, none); err != nil {
			t.Fatal(err)
		}
		err := flags.Err()
		if o.TLS != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %+v, error %v; want %+v and %q", test.args, o.TLS, err, test.want, test.err)
		}
	}
}
