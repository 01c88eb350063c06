package delegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// header marks a request as one that has been passed on.
const header = "X-Dashpot-Delegated"

const (
	// maxAnswer is the longest answer that is read: some 10,000 items.
	maxAnswer = 4 << 20
	// maxWords is how many bytes of a refusal are kept. HPAs have them in their status.
	maxWords = 4096
)

// server is one delegate.
type server struct {
	Config
	// root is the URL of its API.
	root    string
	client  *http.Client
	slots   chan struct{}
	breaker breaker

	mu sync.Mutex
	// listed are the names that it has told last.
	listed []string
}

// answer is what a delegate has said, of whatever status.
type answer struct {
	status int
	body   []byte
	// secret is what the delegate was sent and no message may show; empty for nothing.
	secret string
}

// connect returns the delegate of a configuration. cluster has the credentials for those
// without their own; nil for none.
func connect(c Config, cluster *rest.Config) (*server, error) {
	config := &rest.Config{
		Host: c.URL, UserAgent: "dashpot",
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: c.CAFile, ServerName: c.ServerName, Insecure: c.InsecureSkipVerify,
			CertFile: c.CertFile, KeyFile: c.KeyFile,
			// HTTP/1.1 drops a connection on which an answer is late, and so finds out
			// what has become of the server at once.
			NextProtos: []string{"http/1.1"},
		},
		BearerTokenFile: c.TokenFile,
	}
	if c.TokenFile == "" && c.CertFile == "" && cluster != nil {
		lend(config, cluster)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("delegate %s at %s: %w", c.Name, c.URL, err)
	}
	own := *client // the library may hand out one of others
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &server{
		Config: c, root: c.URL + "/apis/" + c.GroupVersion, client: &own, slots: make(chan struct{}, c.MaxConcurrent),
	}, nil
}

// lend gives a delegate the credentials for the cluster, and nothing else of it.
func lend(config, cluster *rest.Config) {
	config.Username, config.Password = cluster.Username, cluster.Password
	config.BearerToken, config.BearerTokenFile = cluster.BearerToken, cluster.BearerTokenFile
	config.AuthProvider, config.ExecProvider = cluster.AuthProvider, cluster.ExecProvider
	config.CertFile, config.KeyFile = cluster.CertFile, cluster.KeyFile
	config.CertData, config.KeyData = cluster.CertData, cluster.KeyData
}

// get asks for a path below the root. Its error, which does not name the delegate, is of
// an answer that did not come.
func (s *server) get(ctx context.Context, path string) (answer, error) {
	if err := s.breaker.refuses(time.Now()); err != nil {
		return answer{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := s.enter(bounded); err != nil {
		return answer{}, err
	}
	defer func() { <-s.slots }()
	asked := time.Now()
	if err := s.breaker.admit(asked); err != nil { // which has changed its mind meanwhile
		return answer{}, err
	}
	a, err := s.ask(bounded, path)
	now := time.Now()
	switch {
	case err == nil:
		s.breaker.succeed()
	case errors.Is(ctx.Err(), context.Canceled): // nobody waits any longer, which says nothing
	case ctx.Err() != nil && now.Sub(asked) < s.Timeout/2:
		err = errors.New("no answer in what was left of the request's time")
	default:
		s.breaker.fail(now, err)
	}
	return a, err
}

// enter waits for a turn, for half of the time at most: what is left has to be enough for
// an answer, or a delegate with many callers would seem to be down.
func (s *server) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(s.Timeout / 2)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return fmt.Errorf("%d requests are under way, as many as maxConcurrent allows", s.MaxConcurrent)
}

func (s *server) ask(ctx context.Context, path string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.root+path, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set(header, "1")
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, s.inWords(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil: // whatever came after it may be of a server that saw us leave
		return answer{}, s.inWords(ctx, ctx.Err())
	case err != nil:
		return answer{}, fmt.Errorf("the answer breaks off: %w", s.inWords(ctx, err))
	}
	// The request of a response is the one that was sent, with its credentials.
	_, secret, _ := strings.Cut(response.Request.Header.Get("Authorization"), " ")
	return answer{response.StatusCode, body, secret}, nil
}

// inWords is an error of a connection in words that stay the same while the fault does:
// without the URL, which whoever names the delegate says, and without a local port.
func (s *server) inWords(ctx context.Context, err error) error {
	var timeout net.Error
	if ctx.Err() != nil || (errors.As(err, &timeout) && timeout.Timeout()) {
		return fmt.Errorf("no answer within %v", s.Timeout)
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var connection *net.OpError
	if errors.As(err, &connection) {
		return fmt.Errorf("%s: %w", connection.Op, connection.Err)
	}
	return err
}

// named says whose error it is.
func (s *server) named(err error) error {
	return fmt.Errorf("delegate %s at %s: %w", s.Name, s.URL, err)
}
