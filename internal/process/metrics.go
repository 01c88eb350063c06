package process

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Metrics is what a process shows to Prometheus. Its methods are safe for
// concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	rpcs      *prometheus.HistogramVec
	decisions *prometheus.CounterVec
	store     *prometheus.HistogramVec
	source    *prometheus.HistogramVec
	requests  *prometheus.HistogramVec
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	// From 0.5 ms, a decision over a near Redis, to 4 s, beyond every deadline.
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 14)
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		rpcs:     histogram("dashpot_rpc_duration_seconds", "How long RPCs took. A stream's time is its life.", "method", "code"),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dashpot_decisions_total",
			Help: "Decisions by what became of them: served, held (the count is kept because of a fault) or error.",
		}, []string{"mode", "outcome"}),
		store:    histogram("dashpot_store_duration_seconds", "How long the store took.", "operation", "result"),
		source:   histogram("dashpot_source_read_duration_seconds", "How long reads took, of all triggers of one server at once.", "result"),
		requests: histogram("dashpot_metric_request_duration_seconds", "How long requests for an external metric took.", "code", "delegate"),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dashpot_build_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.rpcs, m.decisions, m.store, m.source, m.requests,
	)
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// RPC counts a finished call of a gRPC server.
func (m *Metrics) RPC(method string, code codes.Code, took time.Duration) {
	m.rpcs.WithLabelValues(method, code.String()).Observe(took.Seconds())
}

// Served counts a request for an external metric that was answered with an HTTP status,
// by a delegate, or by this process itself, which is "".
func (m *Metrics) Served(delegate string, status int, took time.Duration) {
	m.requests.WithLabelValues(strconv.Itoa(status), delegate).Observe(took.Seconds())
}

// Decided counts a decision.
func (m *Metrics) Decided(d *scaling.Decision) {
	m.decisions.WithLabelValues(string(d.Mode), outcome(d)).Inc()
}

// outcome is what became of a decision.
func outcome(d *scaling.Decision) string {
	switch {
	case d.Err != nil:
		return "error"
	case d.Held != nil:
		return "held"
	}
	return "served"
}

func (m *Metrics) stored(what string, started time.Time, err error) {
	m.store.WithLabelValues(what, result(err)).Observe(time.Since(started).Seconds())
}

// Store returns the store, measured.
func (m *Metrics) Store(store scaling.Store) scaling.Store { return &measuredStore{store, m} }

// Source returns the source, measured.
func (m *Metrics) Source(source scaling.Source) scaling.Source { return measuredSource{source, m} }

type measuredStore struct {
	scaling.Store
	metrics *Metrics
}

// Load implements scaling.Store.
func (s *measuredStore) Load(ctx context.Context, key scaling.Key) (*scaling.Loaded, error) {
	started := time.Now()
	loaded, err := s.Store.Load(ctx, key)
	s.metrics.stored("load", started, err)
	return loaded, err
}

// Swap implements scaling.Store.
func (s *measuredStore) Swap(ctx context.Context, key scaling.Key, version scaling.Version, next scaling.Record, ttl time.Duration) (bool, error) {
	started := time.Now()
	swapped, err := s.Store.Swap(ctx, key, version, next, ttl)
	s.metrics.stored("swap", started, err)
	return swapped, err
}

type measuredSource struct {
	source  scaling.Source
	metrics *Metrics
}

// Read implements scaling.Source. It counts as failed when any of its outcomes did.
func (s measuredSource) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	started := time.Now()
	outcomes := s.source.Read(ctx, queries)
	var failure error
	for _, o := range outcomes {
		if o.Err != nil {
			failure = o.Err
		}
	}
	s.metrics.source.WithLabelValues(result(failure)).Observe(time.Since(started).Seconds())
	return outcomes
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}
