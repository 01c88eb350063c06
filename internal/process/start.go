package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
)

// Program is a main: a command line and what to do with it.
type Program[O interface{ Common() Options }] struct {
	Name string
	// Parse reads a command line; help goes to out.
	Parse func(args []string, getenv func(string) string, out io.Writer) (O, error)
	// Run works until the context ends.
	Run func(context.Context, O, *slog.Logger) error
}

// Main runs the program with the process's own command line and environment, and
// returns the exit code.
func (p Program[O]) Main() int { return p.Start(os.Args[1:], os.Getenv, os.Stdout, os.Stderr) }

// Start returns the exit code: 0 for an orderly end, 1 for a failure, 2 for a
// command line that makes no sense.
func (p Program[O]) Start(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := p.Parse(args, getenv, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	case o.Common().Version:
		_, _ = fmt.Fprintln(stdout, Version())
		return 0
	}
	log := NewLogger(stderr, o.Common().LogLevel, o.Common().LogFormat)
	AdoptLibraries(log)
	ctx, stop := Context()
	defer stop()
	if err := p.Run(ctx, o, log); err != nil {
		log.Error(p.Name+" failed", "error", err)
		return 1
	}
	return 0
}

// Base is what a process has from its first moment to its last.
type Base struct {
	Log     *slog.Logger
	Mux     *http.ServeMux
	Metrics *Metrics
	Probes  *Probes
	// Certificates are nil without --tls-cert. They are reloaded already.
	Certificates *Certificates
}

// errStarting is why a process is not ready before it knows what it needs.
var errStarting = errors.New("starting")

// Serve serves probes and metrics while run runs, and returns when all calls under way
// have then been answered. HTTP comes first and goes last, so that the probes tell what
// the process waits for at both ends of its life.
func Serve(ctx context.Context, o Options, log *slog.Logger, run func(context.Context, Base) error) error {
	var certificates *Certificates
	if o.TLS.Cert != "" {
		var err error
		if certificates, err = LoadCertificates(o.TLS); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.HTTPAddress)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	log.Info("serving HTTP", "address", listener.Addr().String(), "tls", o.TLS.HTTP, "version", Version())
	if o.TLS.HTTP {
		listener = tls.NewListener(listener, certificates.HTTPConfig())
	}
	base := Base{
		Log: log, Mux: http.NewServeMux(), Metrics: NewMetrics(), Certificates: certificates,
		Probes: NewProbes(Check{Name: "process", Test: func(context.Context) error { return errStarting }}),
	}
	base.Probes.Register(base.Mux)
	base.Mux.Handle("GET /metrics", base.Metrics.Handler())

	group, ctx := errgroup.WithContext(ctx)
	httpCtx, stopHTTP := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return ServeHTTP(httpCtx, listener, base.Mux) })
	if certificates != nil {
		group.Go(func() error {
			certificates.Run(httpCtx, log)
			return nil
		})
	}
	group.Go(func() error {
		defer stopHTTP()
		return run(ctx, base)
	})
	return group.Wait()
}
