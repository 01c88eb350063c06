package externalmetrics

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// tokenTTL is for how long a token that was found good, or bad, stays so.
	tokenTTL = 10 * time.Second
	// allowedTTL is for how long a permission stays one. HPAs ask every 15 s, so that a
	// shorter time would ask the API server for each of their requests again: with 1,319
	// HPAs 88 times a second instead of 22. They come through the API server, which has
	// checked the permission itself; who comes directly keeps a lost one for so long.
	allowedTTL = time.Minute
	deniedTTL  = 10 * time.Second
	// authorityName is the ConfigMap in kube-system in which the API server says by what
	// certificate it is known when it passes requests on.
	authorityName = "extension-apiserver-authentication"
)

// healthPaths need no credentials: a kubelet has none.
func healthPaths() []string { return []string{"/healthz", "/livez", "/readyz"} }

// delegation lets the API server say who asks and what they may.
type delegation struct {
	authority     *authority
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
}

func newDelegation(config *rest.Config, log *slog.Logger) (delegation, error) {
	// Each has a client, and so a rate limit, of its own: strangers who try tokens
	// must not keep those waiting who are known.
	var clients [3]kubernetes.Interface
	for i := range clients {
		c := rest.CopyConfig(config)
		c.QPS, c.Burst = 200, 400 // the library's own for this purpose
		var err error
		if clients[i], err = kubernetes.NewForConfig(c); err != nil {
			return delegation{}, fmt.Errorf("client for %s: %w", config.Host, err)
		}
	}
	d := delegation{}
	var err error
	if d.authority, err = newAuthority(clients[0]); err != nil {
		return delegation{}, err
	}
	if d.authenticator, err = d.authority.authenticator(clients[1], log); err != nil {
		return delegation{}, err
	}
	d.authorizer, err = newAuthorizer(clients[2])
	return d, err
}

// authority knows by what certificates the API server and its clients are known. It is
// told of changes.
type authority struct {
	frontProxy *dynamiccertificates.ConfigMapCAController
	clients    *dynamiccertificates.ConfigMapCAController
	headers    *headerrequest.RequestHeaderAuthRequestController
}

func newAuthority(client kubernetes.Interface) (*authority, error) {
	bundle := func(purpose, key string) (*dynamiccertificates.ConfigMapCAController, error) {
		return dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, metav1.NamespaceSystem, authorityName, key, client)
	}
	frontProxy, err := bundle("front proxy", "requestheader-client-ca-file")
	if err != nil {
		return nil, fmt.Errorf("authority of the front proxy: %w", err)
	}
	clients, err := bundle("clients", "client-ca-file")
	if err != nil {
		return nil, fmt.Errorf("authority of clients: %w", err)
	}
	return &authority{frontProxy, clients, headerrequest.NewRequestHeaderAuthRequestController(
		authorityName, metav1.NamespaceSystem, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names",
	)}, nil
}

// run follows the ConfigMap until the context ends.
func (a *authority) run(ctx context.Context) {
	var controllers sync.WaitGroup
	controllers.Go(func() { a.frontProxy.Run(ctx, 1) })
	controllers.Go(func() { a.clients.Run(ctx, 1) })
	controllers.Go(func() { a.headers.Run(ctx, 1) })
	controllers.Wait()
}

// ready returns why requests of the API server would not be recognised yet.
func (a *authority) ready(ctx context.Context) error {
	if len(a.headers.UsernameHeaders()) > 0 && len(a.frontProxy.CurrentCABundleContent()) > 0 {
		return nil
	}
	if err := a.headers.RunOnce(ctx); err != nil {
		return fmt.Errorf("read the front proxy's certificate authority: %w", err)
	}
	if len(a.headers.UsernameHeaders()) == 0 {
		return fmt.Errorf("ConfigMap %s/%s has no requestheader-username-headers: the API server has no aggregation layer", metav1.NamespaceSystem, authorityName)
	}
	return errors.New("waiting for the front proxy's certificate authority")
}

// requestHeaders say in which headers the API server names the user.
func (a *authority) requestHeaders() *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   a.frontProxy,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(a.headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(a.headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(a.headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(a.headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(a.headers.AllowedClientNames),
	}
}

// authenticator knows the front proxy, client certificates and tokens. Strangers get no
// further than the health paths: otherwise every path that they try would cost the API
// server a review.
func (a *authority) authenticator(reviews kubernetes.Interface, log *slog.Logger) (authenticator.Request, error) {
	anonymous := &apiserver.AnonymousAuthConfig{Enabled: true}
	for _, p := range healthPaths() {
		anonymous.Conditions = append(anonymous.Conditions, apiserver.AnonymousAuthCondition{Path: p})
	}
	known, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: anonymous, TokenAccessReviewClient: reviews.AuthenticationV1(), TokenAccessReviewTimeout: requestLimit,
		WebhookRetryBackoff: noRetry(), CacheTTL: tokenTTL,
		ClientCertificateCAContentProvider: a.clients, RequestHeaderConfig: a.requestHeaders(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	return quiet(known, log), nil
}

// apply makes a server ask for credentials and permissions.
func (d delegation) apply(config *genericserver.Config) {
	config.Authentication.Authenticator = d.authenticator
	config.Authentication.RequestHeaderConfig = d.authority.requestHeaders()
	config.Authorization.Authorizer = d.authorizer
}

// anyAuthority makes the server ask for a client certificate without naming those who
// may have signed it, so that the client sends the one it has. Each request's
// authentication looks at who did.
type anyAuthority struct{}

// Name names nobody.
func (anyAuthority) Name() string { return "any" }

// CurrentCABundleContent is what clients are told: nothing.
func (anyAuthority) CurrentCABundleContent() []byte { return nil }

// VerifyOptions verifies nothing.
func (anyAuthority) VerifyOptions() (x509.VerifyOptions, bool) { return x509.VerifyOptions{}, false }

// AddListener has nothing to tell, for nothing changes.
func (anyAuthority) AddListener(dynamiccertificates.Listener) {}

// newAuthorizer lets everybody see the health paths, and asks the API server about all
// else.
func newAuthorizer(client kubernetes.Interface) (authorizer.Authorizer, error) {
	health, err := path.NewAuthorizer(healthPaths())
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	reviews, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: allowedTTL, DenyCacheTTL: deniedTTL,
		WebhookRetryBackoff: noRetry(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	return union.New(health, reviews), nil
}

// noRetry makes a review that fails an answer at once: who asks has no time for more.
func noRetry() *wait.Backoff { return &wait.Backoff{Steps: 1} }

// quiet turns the error about a bad token into a plain refusal. The library logs each
// one as an error, and whoever reaches the port could fill the log.
func quiet(known authenticator.Request, log *slog.Logger) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := known.AuthenticateRequest(r)
		if err != nil {
			log.DebugContext(r.Context(), "not authenticated", "from", r.RemoteAddr, "error", err)
			return nil, false, nil
		}
		return response, ok, nil
	})
}
