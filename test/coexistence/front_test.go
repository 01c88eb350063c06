//go:build e2e

package coexistence_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// front passes requests on to KEDA's adapter, or fails them.
type front struct {
	address string
	// failing: every request gets a 500.
	failing atomic.Bool
	server  *http.Server
}

func startFront(ctx context.Context) (*front, error) {
	certFile, keyFile, authorityFile := env.cluster.ServingFiles()
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s has no certificate", authorityFile)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{address: listener.Addr().String()}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: env.cluster.KedaAdapter().Address})
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // as a connection that breaks
	f.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.failing.Load() {
				http.Error(w, "out of order", http.StatusInternalServerError)
				return
			}
			proxy.ServeHTTP(w, r)
		}),
	}
	go func() {
		served := f.server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}))
		if !errors.Is(served, http.ErrServerClosed) {
			log.Print(served)
		}
	}()
	return f, nil
}

func (f *front) stop() { _ = f.server.Close() }

// readers is who may read external metrics: an account whose token the adapters show to
// KEDA's adapter, and the test to both.
const readers = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- apiGroups: [external.metrics.k8s.io]
  resources: ["*"]
  verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: {{.}}}
`

func readerToken(ctx context.Context) (string, error) {
	const namespace = cluster.AdapterNamespace
	_, err := env.cluster.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if err := env.cluster.ApplyTemplate(ctx, namespace, readers, namespace); err != nil {
		return "", err
	}
	issued, err := env.cluster.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return issued.Status.Token, nil
}
