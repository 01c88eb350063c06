package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of the HTTP server. Its answers are small and made from memory; only
// a request that reaches Redis can take a second.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10 // the URL is part of it
	maxBodyBytes      = 4 << 10  // no request needs a body
	shutdownTimeout   = 5 * time.Second
)

// ServeHTTP serves until the context ends, and then lets the requests that are
// under way finish.
func ServeHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           http.MaxBytesHandler(handler, maxBodyBytes),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut HTTP down: %w", errors.Join(err, server.Close()))
	}
	return nil
}
