package cluster

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// A connection is closed once it has lived for connectionAge and nobody has said
// anything on it for connectionPause, which is longer than an answer takes. Its
// client comes again and meets the next replica: one connection that lasts for
// ever would have one replica asked and the others never.
const (
	connectionAge   = 3 * time.Second
	connectionPause = 700 * time.Millisecond
	dialTimeout     = time.Second
)

// balancer is the one address of several replicas, as a Service is: it passes
// connections on to those that are up, in turn.
type balancer struct {
	listener net.Listener

	mu   sync.Mutex
	up   []netip.AddrPort
	next int
}

func startBalancer() (*balancer, error) {
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", local(port))
	if err != nil {
		return nil, fmt.Errorf("listen for the replicas: %w", err)
	}
	b := &balancer{listener: listener}
	go b.serve()
	return b, nil
}

func (b *balancer) port() int {
	return int(netip.MustParseAddrPort(b.listener.Addr().String()).Port())
}

func (b *balancer) stop() { _ = b.listener.Close() }

// set replaces the replicas that are up. Connections to others end by themselves,
// with those.
func (b *balancer) set(up []netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up = up
}

func (b *balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // stopped
		}
		go b.pass(client)
	}
}

// pass connects a client to the next replica, or to nobody if none is up.
func (b *balancer) pass(client net.Conn) {
	defer client.Close() //nolint:errcheck // both ends are gone by then
	server, err := b.dial()
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // both ends are gone by then
	link := &link{born: time.Now()}
	link.heard()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], &listening{way[1], link}) // either end may leave at any time
			ended <- struct{}{}
		}()
	}
	ticker := time.NewTicker(connectionPause / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			if link.mayEnd() {
				return
			}
		}
	}
}

func (b *balancer) dial() (net.Conn, error) {
	b.mu.Lock()
	if len(b.up) == 0 {
		b.mu.Unlock()
		return nil, fmt.Errorf("no replica is up")
	}
	b.next++
	addr := b.up[b.next%len(b.up)]
	b.mu.Unlock()
	return net.DialTimeout("tcp", addr.String(), dialTimeout)
}

// link is one connection through the balancer.
type link struct {
	born time.Time
	last atomic.Int64 // when something was said, in nanoseconds after born
}

func (l *link) heard() { l.last.Store(int64(time.Since(l.born))) }

func (l *link) mayEnd() bool {
	age := time.Since(l.born)
	return age > connectionAge && age-time.Duration(l.last.Load()) > connectionPause
}

// listening notes when something arrives.
type listening struct {
	io.Reader
	link *link
}

func (l *listening) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.link.heard()
	return n, err
}
