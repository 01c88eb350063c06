package delegate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/external_metrics"
)

// What a delegate answers is what is returned, in every field.
func TestAnswersPassUnchanged(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	got, by, err := connected(t, nil, Config{Name: "prom", URL: a.URL}).Get(t.Context(), "shop", "depth", selecting(t, "queue in (a,b),!old"))
	if err != nil || by != "prom" {
		t.Fatalf("by %q, error %v", by, err)
	}
	var want external_metrics.ExternalMetricValueList
	if err := json.Unmarshal([]byte(list), &want); err != nil {
		t.Fatal(err)
	}
	want.TypeMeta = metav1.TypeMeta{}
	if !reflect.DeepEqual(*got, want) || len(want.Items) != 2 || got.Items[1].Value.String() != "1e3" {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	path := "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/depth?labelSelector=%21old%2Cqueue+in+%28a%2Cb%29"
	if asked := a.requests(); !slices.Equal(asked, []string{path}) {
		t.Errorf("asked for %v, want %s", asked, path)
	}
}

// No selector at all is everything, and is not sent.
func TestNoSelector(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	if _, _, err := connected(t, nil, Config{Name: "prom", URL: a.URL + "/prefix", GroupVersion: "g.example/v1"}).Get(t.Context(), "shop", "depth", nil); err != nil {
		t.Fatal(err)
	}
	if asked := a.requests(); !slices.Equal(asked, []string{"/prefix/apis/g.example/v1/namespaces/shop/depth"}) {
		t.Errorf("asked for %v", asked)
	}
}

// Which delegates are asked, in which order, and whose answer counts. "a" to "d" are
// delegates in that order.
func TestWhoIsAsked(t *testing.T) {
	const label = "scaledobject.keda.sh/name"
	lacking := refusing(http.StatusNotFound, metav1.StatusReasonNotFound, "no such metric")
	broken := refusing(http.StatusInternalServerError, metav1.StatusReasonInternalError, "broken")
	has := saying(http.StatusOK, list)
	mine := Match{Labels: []string{label}}
	for name, test := range map[string]struct {
		handlers  []http.HandlerFunc
		match     []Match
		metric    string
		selector  string
		asked, by string
		code      int
	}{
		"the first that has it":           {[]http.HandlerFunc{lacking, has, has}, nil, "", "", "ab", "b", 200},
		"an error ends it":                {[]http.HandlerFunc{lacking, broken, has}, nil, "", "", "ab", "b", 500},
		"a page that is not there":        {[]http.HandlerFunc{saying(404, "404 page not found"), has}, nil, "", "", "a", "a", 404},
		"nobody has it":                   {[]http.HandlerFunc{lacking, lacking}, nil, "", "", "ab", "", 404},
		"its owner alone":                 {[]http.HandlerFunc{has, has}, []Match{{}, mine}, "", label + "=worker", "b", "b", 200},
		"the owner's error":               {[]http.HandlerFunc{has, broken}, []Match{{}, mine}, "", label, "b", "b", 500},
		"the owner does not have it":      {[]http.HandlerFunc{has, lacking}, []Match{{}, mine}, "", label, "b", "b", 404},
		"an owner of something else":      {[]http.HandlerFunc{has, has}, []Match{mine, {}}, "", "other=x", "b", "b", 200},
		"only owners of something else":   {[]http.HandlerFunc{has, has}, []Match{mine, mine}, "", "", "", "", 404},
		"the first of two owners":         {[]http.HandlerFunc{has, has}, []Match{mine, mine}, "", label, "a", "a", 200},
		"by the metric's name":            {[]http.HandlerFunc{has, has}, []Match{{Metrics: []string{"x", "s?-*"}}, {}}, "s0-redis-jobs", "", "a", "a", 200},
		"by a namespace":                  {[]http.HandlerFunc{has, has}, []Match{{Namespaces: []string{"sh*"}}, {}}, "", "", "a", "a", 200},
		"by another namespace":            {[]http.HandlerFunc{has, has}, []Match{{Namespaces: []string{"bank"}}, {}}, "", "", "b", "b", 200},
		"all rules of a delegate must be": {[]http.HandlerFunc{has, has}, []Match{{Namespaces: []string{"shop"}, Labels: []string{label}}, {}}, "", "", "b", "b", 200},
	} {
		t.Run(name, func(t *testing.T) {
			var configs []Config
			var adapters []*adapter
			for i, handler := range test.handlers {
				a := serving(t, handler)
				c := Config{Name: string(rune('a' + i)), URL: a.URL}
				if test.match != nil {
					c.Match = test.match[i]
				}
				adapters, configs = append(adapters, a), append(configs, c)
			}
			metric := test.metric
			if metric == "" {
				metric = "depth"
			}
			values, by, err := connected(t, nil, configs...).Get(t.Context(), "shop", metric, selecting(t, test.selector))
			asked := ""
			for i, a := range adapters {
				asked += strings.Repeat(configs[i].Name, len(a.requests()))
			}
			code := http.StatusOK
			var status *apierrors.StatusError
			if errors.As(err, &status) {
				code = int(status.ErrStatus.Code)
			}
			if asked != test.asked || by != test.by || code != test.code || (values == nil) != (code != http.StatusOK) {
				t.Errorf("asked %q, by %q, %d %v; want %q, %q, %d", asked, by, code, err, test.asked, test.by, test.code)
			}
		})
	}
}

// The words, which an HPA shows.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		code    int
		reason  metav1.StatusReason
		text    string
	}{
		"in the words of Kubernetes": {
			refusing(500, metav1.StatusReasonInternalError, "Internal error: scaledObject name is not specified"),
			500, metav1.StatusReasonInternalError, "Internal error: scaledObject name is not specified",
		},
		"forbidden": {
			refusing(403, metav1.StatusReasonForbidden, `depth.external.metrics.k8s.io is forbidden: User "system:serviceaccount:dashpot:adapter" cannot list`),
			403, metav1.StatusReasonForbidden, `depth.external.metrics.k8s.io is forbidden: User "system:serviceaccount:dashpot:adapter" cannot list`,
		},
		"too many requests": {refusing(429, metav1.StatusReasonTooManyRequests, "slowly"), 429, metav1.StatusReasonTooManyRequests, "slowly"},
		"our credentials": {
			refusing(401, metav1.StatusReasonUnauthorized, "Unauthorized"),
			503, metav1.StatusReasonServiceUnavailable, "delegate prom at URL: our credentials are refused: Unauthorized",
		},
		"a page":         {saying(500, "<h1>oh\nno</h1>"), 500, "", `delegate prom at URL: 500 Internal Server Error: "<h1>oh\nno</h1>"`},
		"an empty page":  {saying(503, ""), 503, metav1.StatusReasonServiceUnavailable, `delegate prom at URL: 503 Service Unavailable: ""`},
		"a redirect":     {http.RedirectHandler("https://evil", http.StatusFound).ServeHTTP, 502, "", `delegate prom at URL: 302 Found: "<a href=\"https://evil\">Found</a>."`},
		"garbage":        {saying(200, "7"), 502, "", `delegate prom at URL: not a list of metric values: "7"`},
		"something else": {saying(200, `{"kind":"APIResourceList"}`), 502, "", `delegate prom at URL: not a list of metric values: "{\"kind\":\"APIResourceList\"}"`},
		"a bad quantity": {saying(200, strings.Replace(list, "7500m", "lots", 1)), 502, "", "not a list of metric values"},
		"half a list":    {saying(200, list[:100]), 502, "", "not a list of metric values"},
		"nothing":        {saying(204, ""), 502, "", `delegate prom at URL: 204 No Content: ""`},
		"too much":       {saying(200, list+strings.Repeat(" ", maxAnswer)), 502, "", "delegate prom at URL: not a list of metric values: more than 4194304 bytes"},
		"a long page":    {saying(500, strings.Repeat("é", 200)), 500, "", strings.Repeat("é", 100) + `…"`},
		"a long Status":  {refusing(500, "", strings.Repeat("é", maxWords)), 500, "", strings.Repeat("é", maxWords/2) + "…"},
		"an answer in part": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte("{"))
			}, 503, metav1.StatusReasonServiceUnavailable, "delegate prom at URL: the answer breaks off: unexpected EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := serving(t, test.handler)
			values, by, err := connected(t, nil, Config{Name: "prom", URL: a.URL}).Get(t.Context(), "shop", "depth", nil)
			var status *apierrors.StatusError
			if !errors.As(err, &status) || values != nil || by != "prom" {
				t.Fatalf("got %v, by %q, %v", values, by, err)
			}
			said := ofURLs(err.Error(), a)
			if status.ErrStatus.Code != int32(test.code) || status.ErrStatus.Reason != test.reason || !strings.Contains(said, test.text) {
				t.Errorf("got %d %q %s\nwant %d %q %s", status.ErrStatus.Code, status.ErrStatus.Reason, said, test.code, test.reason, test.text)
			}
			if seconds, says := apierrors.SuggestsClientDelay(err); says {
				t.Errorf("tells the HPA controller to wait %d s", seconds)
			}
		})
	}
}

func TestNobodyHasIt(t *testing.T) {
	a := serving(t, refusing(404, metav1.StatusReasonNotFound, "no rule for depth"))
	_, _, err := connected(t, nil, Config{Name: "a", URL: a.URL}, Config{Name: "b", URL: a.URL}).Get(t.Context(), "shop", "depth", nil)
	if want := "delegate a: no rule for depth; delegate b: no rule for depth"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = connected(t, nil, Config{Name: "a", URL: a.URL, Match: Match{Metrics: []string{"x"}}}).Get(t.Context(), "shop", "depth", nil)
	if want := "no rule of a delegate fits: a"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A name that leads to another path is not asked for.
func TestNamesThatAreNone(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	set := connected(t, nil, Config{Name: "prom", URL: a.URL})
	for _, name := range []string{"", ".", "..", "a/b", "a%2fb"} {
		if _, _, err := set.Get(t.Context(), "shop", name, nil); !apierrors.IsBadRequest(err) && (err == nil || !strings.Contains(err.Error(), "not a name")) {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := set.Get(t.Context(), name, "depth", nil); err == nil {
			t.Errorf("namespace %q: no error", name)
		}
	}
	if asked := a.requests(); len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}

func TestRead(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	set := connected(t, nil, Config{Name: "prom", URL: a.URL, Match: Match{Metrics: []string{"other"}}})
	got, err := set.Read(t.Context(), "prom", "shop", "depth", nil)
	if err != nil || len(got) != 2 || got[0].String() != "7500m" || got[1].String() != "1e3" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := set.Read(t.Context(), "keda", "shop", "depth", nil); err == nil || err.Error() != `no delegate is called "keda"` {
		t.Errorf("got %v", err)
	}
}

// The request says that it has been passed on, by a header that a Set knows.
func TestPassed(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	set := connected(t, nil, Config{Name: "prom", URL: a.URL})
	if _, _, err := set.Get(t.Context(), "shop", "depth", nil); err != nil {
		t.Fatal(err)
	}
	if !set.Passed(a.last) || set.Passed(http.Header{}) {
		t.Errorf("passed %v by %v", set.Passed(a.last), a.last)
	}
}

// pems writes the certificate and the key of an adapter into files.
func pems(t *testing.T, a *adapter) (certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	bytes, err := x509.MarshalPKCS8PrivateKey(a.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "certificate"), filepath.Join(dir, "key")
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: a.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// The cluster's token goes to delegates without credentials of their own, and to no
// others.
func TestCredentials(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	certificate, key := pems(t, a)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	lent := &rest.Config{Host: "https://cluster", BearerToken: "cluster"}
	for name, test := range map[string]struct {
		cluster *rest.Config
		config  Config
		want    string
	}{
		"none":          {nil, Config{}, ""},
		"the cluster's": {lent, Config{}, "Bearer cluster"},
		"its own token": {lent, Config{TokenFile: token}, "Bearer own"},
		"a certificate": {lent, Config{CertFile: certificate, KeyFile: key}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Name, test.config.URL = "prom", a.URL
			if _, _, err := connected(t, test.cluster, test.config).Get(t.Context(), "shop", "depth", nil); err != nil {
				t.Fatal(err)
			}
			if got := a.last.Get("Authorization"); got != test.want {
				t.Errorf("sent %q, want %q", got, test.want)
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list), func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} })
	certificate, key := pems(t, a)
	if _, _, err := connected(t, nil, Config{Name: "prom", URL: a.URL, CertFile: certificate, KeyFile: key}).Get(t.Context(), "shop", "depth", nil); err != nil {
		t.Errorf("with one: %v", err)
	}
	_, _, err := connected(t, nil, Config{Name: "prom", URL: a.URL}).Get(t.Context(), "shop", "depth", nil)
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without one: %v", err)
	}
}

// A delegate is who its certificate says, unless nobody asks.
func TestServerCertificates(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	ca, _ := pems(t, a)
	for name, test := range map[string]struct {
		config Config
		want   string // of the error
	}{
		"a known authority":    {Config{CAFile: ca}, ""},
		"by a name":            {Config{CAFile: ca, ServerName: "example.com"}, ""},
		"by a wrong name":      {Config{CAFile: ca, ServerName: "other.example"}, "not other.example"},
		"an unknown authority": {Config{ServerName: "example.com"}, "unknown authority"},
		"not looked at":        {Config{InsecureSkipVerify: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.config
			c.Name, c.URL, c.GroupVersion, c.Timeout, c.MaxConcurrent = "prom", a.URL, defaultGroupVersion, mostTimeout, 1
			set, err := (&Plan{[]Config{c}}).Connect(nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = set.Get(t.Context(), "shop", "depth", nil)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// What a delegate echoes of a request has no token in it.
func TestNoTokenInAnError(t *testing.T) {
	for _, handler := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusInternalServerError)
		},
		func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Header.Get("Authorization"))) },
		func(w http.ResponseWriter, r *http.Request) {
			refusing(500, "", r.Header.Get("Authorization"))(w, r)
		},
	} {
		a := serving(t, handler)
		_, _, err := connected(t, &rest.Config{BearerToken: "s3cret"}, Config{Name: "prom", URL: a.URL}).Get(t.Context(), "shop", "depth", nil)
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "Bearer ***") {
			t.Errorf("got %v", err)
		}
	}
}
