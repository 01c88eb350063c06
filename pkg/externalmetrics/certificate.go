package externalmetrics

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// selfSignedLife is longer than any process lives. Nobody can verify the certificate,
// so its age protects nothing, and its end would be an outage.
const selfSignedLife = 10 * 365 * 24 * time.Hour

// servingCertificate is that of the files, or one made here.
func servingCertificate(certFile, keyFile string) (dynamiccertificates.CertKeyContentProvider, error) {
	if certFile != "" || keyFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving certificate", certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("serve with certificate %q and key %q: %w", certFile, keyFile, err)
		}
		return files, nil
	}
	certificate, key, err := selfSigned(time.Now())
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return dynamiccertificates.NewStaticCertKeyContent("self-signed certificate", certificate, key)
}

// selfSigned makes a certificate and its key, as PEM. Their kind is that of which a
// handshake costs least.
func selfSigned(now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "dashpot"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedLife), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	block := func(kind string, content []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	}
	return block("CERTIFICATE", raw), block("PRIVATE KEY", encoded), nil
}
