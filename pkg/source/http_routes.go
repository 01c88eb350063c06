package source

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
)

// routes are the two ways to a server: straight, and by the proxy that the environment
// names. The proxy is the operator's, and dialled wherever it is; where it leads to is
// checked before it is asked.
type routes struct {
	proxy            func(*http.Request) (*url.URL, error)
	dialer           egress.Dialer
	straight, behind *http.Transport
}

// newRoutes returns a transport. This is HTTP/1.1: a connection has one request under way,
// so that none waits behind another's, and the limit of connections is that of requests.
func newRoutes(config *tls.Config, dialer egress.Dialer, proxy func(*http.Request) (*url.URL, error)) routes {
	straight := &http.Transport{
		TLSClientConfig: config,
		// A dial outlives its request, and counts.
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialer.Timeout,
		MaxConnsPerHost: maxInFlight, MaxIdleConnsPerHost: maxInFlight,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeaders,
	}
	behind := straight.Clone()
	behind.Proxy, behind.DialContext = proxy, (&net.Dialer{Timeout: dialer.Timeout}).DialContext
	return routes{proxy, dialer, straight, behind}
}

// RoundTrip implements http.RoundTripper. It sees each redirect too.
func (r routes) RoundTrip(request *http.Request) (*http.Response, error) {
	proxy, err := r.proxy(request)
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return r.straight.RoundTrip(request)
	}
	if err := r.dialer.CheckBehindProxy(request.Context(), request.URL.Hostname()); err != nil {
		return nil, err
	}
	return r.behind.RoundTrip(request)
}

// CloseIdleConnections is what http.Client calls by its own method of that name.
func (r routes) CloseIdleConnections() {
	r.straight.CloseIdleConnections()
	r.behind.CloseIdleConnections()
}
