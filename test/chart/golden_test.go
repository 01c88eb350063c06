package chart

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files and the README's table")

// TestGolden: what is installed for each value set is what a person has looked at.
func TestGolden(t *testing.T) {
	for _, set := range sets() {
		t.Run(set, func(t *testing.T) {
			r := renderSet(t, set)
			got := strings.TrimSpace(masked(t, r.Manifest)) + "\n---\n# NOTES\n" + commented(r.Info.Notes)
			path := filepath.Join("testdata", "golden", set+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, path); got != want {
				t.Errorf("%s: run go test . -run TestGolden -update, and look at git diff\n%s", path, firstDifference(got, want))
			}
		})
	}
}

// masked takes out of a manifest what nobody would read: the dashboard, which is a file of
// its own, and the certificate that Helm makes anew each time, after a look at it.
func masked(t *testing.T, manifest string) string {
	t.Helper()
	dashboard := read(t, filepath.Join(chartDir, "dashboards", "dashpot.json"))
	manifest = strings.ReplaceAll(manifest, indented(dashboard, "    "), "    (dashboards/dashpot.json)")
	for _, o := range objects(t, manifest) {
		if o.GetKind() != "Secret" {
			continue
		}
		data, _ := o.Object["data"].(map[string]any)
		checkCertificate(t, decoded(t, data["ca.crt"]), decoded(t, data["tls.crt"]), "dashpot-adapter.dashpot.svc")
		for _, entry := range []string{"ca.crt", "tls.crt", "tls.key"} {
			manifest = strings.ReplaceAll(manifest, data[entry].(string), "(made by Helm: "+entry+")")
		}
	}
	return manifest
}

// checkCertificate wants that the API server would accept a certificate for years.
func checkCertificate(t *testing.T, authority, certificate []byte, name string) {
	t.Helper()
	roots := x509.NewCertPool()
	block, _ := pem.Decode(certificate)
	if !roots.AppendCertsFromPEM(authority) || block == nil {
		t.Fatalf("no certificates in\n%s\n%s", authority, certificate)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: time.Now().AddDate(9, 0, 0)})
	if err != nil {
		t.Errorf("the API server would refuse the certificate: %v", err)
	}
}

func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

func decoded(t *testing.T, value any) []byte {
	t.Helper()
	text, _ := value.(string)
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(content) == 0 {
		t.Fatalf("%q is no base64 of anything: %v", text, err)
	}
	return content
}

// commented makes a text a comment, so that a golden file stays YAML.
func commented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimSpace("# "+strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

// firstDifference shows where two texts part, with the line before.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return strings.Join(a[max(0, i-1):i], "\n") + "\ngot  " + a[i] + "\nwant " + b[i]
		}
	}
	return "one is longer than the other"
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
