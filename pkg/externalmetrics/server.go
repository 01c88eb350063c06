package externalmetrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
)

const (
	// requestLimit ends a request, whatever it waits for. The HPA controller itself has
	// no limit, and while one of its five workers waits, a fifth of all HPAs do.
	requestLimit = 2 * time.Second
	// drainLimit bounds how long requests under way may take when the server ends. Every
	// one has its limit; only a client that does not read takes longer.
	drainLimit = 10 * time.Second
	// uriLimit is the longest path and query in bytes. Names are at most 253 long, and
	// what is left is for a selector; all of it may be passed on to the API server in a
	// review.
	uriLimit = 8 << 10
)

// Options configure a server. Policies, Evaluator and Cluster are required; the zero
// value of each other field means its default.
type Options struct {
	Policies  Policies
	Evaluator Evaluator
	// Cluster is the API server that is asked who somebody is and what they may.
	Cluster *rest.Config
	// Group is the API group that is served; DefaultGroup.
	Group string
	// Certificate and Key are PEM files to serve with, loaded again when they change.
	// Without them the server signs itself a certificate, which nobody can verify.
	Certificate, Key string
	// MinTLSVersion is one of crypto/tls; 0 is that of Kubernetes' own servers, 1.2.
	MinTLSVersion uint16
	// Ready says at /readyz why the process cannot answer; the default is nothing.
	Ready func(context.Context) error
	// Others are asked for what is no StabilizedMetric; nil for nobody.
	Others Others
	// Observe is told of every request for a metric that was allowed. It must be fast
	// and safe for concurrent use.
	Observe func(Call)
	// Logger gets panics, and at level debug refused credentials; nil drops them.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(Call) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server is an aggregated API server of one group.
type Server struct {
	generic   *genericserver.GenericAPIServer
	authority *authority
	run       func(context.Context) error
	// follow keeps up with what other servers have, until its context ends.
	follow func(context.Context)
}

// New returns a server. It reads the certificate, and talks to nobody.
func New(options Options) (*Server, error) {
	o := options.withDefaults()
	if o.Cluster == nil {
		return nil, errors.New("serve external metrics: no cluster to ask who somebody is")
	}
	g, err := newGroup(o.Group)
	if err != nil {
		return nil, err
	}
	certificate, err := servingCertificate(o.Certificate, o.Key)
	if err != nil {
		return nil, err
	}
	delegated, err := newDelegation(o.Cluster, o.Logger)
	if err != nil {
		return nil, err
	}
	config := newConfig(g, o)
	config.SecureServing = &genericserver.SecureServingInfo{Cert: certificate, ClientCA: anyAuthority{}, MinTLSVersion: o.MinTLSVersion}
	delegated.apply(config)

	generic, err := config.Complete(nil).New("dashpot", genericserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("serve external metrics: %w", err)
	}
	server := &Server{authority: delegated.authority, generic: generic, follow: func(context.Context) {}}
	var served provider.ExternalMetricsProvider = values{o.Policies, o.Evaluator, o.Observe}
	if o.Others != nil {
		all := newShared(values{o.Policies, o.Evaluator, o.Observe}, o.Others)
		served, server.follow = all, func(ctx context.Context) {
			all.follow(ctx, func() {
				if err := g.announce(generic, all); err != nil {
					o.Logger.ErrorContext(ctx, "discovery", "error", err)
				}
			})
		}
	}
	if err := g.install(generic, served); err != nil {
		return nil, err
	}
	server.run = generic.PrepareRun().RunWithContext
	return server, nil
}

// newConfig is the library's configuration without all that a server of numbers has no
// use for: no OpenAPI, of which there is nothing to say for names that anybody may
// choose; no metrics and profiles, which the process serves elsewhere.
func newConfig(g group, o Options) *genericserver.Config {
	config := genericserver.NewConfig(g.codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.SkipOpenAPIInstallation = true
	config.EnableIndex, config.EnableMetrics, config.EnableProfiling = false, false, false
	config.RequestTimeout = drainLimit // in this server only the time to drain; see chain
	config.LoopbackClientConfig = &rest.Config{}
	config.ExternalAddress = net.JoinHostPort("localhost", "443") // it is known by its Service
	alive := []healthz.HealthChecker{healthz.PingHealthz}
	ready := healthz.NamedCheck("process", func(r *http.Request) error { return o.Ready(r.Context()) })
	config.HealthzChecks, config.LivezChecks, config.ReadyzChecks = alive, alive, []healthz.HealthChecker{ready}
	config.BuildHandlerChainFunc = func(api http.Handler, c *genericserver.Config) http.Handler {
		if o.Others != nil {
			api = marked(api, g, o.Others)
		}
		return chain(api, c, o.Logger)
	}
	return config
}

// chain is what a request passes through, in reverse. It is the library's own chain
// without what costs a request much and gives an HPA nothing: audit, tracing, request
// logs, a goroutine per request, and the limit of requests in flight, whose answer says
// when to retry (see toStatus).
func chain(api http.Handler, c *genericserver.Config, log *slog.Logger) http.Handler {
	handler := filters.WithAuthorization(valuesOnly(api), c.Authorization.Authorizer, c.Serializer)
	handler = impersonation.WithImpersonation(handler, c.Authorization.Authorizer, c.Serializer)
	handler = filters.WithAuthentication(handler, c.Authentication.Authenticator, filters.Unauthorized(c.Serializer), nil, c.Authentication.RequestHeaderConfig)
	handler = filters.WithCacheControl(handler)
	handler = filters.WithRequestInfo(handler, c.RequestInfoResolver)
	return bounded(handler, log)
}

// valuesOnly refuses the one form of a list that the library would fail over as if by a
// fault of its own: the metadata of its items, of which values have none.
func valuesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			http.Error(w, "only values can be served, not their metadata", http.StatusNotAcceptable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bounded gives every request its limits, and turns a panic into an error.
func bounded(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				log.ErrorContext(ctx, "panic", "path", r.URL.Path, "panic", p)
				responsewriters.InternalError(w, r, errors.New("the server has logged a panic"))
			}
		}()
		if len(r.RequestURI) > uriLimit {
			http.Error(w, fmt.Sprintf("the path and query have %d bytes; at most %d are allowed", len(r.RequestURI), uriLimit), http.StatusRequestURITooLong)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Ready returns why the server would not recognise the API server yet.
func (s *Server) Ready(ctx context.Context) error { return s.authority.ready(ctx) }

// Run gets to know the API server, calls open and serves on what it returns until the
// context ends; then it lets requests finish. open may wait, for Ready among others.
func (s *Server) Run(ctx context.Context, open func(context.Context) (net.Listener, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() { s.authority.run(ctx) })
	following.Go(func() { s.follow(ctx) })

	listener, err := open(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil
	default:
		return fmt.Errorf("serve external metrics: %w", err)
	}
	s.generic.SecureServingInfo.Listener = listener
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("serve external metrics: %w", err)
	}
	return nil
}
