// Package certtest makes certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is the authority's own certificate.
	PEM []byte
}

// Pair is a certificate and its key, as PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority returns an authority that nobody knows yet.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	template := newTemplate(tb, name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatalf("sign authority: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatalf("read authority: %v", err)
	}
	return &Authority{cert: cert, key: key, PEM: encode("CERTIFICATE", der)}
}

// Issue returns a certificate for a client or for a server, on loopback and under the
// DNS names.
func (a *Authority) Issue(tb testing.TB, name string, dnsNames ...string) Pair {
	tb.Helper()
	template := newTemplate(tb, name)
	template.DNSNames = dnsNames
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key := newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		tb.Fatalf("sign certificate: %v", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatalf("encode key: %v", err)
	}
	return Pair{encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)}
}

// Client is the configuration of a client that trusts the authority and shows the pair, if
// there is one. It does so even where Go would show none, since the server names other
// authorities.
func (a *Authority) Client(tb testing.TB, pair ...Pair) *tls.Config {
	tb.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	for _, p := range pair {
		certificate, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			tb.Fatalf("use client certificate: %v", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	return config
}

// Write writes a file that only its owner reads.
func Write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatalf("write certificate: %v", err)
	}
}

func newTemplate(tb testing.TB, name string) *x509.Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatalf("draw serial number: %v", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatalf("make key: %v", err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
