package externalmetrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	external "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// table is a Policies of fixed content, by NAMESPACE/NAME.
type table map[string]scaling.Metric

func (t table) Metric(_ context.Context, namespace, name string) (scaling.Metric, error) {
	if m, ok := t[namespace+"/"+name]; ok {
		return m, nil
	}
	if name == "early" {
		return scaling.Metric{}, fmt.Errorf("%w: the list of StabilizedMetrics has not arrived", scaling.ErrUnobserved)
	}
	return scaling.Metric{}, fmt.Errorf("%w of that name", scaling.ErrNoSuchMetric)
}

// metricsOf returns one StabilizedMetric for each name in the namespace shop, all with
// the label team=checkout.
func metricsOf(names ...string) table {
	t := table{}
	for _, name := range names {
		t["shop/"+name] = scaling.Metric{
			Ref:    scaling.Ref{Kind: scaling.KindStabilizedMetric, Namespace: "shop", Name: name},
			Labels: map[string]string{"team": "checkout"}, Policy: &scaling.Policy{Metric: name, Target: 1000},
		}
	}
	return t
}

// decide is an Evaluator.
type decide func(context.Context, scaling.Request) scaling.Decision

func (d decide) Evaluate(ctx context.Context, req scaling.Request) scaling.Decision {
	return d(ctx, req)
}

// epoch is when all decisions are made.
var epoch = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// always decides the same, whatever is asked.
func always(d scaling.Decision) decide {
	d.At = epoch
	return func(context.Context, scaling.Request) scaling.Decision { return d }
}

// served is a running server.
type served struct {
	*Server
	cluster *cluster
	url     string
	stop    func() error
}

// serve runs a server until the test ends. What the options leave open is filled in:
// the cluster, and the StabilizedMetric shop/jobs of the value 7.5.
func serve(tb testing.TB, o Options) served {
	tb.Helper()
	s := served{cluster: newCluster(tb)}
	if o.Policies == nil {
		o.Policies = metricsOf("jobs")
	}
	if o.Evaluator == nil {
		o.Evaluator = always(scaling.Decision{Value: 7500})
	}
	o.Cluster = s.cluster.config()
	var err error
	if s.Server, err = New(o); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context) (net.Listener, error) {
			for s.Ready(ctx) != nil {
				time.Sleep(time.Millisecond)
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				opened <- listener.Addr().String()
			}
			return listener, err
		})
	}()
	select {
	case err := <-ended:
		tb.Fatalf("ended: %v", err)
	case address := <-opened:
		s.url = "https://" + address
	}
	var result error
	stopped := false
	s.stop = func() error {
		if !stopped {
			cancel()
			result, stopped = <-ended, true
		}
		return result
	}
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Errorf("run: %v", err)
		}
	})
	return s
}

// as returns the configuration of a client that is a user by their token, or nobody.
func (s served) as(user string) *rest.Config {
	config := &rest.Config{Host: s.url, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if user != "" {
		config.BearerToken = user + "-token"
	}
	return config
}

// metrics is the client of the HPA controller.
func (s served) metrics(tb testing.TB, contentType string) external.ExternalMetricsClient {
	tb.Helper()
	config := s.as("alice")
	config.AcceptContentTypes = contentType
	client, err := external.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// response is an answer, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// request asks for a path with header lines in pairs.
func (s served) request(tb testing.TB, client *http.Client, path string, header ...string) response {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answered, err := client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	body, err := io.ReadAll(answered.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response{answered.StatusCode, answered.Header, string(body)}
}

// client is one that knows nobody, with certificates of its own.
func client(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, Certificates: certificates},
		ForceAttemptHTTP2: true,
	}}
}

// groupOf is a group's version.
func groupOf(name string) schema.GroupVersion {
	return schema.GroupVersion{Group: name, Version: "v1beta1"}
}
