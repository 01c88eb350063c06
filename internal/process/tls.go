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

// CertificateFiles name the PEM files of a server.
type CertificateFiles struct {
	Cert, Key string
	// ClientCA makes the server ask for a client certificate that one of these
	// authorities signed; empty asks for none.
	ClientCA string
}

// Certificates are the server's certificates as its files hold them now. A change
// is for new connections; those that are open go on.
type Certificates struct {
	files   CertificateFiles
	current atomic.Pointer[loaded]
}

type loaded struct {
	content [][]byte
	config  *tls.Config
}

// LoadCertificates reads the files.
func LoadCertificates(files CertificateFiles) (*Certificates, error) {
	c := &Certificates{files: files}
	if _, err := c.reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is the configuration for a server of gRPC.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current.Load().config, nil
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
			log.Info("certificates reloaded", "cert", c.files.Cert)
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
	config, err := serverConfig(content)
	if err != nil {
		return false, err
	}
	c.current.Store(&loaded{content, config})
	return true, nil
}

// read returns the contents of the certificate, the key and, if there is one, the
// client authorities.
func (c *Certificates) read() ([][]byte, error) {
	paths := []string{c.files.Cert, c.files.Key}
	if c.files.ClientCA != "" {
		paths = append(paths, c.files.ClientCA)
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

func serverConfig(content [][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(content[0], content[1])
	if err != nil {
		return nil, fmt.Errorf("use certificate and key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if len(content) == 3 {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(content[2]) {
			return nil, errors.New("use client authorities: the file holds no PEM certificate")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
