package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/internal/process/certtest"
)

// serve runs Serve with an HTTP port of any number, and returns its address and what ends
// it.
func serve(t *testing.T, o TLSOptions) (address string, end func()) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	running, ended := make(chan Base), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{HTTPAddress: "127.0.0.1:0", TLS: o}, NewLogger(&out, slog.LevelInfo, "text"), func(ctx context.Context, base Base) error {
			running <- base
			<-ctx.Done()
			return nil
		})
	}()
	select {
	case base := <-running:
		if (base.Certificates != nil) != (o.Cert != "") {
			t.Errorf("certificates %v of %+v", base.Certificates, o)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	// The line is written before run is called.
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(out.String())
	return address, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v; want nil", err)
		}
	}
}

// fetch asks for a URL as a client with a configuration of TLS.
func fetch(t *testing.T, url string, config *tls.Config) (string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// With --http-tls the HTTP port has the certificate of the moment, and asks for none of a
// client's, whatever gRPC does: a kubelet has none and checks none.
func TestHTTPWithTLS(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	files := newFiles(t, authority.Issue(t, "scaler"))
	files.ClientCA, files.HTTP = files.Cert+".ca", true
	certtest.Write(t, files.ClientCA, authority.PEM)
	address, end := serve(t, files)
	defer end()
	for who, config := range map[string]*tls.Config{"one who checks": authority.Client(t), "a kubelet": {InsecureSkipVerify: true}} {
		if body, err := fetch(t, "https://"+address+"/healthz", config); body != "ok\n" || err != nil {
			t.Errorf("%s gets %q, error %v", who, body, err)
		}
	}
	if _, err := fetch(t, "https://"+address+"/healthz", certtest.NewAuthority(t, "other").Client(t)); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("one who knows another authority: error %v", err)
	}
	if body, _ := fetch(t, "http://"+address+"/healthz", nil); !strings.Contains(body, "HTTP request to an HTTPS server") {
		t.Errorf("one without TLS gets %q", body)
	}
}

// The certificate alone is for gRPC: who scraped without TLS before does so still.
func TestHTTPWithoutTLS(t *testing.T) {
	files := newFiles(t, certtest.NewAuthority(t, "authority").Issue(t, "scaler"))
	for name, o := range map[string]TLSOptions{"no certificate": {}, "a certificate for gRPC": files} {
		address, end := serve(t, o)
		if body, err := fetch(t, "http://"+address+"/healthz", nil); body != "ok\n" || err != nil {
			t.Errorf("%s: got %q, error %v", name, body, err)
		}
		end()
	}
}

func TestServeFailsForAnUnusableCertificate(t *testing.T) {
	o := Options{HTTPAddress: "127.0.0.1:0", TLS: TLSOptions{Cert: "/nowhere/tls.crt"}}
	if err := Serve(t.Context(), o, slog.New(slog.DiscardHandler), nil); err == nil || !strings.Contains(err.Error(), "/nowhere/tls.crt") {
		t.Errorf("error %v; want the file", err)
	}
}
