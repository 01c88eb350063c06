package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// reading is what the source answered once.
type reading struct {
	at    time.Duration
	value float64
}

// jobServer is a server whose number follows the script. It knows by the path of a
// request which workload it is for.
type jobServer struct {
	server *httptest.Server
	load   script
	now    func() time.Duration
	hung   atomic.Pointer[chan struct{}] // closed when it answers again; nil if it does

	mu       sync.Mutex
	readings map[string][]reading
}

func newJobServer(load script, now func() time.Duration) *jobServer {
	s := &jobServer{load: load, now: now, readings: map[string][]reading{}}
	s.server = httptest.NewServer(s)
	return s
}

func (s *jobServer) addr() string { return s.server.Listener.Addr().String() }

// ServeHTTP answers with the number of this moment.
func (s *jobServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if hung := s.hung.Load(); hung != nil {
		select {
		case <-*hung:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := reading{s.now(), s.load.at(s.now())}
	if _, err := fmt.Fprintf(w, `{"jobs": %g}`, answered.value); err == nil {
		s.readings[r.URL.Path] = append(s.readings[r.URL.Path], answered)
	}
}

// answered is all that was read for a workload.
func (s *jobServer) answered(workload string) []reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.readings["/"+workload])
}

// hang lets all requests wait until resume.
func (s *jobServer) hang() {
	hung := make(chan struct{})
	s.hung.Store(&hung)
}

func (s *jobServer) resume(context.Context) error {
	if hung := s.hung.Swap(nil); hung != nil {
		close(*hung)
	}
	return nil
}

func (s *jobServer) close() {
	_ = s.resume(context.Background())
	s.server.Close()
}
