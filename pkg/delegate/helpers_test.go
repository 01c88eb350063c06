package delegate

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

const list = `{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},"items":[` +
	`{"metricName":"depth","metricLabels":{"queue":"a"},"timestamp":"2026-09-01T12:00:00Z","window":60,"value":"7500m"},` +
	`{"metricName":"depth","metricLabels":null,"timestamp":"2026-09-01T12:00:01Z","value":"1e3"}]}`

// adapter is another server of external metrics, with TLS.
type adapter struct {
	*httptest.Server

	mu sync.Mutex
	// asked are the paths and queries so far.
	asked []string
	// last is the header of the last request.
	last http.Header
}

// serving starts an adapter that ends with the test, after some changes.
func serving(tb testing.TB, handler http.HandlerFunc, changes ...func(*httptest.Server)) *adapter {
	tb.Helper()
	a := &adapter{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked = append(a.asked, r.URL.RequestURI())
		a.last = r.Header.Clone()
		a.mu.Unlock()
		handler(w, r)
	}))
	a.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	for _, change := range changes {
		change(a.Server)
	}
	a.StartTLS()
	tb.Cleanup(a.Close)
	return a
}

func (a *adapter) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.asked...)
}

// saying answers everything with one status and body.
func saying(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// refusing answers everything with a Status, as Kubernetes does.
func refusing(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Kind: "external", RetryAfterSeconds: 7},
	})
	if err != nil {
		panic(err)
	}
	return saying(code, string(body))
}

// connected makes a Set of delegates, each with the defaults where it says nothing.
func connected(tb testing.TB, cluster *rest.Config, configs ...Config) *Set {
	tb.Helper()
	p := Plan{}
	for _, c := range configs {
		if c.GroupVersion == "" {
			c.GroupVersion = defaultGroupVersion
		}
		if c.Timeout == 0 {
			c.Timeout = mostTimeout // no machine is as slow
		}
		if c.MaxConcurrent == 0 {
			c.MaxConcurrent = defaultMaxConcurrent
		}
		c.InsecureSkipVerify = c.CAFile == ""
		p.delegates = append(p.delegates, c)
	}
	set, err := p.Connect(cluster)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func selecting(tb testing.TB, text string) labels.Selector {
	tb.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return selector
}

// ofURLs takes the address out of words, which is another one in each run.
func ofURLs(words string, adapters ...*adapter) string {
	for _, a := range adapters {
		words = strings.ReplaceAll(words, a.URL, "URL")
	}
	return words
}
