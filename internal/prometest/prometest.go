// Package prometest runs real Prometheus servers for tests, each with series that the
// test sets. It brings its own server (see [Binary]) and fails, never skips, when it
// cannot.
package prometest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

const (
	startTimeout = 30 * time.Second
	pollPeriod   = 20 * time.Millisecond
)

// User and Password are what a server WithBasicAuth wants.
const (
	User     = "dashpot"
	Password = "secret"
	// passwordHash is bcrypt's of Password, at its lowest cost.
	passwordHash = "$2a$04$oEY1nhUbnlJD4S0OpsohnOR6h4WynUWN0CHWae.6m/lozCv7dfdPW"
)

// Server is a Prometheus server on a port of its own, which scrapes what Set sets.
type Server struct {
	dir     string
	port    int
	web     web
	target  *httptest.Server
	exposed *exposition
	client  *http.Client
	process *child.Process
	// authority and the certificates that it issued; nil without TLS.
	authority       *authority
	serving, asking pair
	fail            func(error) // how a fault is reported
}

// web is how the server protects itself.
type web struct{ tls, clientCertificates, basicAuth bool }

// Option changes how a server is started.
type Option func(*web)

// WithTLS makes the server speak TLS, with a certificate of an authority of its own.
func WithTLS() Option { return func(w *web) { w.tls = true } }

// WithClientCertificates makes it speak TLS, and refuse whoever has no certificate of
// its authority.
func WithClientCertificates() Option {
	return func(w *web) { w.tls, w.clientCertificates = true, true }
}

// WithBasicAuth makes it refuse whoever is not User with Password.
func WithBasicAuth() Option { return func(w *web) { w.basicAuth = true } }

// Start runs a server until the test ends.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	server, err := Launch(opts...)
	if err != nil {
		tb.Fatalf("start a Prometheus server: %v", err)
	}
	server.fail = func(err error) {
		tb.Helper()
		tb.Fatalf("prometest: %v", err)
	}
	tb.Cleanup(server.Close)
	return server
}

// Launch runs a server outside a test; Close ends it. A fault later on panics, as there
// is no test to fail.
func Launch(opts ...Option) (*Server, error) {
	dir, err := os.MkdirTemp("", "dashpot-prometheus-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for Prometheus: %w", err)
	}
	s := &Server{dir: dir, exposed: &exposition{}, client: &http.Client{}, fail: func(err error) { panic(err) }}
	for _, opt := range opts {
		opt(&s.web)
	}
	s.target = httptest.NewServer(s.exposed)
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// URL is the server's address, without credentials.
func (s *Server) URL() string {
	scheme := "http"
	if s.web.tls {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// CA is the certificate of the server's authority, in PEM; empty without TLS.
func (s *Server) CA() string {
	if s.authority == nil {
		return ""
	}
	return s.authority.pem
}

// ClientCertificate is a certificate of the server's authority and its key, in PEM;
// empty without TLS.
func (s *Server) ClientCertificate() (cert, key string) { return s.asking.cert, s.asking.key }

// Set gives a series, such as jobs{queue="a"}, a value, and returns when the server
// answers with it.
func (s *Server) Set(series string, value float64) {
	s.exposed.set(series, value)
	s.Await(series, strconv.FormatFloat(value, 'f', -1, 64))
}

// Remove ends a series, and returns when the server answers without it.
func (s *Server) Remove(series string) {
	s.exposed.remove(series)
	s.Await(series, "")
}

// Suspend stops the server's execution: connections stay open and new ones are accepted
// by the kernel, but nothing answers. The signal stops one thread after the other: it
// returns when an answer fails to come.
func (s *Server) Suspend() {
	s.signal(syscall.SIGSTOP)
	err := s.poll(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		if _, err := s.value(ctx, "vector(1)"); err == nil {
			return errors.New("suspended, and it answers")
		}
		return nil
	})
	if err != nil {
		s.fail(err)
	}
}

// Resume lets a suspended server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if err := s.process.Signal(sig); err != nil {
		s.fail(err)
	}
}

// Close ends the server for good and removes its data. Start does this by itself when
// the test ends.
func (s *Server) Close() {
	if s.process != nil {
		s.process.Kill()
	}
	s.client.CloseIdleConnections()
	s.target.Close()
	_ = os.RemoveAll(s.dir)
}

func (s *Server) start() error {
	binary, err := Binary()
	if err != nil {
		return err
	}
	if s.port, err = child.FreePort(); err != nil {
		return err
	}
	if err := s.writeConfiguration(); err != nil {
		return err
	}
	log, err := os.Create(s.path("log"))
	if err != nil {
		return fmt.Errorf("open the log of Prometheus: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has a copy of its own
	cmd := exec.Command(binary,
		"--config.file="+s.path("prometheus.yml"), "--web.config.file="+s.path("web.yml"),
		"--storage.tsdb.path="+s.path("data"), "--web.listen-address=127.0.0.1:"+strconv.Itoa(s.port))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if s.process, err = child.Start(cmd); err != nil {
		return err
	}
	return s.poll(func(ctx context.Context) error {
		if !s.process.Running() {
			return fmt.Errorf("%w: %w\n%s", errGone, s.process.Err(), s.logTail())
		}
		_, err := s.value(ctx, "vector(1)")
		return err
	})
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// writeConfiguration writes the files that the server reads, and prepares the client.
func (s *Server) writeConfiguration() error {
	files := map[string]string{"prometheus.yml": fmt.Sprintf(`
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs: [{job_name: test, static_configs: [{targets: [%q]}]}]
`, s.target.Listener.Addr().String())}
	var config strings.Builder
	if s.web.basicAuth {
		fmt.Fprintf(&config, "basic_auth_users: {%s: %s}\n", User, passwordHash)
	}
	if s.web.tls {
		if err := s.issueCertificates(); err != nil {
			return err
		}
		files["ca.pem"], files["cert.pem"], files["key.pem"] = s.authority.pem, s.serving.cert, s.serving.key
		config.WriteString("tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n")
	}
	if s.web.clientCertificates {
		config.WriteString("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n")
	}
	files["web.yml"] = config.String()
	for name, content := range files {
		if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("configure Prometheus: %w", err)
		}
	}
	return nil
}

func (s *Server) issueCertificates() (err error) {
	if s.authority, err = newAuthority(); err != nil {
		return err
	}
	if s.serving, err = s.authority.issue("prometheus"); err != nil {
		return err
	}
	if s.asking, err = s.authority.issue("test"); err != nil {
		return err
	}
	config, err := s.authority.config(s.asking)
	s.client.Transport = &http.Transport{TLSClientConfig: config}
	return err
}

// errGone is an error that no further attempt will mend.
var errGone = errors.New("prometheus ended")

// poll calls attempt until it returns nil or errGone, or the time is over; the last
// error is then part of the result.
func (s *Server) poll(attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		err := attempt(ctx)
		if err == nil || errors.Is(err, errGone) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w\n%s", ctx.Err(), err, s.logTail())
		case <-ticker.C:
		}
	}
}

// Await waits until the query has a value, written as Prometheus writes numbers; empty
// for no series.
func (s *Server) Await(query, want string) {
	err := s.poll(func(ctx context.Context) error {
		got, err := s.value(ctx, query)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %q, not %q", query, got, want)
		}
		return err
	})
	if err != nil {
		s.fail(err)
	}
}

// value asks the server for a query of one series at most.
func (s *Server) value(ctx context.Context, query string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/api/v1/query?query="+url.QueryEscape(query), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask Prometheus: %w", err)
	}
	request.SetBasicAuth(User, Password)
	response, err := s.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask Prometheus: %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("ask Prometheus: %w", err)
	}
	if len(answer.Data.Result) == 0 {
		return "", nil
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1]), nil
}

func (s *Server) logTail() string {
	content, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-2000):])
}
