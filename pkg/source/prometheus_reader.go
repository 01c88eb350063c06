package source

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// maxInFlight is how many requests one replica has under way at one server, at most:
	// less than half of the 20 queries that Prometheus runs at a time.
	maxInFlight = 8
	// maxAnswer is the longest answer that is read. One of one series has some 200 bytes.
	maxAnswer = 1 << 20
	// maxRedirects is enough for http to https and a path to another.
	maxRedirects = 3
)

// prometheusReader asks Prometheus servers. Nobody who asks waits for another's query,
// and a query that several ask at once is sent once.
type prometheusReader struct {
	timeout time.Duration
	// clients share connections where the TLS settings are the same.
	clients *pool[httpTLS, *http.Client]

	mu      sync.Mutex
	flights map[promQuery]*promFlight
}

// promFlight is one request under way.
type promFlight struct {
	done    chan struct{}
	outcome scaling.Outcome // valid once done is closed
}

func newPrometheusReader(timeout, idle time.Duration) *prometheusReader {
	return &prometheusReader{
		timeout: timeout,
		clients: newPool(idle,
			func(settings httpTLS) (*http.Client, error) { return connectHTTP(settings, timeout) },
			(*http.Client).CloseIdleConnections,
		),
		flights: map[promQuery]*promFlight{},
	}
}

func (r *prometheusReader) close() { r.clients.shut() }

// read asks all queries at once. The first that is not answered in time does not take
// the others' answers with it.
func (r *prometheusReader) read(ctx context.Context, queries []promQuery) ([]scaling.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	flights := make([]*promFlight, len(queries))
	for i, q := range queries {
		flights[i] = r.join(ctx, q)
	}
	outcomes := make([]scaling.Outcome, len(queries))
	for i, f := range flights {
		select {
		case <-f.done:
			outcomes[i] = f.outcome
			continue
		case <-ctx.Done():
		}
		select {
		case <-f.done: // the context ended while another query was waited for
			outcomes[i] = f.outcome
		default:
			outcomes[i].Err = fmt.Errorf("%s: no answer: %w", queries[i], context.Cause(ctx))
		}
	}
	return outcomes, nil
}

// join returns the flight of a query, and starts it if there is none. It is not the
// caller's alone, and so goes on when the caller leaves, to its own timeout.
func (r *prometheusReader) join(ctx context.Context, q promQuery) *promFlight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.flights[q]; ok {
		return f
	}
	f := &promFlight{done: make(chan struct{})}
	r.flights[q] = f
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
		defer cancel()
		f.outcome = r.ask(ctx, q)
		if f.outcome.Err != nil {
			f.outcome.Err = fmt.Errorf("%s: %w", q, f.outcome.Err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.flights, q)
		close(f.done)
	}()
	return f
}

func (r *prometheusReader) ask(ctx context.Context, q promQuery) scaling.Outcome {
	server := q.at.Value()
	client, release, err := r.clients.acquire(server.tls)
	if err != nil {
		return scaling.Outcome{Err: err}
	}
	defer release()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.base+q.path, http.NoBody)
	if err != nil {
		return scaling.Outcome{Err: unreached(err, server.tls)}
	}
	request.Header = server.header()
	response, err := client.Do(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return scaling.Outcome{Err: fmt.Errorf("no answer within %v: %w", q.timeout, ctx.Err())}
	case err != nil:
		return scaling.Outcome{Err: unreached(err, server.tls)}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		return scaling.Outcome{Err: refusal(response, body)}
	case err != nil:
		return scaling.Outcome{Err: fmt.Errorf("the answer breaks off: %w", err)}
	case len(body) > maxAnswer:
		return scaling.Outcome{Err: fmt.Errorf("the answer is longer than %d bytes", maxAnswer)}
	}
	return decodeAnswer(body, q.ignoreNull)
}

// refusal is the error of a status that is none of success, with the server's reason if
// it gives one.
func refusal(response *http.Response, body []byte) error {
	status := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if location, err := response.Location(); err == nil && response.StatusCode < 400 {
		return fmt.Errorf("%s: redirected to %s://%s, which is not followed", status, location.Scheme, location.Host)
	}
	var answer promAnswer
	if err := json.Unmarshal(body, &answer); err == nil && answer.failure() != nil {
		return fmt.Errorf("%s: %w", status, answer.failure())
	}
	return errors.New(status)
}

// connectHTTP makes a client. It does not touch the network yet.
func connectHTTP(settings httpTLS, timeout time.Duration) (*http.Client, error) {
	config, err := settings.config()
	if err != nil {
		return nil, err
	}
	return &http.Client{
		CheckRedirect: sameServer,
		// This is HTTP/1.1: a connection has one request under way, so that none waits
		// behind another's, and the limit of connections is that of requests.
		Transport: &http.Transport{
			TLSClientConfig: config,
			Proxy:           http.ProxyFromEnvironment,
			// A dial outlives its request, and counts.
			DialContext: (&net.Dialer{Timeout: timeout}).DialContext, TLSHandshakeTimeout: timeout,
			MaxConnsPerHost: maxInFlight, MaxIdleConnsPerHost: maxInFlight,
			IdleConnTimeout: time.Minute,
		},
	}, nil
}

// sameServer follows a redirect within one host only, and not out of TLS: the headers go
// with it.
func sameServer(request *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || request.URL.Hostname() != first.Hostname() ||
		(first.Scheme == "https" && request.URL.Scheme != "https") {
		return http.ErrUseLastResponse
	}
	return nil
}

// unreached is the error of a request that failed, without the URL, which the query's
// name has, and which could have credentials.
func unreached(err error, settings httpTLS) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var remote *net.OpError
	if !errors.As(err, &remote) || settings.cert != "" {
		return err
	}
	// The type of an alert is not exported. 116 is certificate_required. Older servers say
	// 42, bad_certificate, which to a client that has sent none means the same.
	switch remote.Err.Error() {
	case tls.AlertError(116).Error(), tls.AlertError(42).Error():
		return fmt.Errorf("client certificate required; set authModes tls, cert and key: %w", remote)
	}
	return err
}
