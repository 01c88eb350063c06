package externalmetrics

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// cluster stands for an API server as far as it says who somebody is and what they may:
// the token "NAME-token" is the user NAME's, and all but bob may do anything.
type cluster struct {
	*httptest.Server
	frontProxy authorityKey

	mu sync.Mutex
	// broken answers reviews with 500; without keeps the ConfigMap back.
	broken, without bool
	// reviews are what was asked, as "token TOKEN" or "USER VERB NAMESPACE/RESOURCE.GROUP".
	reviews []string
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	c := &cluster{frontProxy: newAuthorityKey(tb)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", c.reviewToken)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", c.reviewAccess)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps", c.listConfigMaps)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", c.getConfigMap)
	c.Server = httptest.NewServer(mux)
	tb.Cleanup(c.Close)
	return c
}

func (c *cluster) config() *rest.Config {
	return &rest.Config{Host: c.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// asked returns the reviews so far.
func (c *cluster) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reviews)
}

// note takes down what is asked, and says whether the cluster answers.
func (c *cluster) note(w http.ResponseWriter, what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews = append(c.reviews, what)
	if !c.broken {
		return true
	}
	http.Error(w, "etcd is away", http.StatusInternalServerError)
	return false
}

func (c *cluster) reviewToken(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	if !c.note(w, "token "+review.Spec.Token) {
		return
	}
	if name, ok := strings.CutSuffix(review.Spec.Token, "-token"); ok {
		review.Status.Authenticated, review.Status.User.Username = true, name
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	answer(w, review)
}

func (c *cluster) reviewAccess(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	what := review.Spec.User + " "
	if a := review.Spec.ResourceAttributes; a != nil {
		what += a.Verb + " " + a.Namespace + "/" + a.Resource + "." + a.Group
	} else {
		what += review.Spec.NonResourceAttributes.Verb + " " + review.Spec.NonResourceAttributes.Path
	}
	if !c.note(w, what) {
		return
	}
	review.Status.Allowed = review.Spec.User != "bob"
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}
	answer(w, review)
}

func (c *cluster) configMap() corev1.ConfigMap {
	return corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: authorityName, ResourceVersion: "1"},
		Data: map[string]string{
			"client-ca-file":                     string(newPEM("CERTIFICATE", c.frontProxy.certificate.Raw)),
			"requestheader-client-ca-file":       string(newPEM("CERTIFICATE", c.frontProxy.certificate.Raw)),
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
			"requestheader-allowed-names":        `["aggregator"]`,
		},
	}
}

func (c *cluster) getConfigMap(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.without {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"configmaps is forbidden"}`))
		return
	}
	answer(w, c.configMap())
}

// listConfigMaps lists, and keeps a watch open in which nothing happens.
func (c *cluster) listConfigMaps(w http.ResponseWriter, r *http.Request) {
	switch q := r.URL.Query(); {
	case q.Get("sendInitialEvents") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
	case q.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		list := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		if !c.without {
			list.Items = []corev1.ConfigMap{c.configMap()}
		}
		answer(w, list)
	}
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

// authorityKey signs certificates.
type authorityKey struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthorityKey(tb testing.TB) authorityKey {
	tb.Helper()
	template := certificate("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a := authorityKey{certificate: template, key: newKey(tb)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(raw); err != nil {
		tb.Fatal(err)
	}
	return a
}

// sign returns a certificate for a client, or for a server on this machine.
func (a authorityKey) sign(tb testing.TB, name string) tls.Certificate {
	tb.Helper()
	key := newKey(tb)
	raw, err := x509.CreateCertificate(rand.Reader, certificate(name), a.certificate, &key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func newPEM(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
