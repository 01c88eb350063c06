package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// maxInFlight is how many requests one replica has under way at one server, at most:
	// less than half of the 20 queries that Prometheus runs at a time.
	maxInFlight = 8
	// maxAnswer is the longest answer that is read. One of one series has some 200 bytes.
	maxAnswer = 1 << 20
	// shortAnswer is how long an answer may be that nobody counts, longAnswers how many
	// others there may be for each that is looked at.
	shortAnswer, longAnswers = 64 << 10, 4
	// maxHeaders is how long an answer's headers may be, all together.
	maxHeaders = 64 << 10
	// maxRedirects is enough for http to https and a path to another.
	maxRedirects = 3
)

// httpClients are the connections to all HTTP servers, whatever the type of the trigger.
type httpClients struct {
	// pool has a client for each TLS setting: those share connections.
	pool *pool[httpTLS, *http.Client]
	// long has room for the answers that are longer than shortAnswer, and parsing for those
	// that are looked at.
	long, parsing chan struct{}
}

// newHTTPClients returns clients that look at so many answers at a time, of servers that
// the dialer reaches.
func newHTTPClients(idle time.Duration, parsing int, dialer egress.Dialer) httpClients {
	return httpClients{
		pool: newPool(idle,
			func(settings httpTLS) (*http.Client, error) { return connectHTTP(settings, dialer) },
			(*http.Client).CloseIdleConnections,
		),
		long: make(chan struct{}, longAnswers*parsing), parsing: make(chan struct{}, parsing),
	}
}

// close closes all connections. It may be called again.
func (c httpClients) close() { c.pool.shut() }

// get asks for a path, with its parameters, and returns what decode makes of the answer,
// by the context's end. The error is of an answer that did not come or is too long; one
// with a status of failure is none.
func (c httpClients) get(ctx context.Context, at unique.Handle[httpServer], path string, decode func(httpAnswer) scaling.Outcome) (scaling.Outcome, error) {
	server := at.Value()
	client, release, err := c.pool.acquire(server.tls)
	if err != nil {
		return scaling.Outcome{}, err
	}
	defer release()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.base+path, http.NoBody)
	if err != nil {
		return scaling.Outcome{}, inWords(err, server.base, "no request can be made of it")
	}
	request.Header = server.header()
	response, err := client.Do(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return scaling.Outcome{}, noAnswer(ctx.Err())
	case err != nil:
		return scaling.Outcome{}, unreached(err, server)
	}
	defer func() { _ = response.Body.Close() }()
	answer := httpAnswer{status: response.StatusCode}
	if to, err := response.Location(); err == nil && answer.status < 400 {
		answer.moved = cmp.Or(away(request.URL, to), "too often")
	}
	var leave func()
	answer.body, leave, err = c.body(ctx, response.Body)
	defer leave()
	switch {
	case err != nil && ctx.Err() != nil:
		return scaling.Outcome{}, noAnswer(ctx.Err())
	case !answer.success(): // which says enough, be the body what it may
	case err != nil:
		return scaling.Outcome{}, fmt.Errorf("the answer breaks off: %w", inWords(err, server.base, "it is no HTTP"))
	case len(answer.body) > maxAnswer:
		return scaling.Outcome{}, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	parsed, err := enter(ctx, c.parsing)
	if err != nil {
		return scaling.Outcome{}, err
	}
	defer parsed()
	return decode(answer), nil
}

// body reads an answer, of which it returns maxAnswer and one more bytes at most. All but a
// short one take room, until leave is called; leave is never nil.
func (c httpClients) body(ctx context.Context, from io.Reader) (body []byte, leave func(), err error) {
	leave = func() {}
	body, err = io.ReadAll(io.LimitReader(from, shortAnswer))
	if err != nil || len(body) < shortAnswer {
		return body, leave, err
	}
	if leave, err = enter(ctx, c.long); err != nil {
		return body, leave, err
	}
	rest, err := io.ReadAll(io.LimitReader(from, maxAnswer+1-shortAnswer))
	return append(body, rest...), leave, err
}

// enter waits for room; leave, which is never nil, makes it free again.
func enter(ctx context.Context, room chan struct{}) (leave func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return func() {}, noAnswer(context.Cause(ctx))
	}
}

// connectHTTP makes a client. It does not touch the network yet.
func connectHTTP(settings httpTLS, dialer egress.Dialer) (*http.Client, error) {
	config, err := settings.config()
	if err != nil {
		return nil, err
	}
	return &http.Client{CheckRedirect: sameServer, Transport: newRoutes(config, dialer, http.ProxyFromEnvironment)}, nil
}

// sameServer follows a redirect within one host only, and not out of TLS: the headers go
// with it.
func sameServer(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || away(via[0].URL, request.URL) != "" {
		return http.ErrUseLastResponse
	}
	return nil
}

// unreached is the error of a request that failed, without the URL, which the query's
// name has, and which could have credentials.
func unreached(err error, server httpServer) error {
	var remote *net.OpError
	if errors.As(err, &remote) && server.tls.cert == "" {
		// The type of an alert is not exported. 116 is certificate_required. Older servers
		// say 42, bad_certificate, which to a client that has sent none means the same.
		switch remote.Err.Error() {
		case tls.AlertError(116).Error(), tls.AlertError(42).Error():
			return failure{"client certificate required; set authModes tls, cert and key", err}
		}
	}
	return inWords(err, server.base, "the server does not speak HTTP, or its headers are longer than 64 KiB")
}
