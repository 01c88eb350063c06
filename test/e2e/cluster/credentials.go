package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// servingNames are all names that anything in the cluster is reached by: one
// certificate serves the API server, the controller manager, KEDA and adapters.
var servingNames = []string{
	"localhost", "kubernetes.default.svc",
	"keda-operator.keda.svc", "keda-metrics-apiserver.keda.svc", AdapterServerName,
}

// frontProxy is who the API server is when it forwards to the adapter.
const frontProxy = "front-proxy"

// authority is the one certificate authority of the cluster.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// keyPair is a certificate with its key, PEM-encoded.
type keyPair struct{ cert, key []byte }

// writeCredentials makes the certificates and the kubeconfigs. The file names
// ca.crt, tls.crt and tls.key are those that KEDA looks for.
func (c *Cluster) writeCredentials(context.Context) error {
	var err error
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	serving, err := c.authority.issue(pkix.Name{CommonName: "dashpot-e2e"}, servingNames...)
	if err != nil {
		return err
	}
	proxy, err := c.authority.issue(pkix.Name{CommonName: frontProxy})
	if err != nil {
		return err
	}
	accounts, err := c.authority.issue(pkix.Name{CommonName: "service-accounts"})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"ca.crt": c.authority.pem, "tls.crt": serving.cert, "tls.key": serving.key,
		"front-proxy.crt": proxy.cert, "front-proxy.key": proxy.key, "service-accounts.key": accounts.key,
	} {
		if err := os.WriteFile(c.pki(name), content, 0o600); err != nil {
			return fmt.Errorf("write the certificates: %w", err)
		}
	}
	admin := pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	if err := c.writeKubeconfig(c.Kubeconfig(), admin); err != nil {
		return err
	}
	return c.writeKubeconfig(c.controllerManagerKubeconfig(), pkix.Name{CommonName: "system:kube-controller-manager"})
}

func (c *Cluster) writeKubeconfig(path string, user pkix.Name) error {
	pair, err := c.authority.issue(user)
	if err != nil {
		return err
	}
	const name = "dashpot-e2e"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: "https://" + local(c.ports.apiServer), CertificateAuthorityData: c.authority.pem,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := certificate(pkix.Name{CommonName: "dashpot-e2e-ca"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// issue makes a certificate for both ends of a connection; with names it also
// serves on loopback and on the first service address.
func (a *authority) issue(subject pkix.Name, names ...string) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("make a key: %w", err)
	}
	template := certificate(subject)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if template.DNSNames = names; len(names) > 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("issue a certificate for %s: %w", subject.CommonName, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("issue a certificate for %s: %w", subject.CommonName, err)
	}
	return keyPair{cert: encode("CERTIFICATE", der), key: encode("EC PRIVATE KEY", keyDER)}, nil
}

func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100)) // never fails
	return &x509.Certificate{
		Subject:      subject,
		SerialNumber: serial,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
