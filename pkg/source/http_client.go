package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
	"unique"
)

const (
	// maxInFlight is how many requests one replica has under way at one server, at most:
	// less than half of the 20 queries that Prometheus runs at a time.
	maxInFlight = 8
	// maxAnswer is the longest answer that is read. One of one series has some 200 bytes.
	maxAnswer = 1 << 20
	// maxHeaders is how long an answer's headers may be, all together.
	maxHeaders = 64 << 10
	// maxRedirects is enough for http to https and a path to another.
	maxRedirects = 3
)

// httpClients are the connections to all HTTP servers, whatever the type of the trigger.
type httpClients struct {
	// pool has a client for each TLS setting: those share connections.
	pool *pool[httpTLS, *http.Client]
}

func newHTTPClients(timeout, idle time.Duration) httpClients {
	return httpClients{newPool(idle,
		func(settings httpTLS) (*http.Client, error) { return connectHTTP(settings, timeout) },
		(*http.Client).CloseIdleConnections,
	)}
}

// close closes all connections. It may be called again.
func (c httpClients) close() { c.pool.shut() }

// httpAnswer is what a server has answered.
type httpAnswer struct {
	status int
	body   []byte
	// moved is the scheme and host to which the server sends on, if it does.
	moved string
	// sent is what its words must not repeat.
	sent secrets
}

// get asks for a path, with its parameters, by the context's end. The error is of an
// answer that did not come or is too long; one with a status of failure is none.
func (c httpClients) get(ctx context.Context, at unique.Handle[httpServer], path string) (httpAnswer, error) {
	server := at.Value()
	client, release, err := c.pool.acquire(server.tls)
	if err != nil {
		return httpAnswer{}, err
	}
	defer release()
	sent := server.secrets()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.base+path, http.NoBody)
	if err != nil {
		return httpAnswer{}, inWords(unreached(err, server.tls), sent)
	}
	request.Header = server.header()
	response, err := client.Do(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return httpAnswer{}, noAnswer(ctx.Err())
	case err != nil:
		return httpAnswer{}, inWords(unreached(err, server.tls), sent)
	}
	defer func() { _ = response.Body.Close() }()
	answer := httpAnswer{status: response.StatusCode, sent: sent}
	if location, err := response.Location(); err == nil && answer.status < 400 {
		answer.moved = location.Scheme + "://" + location.Host
	}
	answer.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return httpAnswer{}, noAnswer(ctx.Err())
	case !answer.success(): // which says enough, be the body what it may
	case err != nil:
		return httpAnswer{}, inWords(fmt.Errorf("the answer breaks off: %w", err), sent)
	case len(answer.body) > maxAnswer:
		return httpAnswer{}, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return answer, nil
}

func (a httpAnswer) success() bool { return a.status >= 200 && a.status <= 299 }

// refusal is the error of a status that is none of success, with the server's reason, or
// nil if it gives none.
func (a httpAnswer) refusal(reason error) error {
	status := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	switch {
	case a.moved != "":
		return fmt.Errorf("%s: redirected to %s, which is not followed", status, a.sent.excerpt(a.moved))
	case reason != nil:
		return fmt.Errorf("%s: %w", status, reason)
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
			IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeaders,
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
