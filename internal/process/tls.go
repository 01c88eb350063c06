package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// reloadPeriod is how often the files are looked at. Kubernetes needs up to a
// minute to bring a changed Secret into a pod, so nobody waits for these seconds.
const reloadPeriod = 5 * time.Second

// TLSOptions say how a program serves with TLS. Cert, Key and ClientCA are the paths of
// PEM files.
type TLSOptions struct {
	// Cert and Key are both empty for no TLS.
	Cert, Key string
	// ClientCA makes the gRPC port ask for a client certificate that one of these
	// authorities signed; empty asks for none.
	ClientCA string
	// MinVersion is tls.VersionTLS13 or tls.VersionTLS12; 0 is the former.
	MinVersion uint16
	// HTTP serves the HTTP port with the certificate too. It asks nobody for a client
	// certificate, because kubelets, which probe it, have none.
	HTTP bool
}

// tlsVersions are the values of --tls-min-version, the default first. Older versions
// are broken.
var tlsVersions = []string{"1.3", "1.2"}

// parseTLSVersion reads one of tlsVersions.
func parseTLSVersion(text string) (version uint16, known bool) {
	switch text {
	case "1.3":
		return tls.VersionTLS13, true
	case "1.2":
		return tls.VersionTLS12, true
	default:
		return 0, false
	}
}

// Certificates are the server's certificates as its files hold them now. A change
// is for new connections; those that are open go on.
type Certificates struct {
	options TLSOptions
	current atomic.Pointer[loaded]
}

// loaded is what the files held when they were read last.
type loaded struct {
	content    [][]byte
	grpc, http *tls.Config
}

// LoadCertificates reads the files.
func LoadCertificates(o TLSOptions) (*Certificates, error) {
	if o.MinVersion == 0 {
		o.MinVersion = tls.VersionTLS13
	}
	c := &Certificates{options: o}
	if _, err := c.reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is the configuration for a server of gRPC.
func (c *Certificates) Config() *tls.Config {
	return c.choose(func(now *loaded) *tls.Config { return now.grpc })
}

// HTTPConfig is the configuration for a server of HTTP.
func (c *Certificates) HTTPConfig() *tls.Config {
	return c.choose(func(now *loaded) *tls.Config { return now.http })
}

// choose gives every new connection one of the configurations that are loaded by then.
func (c *Certificates) choose(which func(*loaded) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion: c.options.MinVersion,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return which(c.current.Load()), nil
		},
	}
}

// Run takes up changed files until the context ends. Files that cannot be used,
// such as a certificate whose key has not arrived yet, leave the former ones in
// place.
func (c *Certificates) Run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(reloadPeriod)
	defer ticker.Stop()
	var lastFailure string
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := c.reload()
		switch {
		case err != nil && err.Error() != lastFailure:
			log.Error("certificates not reloaded; the former ones stay", "error", err)
			lastFailure = err.Error()
		case err == nil && changed:
			log.Info("certificates reloaded", "cert", c.options.Cert)
			lastFailure = ""
		}
	}
}

// reload reads the files and reports whether they have changed. It compares
// contents, because a Secret's volume changes by a symbolic link whose target may
// carry any time.
func (c *Certificates) reload() (changed bool, err error) {
	content, err := c.read()
	if err != nil {
		return false, err
	}
	if old := c.current.Load(); old != nil && slices.EqualFunc(old.content, content, slices.Equal) {
		return false, nil
	}
	next, err := c.use(content)
	if err != nil {
		return false, err
	}
	c.current.Store(next)
	return true, nil
}

// read returns the contents of the certificate, the key and, if there is one, the
// client authorities.
func (c *Certificates) read() ([][]byte, error) {
	paths := []string{c.options.Cert, c.options.Key}
	if c.options.ClientCA != "" {
		paths = append(paths, c.options.ClientCA)
	}
	var content [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		content = append(content, data)
	}
	return content, nil
}

// use makes configurations of the files' contents.
func (c *Certificates) use(content [][]byte) (*loaded, error) {
	pair, err := tls.X509KeyPair(content[0], content[1])
	if err != nil {
		return nil, fmt.Errorf("use certificate and key: %w", err)
	}
	plain := &tls.Config{MinVersion: c.options.MinVersion, Certificates: []tls.Certificate{pair}}
	if len(content) == 2 {
		return &loaded{content, plain, plain}, nil
	}
	mutual := plain.Clone()
	mutual.ClientCAs = x509.NewCertPool()
	if !mutual.ClientCAs.AppendCertsFromPEM(content[2]) {
		return nil, errors.New("use client authorities: the file holds no PEM certificate")
	}
	mutual.ClientAuth = tls.RequireAndVerifyClientCert
	return &loaded{content, mutual, plain}, nil
}
