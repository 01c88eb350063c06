package redisstore

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
)

// proxy stands between a client and a server, counts round trips and loses answers.
type proxy struct {
	addr string

	mu       sync.Mutex
	upstream string
	trips    int
	// lose counts down with each answer; the one that makes it 0 is lost, and its
	// connection closed.
	lose int
}

func startProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: listener.Addr().String(), upstream: upstream}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) roundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// loseAnswers loses the nth answer from now.
func (p *proxy) loseAnswers(nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = nth
}

// redirect sends connections that are yet to come to another server.
func (p *proxy) redirect(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
}

func (p *proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream
}

// serve copies both ways. A round trip is a change of direction, from the server's
// talking to the client's.
func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target())
	if err != nil {
		_ = client.Close()
		return
	}
	asked := false
	forward := func(from, to net.Conn, pass func() bool) {
		defer client.Close()
		defer server.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil || !pass() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go forward(client, server, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !asked {
			asked = true
			p.trips++
		}
		return true
	})
	forward(server, client, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if asked {
			asked = false
			p.lose--
		}
		return p.lose != 0
	})
}

// nodeOf is the address of the node that keeps a Redis key.
func nodeOf(t *testing.T, store *Store, redisKey string) string {
	t.Helper()
	node, err := store.client.(*redis.ClusterClient).MasterForKey(t.Context(), redisKey)
	if err != nil {
		t.Fatal(err)
	}
	return node.Options().Addr
}

// ownerOf is the node of a cluster that keeps the record of jobs.
func ownerOf(t *testing.T, cluster *redistest.Cluster) *redistest.Server {
	t.Helper()
	store := open(t, "redis-cluster://"+cluster.Nodes[0].Addr(), patient)
	addr := nodeOf(t, store, store.redisKey(jobs))
	for _, node := range cluster.Nodes {
		if node.Addr() == addr {
			return node
		}
	}
	t.Fatalf("no node has the address %s", addr)
	return nil
}

// rewire returns a client of the same cluster that reaches one node through a proxy.
func rewire(t *testing.T, client redis.UniversalClient, addr, proxied string) redis.UniversalClient {
	t.Helper()
	options := *client.(*redis.ClusterClient).Options()
	options.MaxRetries = -1
	options.Dialer = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == addr {
			to = proxied
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	return target{cluster: &options}.connect()
}
