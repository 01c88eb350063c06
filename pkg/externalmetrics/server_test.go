package externalmetrics

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	external "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestWhoMayRead(t *testing.T) {
	s := serve(t, Options{})
	aggregator := client(s.cluster.frontProxy.sign(t, "aggregator"))
	stranger := client(newAuthorityKey(t).sign(t, "aggregator"))
	other := client(s.cluster.frontProxy.sign(t, "carol"))
	for name, test := range map[string]struct {
		client *http.Client
		header []string
		status int
		text   string
	}{
		"nobody":             {client(), nil, 401, "Unauthorized"},
		"a bad token":        {client(), []string{"Authorization", "Bearer made-up"}, 401, "Unauthorized"},
		"a token":            {client(), []string{"Authorization", "Bearer alice-token"}, 200, "7500m"},
		"not allowed":        {client(), []string{"Authorization", "Bearer bob-token"}, 403, `User \"bob\" cannot list resource \"jobs\" in API group \"external.metrics.k8s.io\" in the namespace \"shop\"`},
		"a header alone":     {client(), []string{"X-Remote-User", "alice"}, 401, "Unauthorized"},
		"a strange proxy":    {stranger, []string{"X-Remote-User", "alice"}, 401, "Unauthorized"},
		"the HPA controller": {aggregator, []string{"X-Remote-User", "system:serviceaccount:kube-system:horizontal-pod-autoscaler"}, 200, "7500m"},
		"bob by the proxy":   {aggregator, []string{"X-Remote-User", "bob"}, 403, `User \"bob\" cannot list`},
		"a certificate":      {other, []string{"X-Remote-User", "bob"}, 200, "7500m"},
		"alice as bob":       {client(), []string{"Authorization", "Bearer alice-token", "Impersonate-User", "bob"}, 403, `User \"bob\" cannot list`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.request(t, test.client, jobsPath, test.header...)
			if got.status != test.status || !strings.Contains(got.body, test.text) || got.header.Get("Retry-After") != "" {
				t.Errorf("got %d %v %s\nwant %d with %q and no Retry-After", got.status, got.header, got.body, test.status, test.text)
			}
		})
	}
}

// C44 a: the HPA shows these words.
func TestTheHPAControllerWithoutARole(t *testing.T) {
	s := serve(t, Options{})
	hpas, err := external.NewForConfig(s.as("bob"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = hpas.NamespacedMetrics("shop").List("jobs", labels.Everything())
	want := `jobs.external.metrics.k8s.io is forbidden: User "bob" cannot list resource "jobs" in API group "external.metrics.k8s.io" in the namespace "shop"`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Strangers cost the API server nothing but a look at their token, and who is known is
// asked about once.
func TestReviewsAreFew(t *testing.T) {
	s := serve(t, Options{})
	for range 3 {
		s.request(t, client(), jobsPath)
		s.request(t, client(), "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/guess")
		s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token")
	}
	got := s.cluster.asked()
	want := []string{"token alice-token", "alice list shop/jobs.external.metrics.k8s.io"}
	if !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// An API server that does not answer reviews is an error at once, never a value.
func TestBrokenReviews(t *testing.T) {
	s := serve(t, Options{})
	s.cluster.set(func() { s.cluster.broken = true })
	aggregator := client(s.cluster.frontProxy.sign(t, "aggregator"))
	began := time.Now()
	if got := s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token"); got.status != http.StatusUnauthorized {
		t.Errorf("by token: %+v", got)
	}
	if got := s.request(t, aggregator, jobsPath, "X-Remote-User", "alice"); got.status != http.StatusInternalServerError || got.header.Get("Retry-After") != "" {
		t.Errorf("by proxy: %+v", got)
	}
	if took := time.Since(began); took > requestLimit {
		t.Errorf("took %v", took)
	}
}

func TestNotReadyBeforeTheFrontProxyIsKnown(t *testing.T) {
	c := newCluster(t)
	c.without = true
	s, err := New(Options{Policies: metricsOf(), Evaluator: always(scaling.Decision{}), Cluster: c.config()})
	if err != nil {
		t.Fatal(err)
	}
	want := "read the front proxy's certificate authority: configmaps is forbidden"
	if err := s.Ready(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAnotherGroup(t *testing.T) {
	const name = "external.metrics.dashpot.dev"
	s := serve(t, Options{Group: name})
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupOf(name), &v1beta1.ExternalMetricValue{}, &v1beta1.ExternalMetricValueList{})
	metav1.AddToGroupVersion(scheme, groupOf(name))
	for _, content := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		config := s.as("alice")
		version := groupOf(name)
		config.APIPath, config.GroupVersion, config.AcceptContentTypes = "/apis", &version, content
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		rest, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		list, err := external.New(rest).NamespacedMetrics("shop").List("jobs", labels.Everything())
		if err != nil || len(list.Items) != 1 || list.Items[0].Value.String() != "7500m" {
			t.Errorf("%s: %v, %v", content, list, err)
		}
	}
	if got := s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token"); got.status != http.StatusNotFound {
		t.Errorf("the default group: %+v", got)
	}
}

// Discovery shows that there are metrics, and neither their names nor any values.
func TestDiscovery(t *testing.T) {
	evaluations := 0
	s := serve(t, Options{Evaluator: decide(func(context.Context, scaling.Request) scaling.Decision {
		evaluations++
		return scaling.Decision{}
	})})
	c, err := discovery.NewDiscoveryClientForConfig(s.as("alice"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ServerResourcesForGroupVersion("external.metrics.k8s.io/v1beta1")
	if err != nil {
		t.Fatal(err)
	}
	want := metav1.APIResource{Name: "externalmetrics", Namespaced: true, Kind: "ExternalMetricValueList", Verbs: metav1.Verbs{"get"}}
	if got := fmt.Sprint(list.APIResources); got != fmt.Sprint([]metav1.APIResource{want}) {
		t.Errorf("resources: %s", got)
	}
	groups, resources, err := c.ServerGroupsAndResources() // the aggregated form
	if err != nil || len(groups) != 1 || groups[0].PreferredVersion.GroupVersion != "external.metrics.k8s.io/v1beta1" ||
		len(resources) != 1 || len(resources[0].APIResources) != 1 || resources[0].APIResources[0].Name != "externalmetrics" {
		t.Errorf("got %v, %v, %v", groups, resources, err)
	}
	var aggregated apidiscovery.APIGroupDiscoveryList
	got := s.request(t, client(), "/apis", "Authorization", "Bearer alice-token", "Accept", discovery.AcceptV2)
	if err := json.Unmarshal([]byte(got.body), &aggregated); err != nil || len(aggregated.Items) != 1 || len(aggregated.Items[0].Versions[0].Resources) != 1 {
		t.Errorf("aggregated: %v %s", err, got.body)
	}
	if evaluations > 0 {
		t.Errorf("%d evaluations", evaluations)
	}
}

func TestHealth(t *testing.T) {
	why := make(chan error, 1)
	s := serve(t, Options{Ready: func(context.Context) error { return <-why }})
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200} {
		if got := s.request(t, client(), path); got.status != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	why <- nil
	if got := s.request(t, client(), "/readyz"); got.status != http.StatusOK {
		t.Errorf("ready: %+v", got)
	}
	why <- errors.New("no Redis")
	if got := s.request(t, client(), "/readyz"); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "process failed") {
		t.Errorf("not ready: %+v", got)
	}
}

// What nobody should ask has its answer too, and OpenAPI's is the one at which the
// aggregator asks no more.
func TestOddPaths(t *testing.T) {
	s := serve(t, Options{})
	for path, want := range map[string]int{
		"/": 404, "/openapi/v2": 404, "/openapi/v3": 404, "/metrics": 404, "/debug/pprof/": 404, "/apis": 200,
		"/apis/external.metrics.k8s.io":                         200,
		"/apis/external.metrics.k8s.io/v1beta1":                 200,
		"/apis/external.metrics.k8s.io/v1beta2":                 404,
		"/apis/external.metrics.k8s.io/v1beta1/jobs":            404,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces":      404,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop": 404,
		jobsPath + "/": 200, jobsPath + "/status": 404, jobsPath + "?watch=true": 405,
		jobsPath + "?labelSelector=%3D%3D": 400, jobsPath + "?limit=x": 400, jobsPath + "?fieldSelector=a%3Db": 400,
		jobsPath + "?labelSelector=" + strings.Repeat("a,", 300) + "a":                          404,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/" + strings.Repeat("x", 100_000): 414,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces//jobs":                                404,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/%00%ff":                          404,
	} {
		got := s.request(t, client(), path, "Authorization", "Bearer alice-token")
		if got.status != want {
			t.Errorf("%.100s: got %d %.200s, want %d", path, got.status, got.body, want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+jobsPath, strings.NewReader(strings.Repeat("x", 4<<20)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice-token")
		answered, err := client().Do(r)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		_ = answered.Body.Close()
		if answered.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d, want 405", method, answered.StatusCode)
		}
	}
}

// A request under way when the server ends gets its answer; the next finds nobody.
func TestRequestsFinish(t *testing.T) {
	begun, proceed := make(chan struct{}), make(chan struct{})
	s := serve(t, Options{Evaluator: decide(func(context.Context, scaling.Request) scaling.Decision {
		close(begun)
		<-proceed
		return scaling.Decision{Value: 7500, At: epoch}
	})})
	answered := make(chan response, 1)
	go func() { answered <- s.request(t, client(), jobsPath, "Authorization", "Bearer alice-token") }()
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- s.stop() }()
	for { // until it listens no more
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "https://"))
		if err != nil {
			break
		}
		_ = connection.Close()
	}
	close(proceed)
	if got := <-answered; got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunEndsWhileItWaitsToOpen(t *testing.T) {
	s, err := New(Options{Policies: metricsOf(), Evaluator: always(scaling.Decision{}), Cluster: newCluster(t).config()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx, func(ctx context.Context) (net.Listener, error) { return nil, ctx.Err() }); err != nil {
		t.Errorf("got %v", err)
	}
	s, err = New(Options{Policies: metricsOf(), Evaluator: always(scaling.Decision{}), Cluster: newCluster(t).config()})
	if err != nil {
		t.Fatal(err)
	}
	taken := errors.New("address in use")
	if err := s.Run(t.Context(), func(context.Context) (net.Listener, error) { return nil, taken }); !errors.Is(err, taken) {
		t.Errorf("got %v", err)
	}
}

func TestTheCertificateOfFiles(t *testing.T) {
	authority := newAuthorityKey(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(name string) {
		t.Helper()
		pair := authority.sign(t, name)
		key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{certFile: newPEM("CERTIFICATE", pair.Certificate[0]), keyFile: newPEM("PRIVATE KEY", key)} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("first")
	s := serve(t, Options{Certificate: certFile, Key: keyFile})
	roots := x509.NewCertPool()
	roots.AddCert(authority.certificate)
	name := func() string {
		connection, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{RootCAs: roots, ServerName: "localhost"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := name(); got != "first" {
		t.Fatalf("serves %q", got)
	}
	write("second")
	for deadline := time.Now().Add(time.Minute); name() != "second"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the changed certificate is not served")
		}
	}
}

func TestWhatNewRefuses(t *testing.T) {
	good := Options{Policies: metricsOf(), Evaluator: always(scaling.Decision{}), Cluster: &rest.Config{Host: "http://localhost"}}
	for text, change := range map[string]func(*Options){
		"no cluster to ask who somebody is":                            func(o *Options) { o.Cluster = nil },
		`API group "External Metrics": a lowercase RFC 1123 subdomain`: func(o *Options) { o.Group = "External Metrics" },
		`serve with certificate "/none" and key ""`:                    func(o *Options) { o.Certificate = "/none" },
		"client for http://%":                                          func(o *Options) { o.Cluster = &rest.Config{Host: "http://%"} },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}
