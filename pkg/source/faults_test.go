package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestHangingServer: a read of a server that has stopped answering ends by its
// deadline or its cancellation, and delays no read of another server.
func TestHangingServer(t *testing.T) {
	hanging, healthy := redistest.Start(t), redistest.Start(t)
	table := New(Options{Addresses: egress.Everywhere(), Timeout: 400 * time.Millisecond})
	t.Cleanup(table.Close)
	slow, quick := list(t, table, hanging.Addr(), "jobs"), list(t, table, healthy.Addr(), "jobs")
	wantValue(t, table, slow, 0)
	wantValue(t, table, quick, 0)

	hanging.Suspend()
	var reads sync.WaitGroup
	for _, limit := range []struct{ ctx, want time.Duration }{{time.Minute, 400 * time.Millisecond}, {50 * time.Millisecond, 50 * time.Millisecond}} {
		reads.Go(func() {
			started := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), limit.ctx)
			defer cancel()
			got := table.Read(ctx, []scaling.Query{slow})[0]
			// A busy machine may be late, but not by the minute that the context allows.
			if took := time.Since(started); took < limit.want || took > limit.want+5*time.Second {
				t.Errorf("took %v, want about %v", took, limit.want)
			}
			if got.Err == nil || !strings.HasPrefix(got.Err.Error(), slow.String()) {
				t.Errorf("got %v, want an error that names the query", got)
			}
		})
	}
	reads.Go(func() {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if got := table.Read(ctx, []scaling.Query{slow})[0]; !errors.Is(got.Err, context.Canceled) {
			t.Errorf("got %v, want a cancellation", got)
		}
	})
	for range 100 {
		wantValue(t, table, quick, 0)
	}
	reads.Wait()

	hanging.Resume()
	waitFor(t, table, slow, 0)
}

// TestBreakerOpens: three failures in a row make the next read fail at once; when the
// server is back, so are the readings.
func TestBreakerOpens(t *testing.T) {
	server := redistest.Start(t)
	table := New(Options{Addresses: egress.Everywhere(), Timeout: 150 * time.Millisecond})
	t.Cleanup(table.Close)
	q := list(t, table, server.Addr(), "jobs")
	server.Suspend()
	for range breakAfter {
		// A new question only once the last one is over, also behind the scenes.
		if got := readOne(t, table, q); got.Err == nil {
			t.Errorf("got %v from a server that hangs", got.Value)
		}
		waitIdle(table, q)
	}
	started := time.Now()
	if last := readOne(t, table, q); time.Since(started) > 100*time.Millisecond || !errors.Is(last.Err, context.DeadlineExceeded) {
		t.Errorf("got %v after %v, want the last failure at once", last.Err, time.Since(started))
	}
	server.Resume()
	waitFor(t, table, q, 0)
}

// waitIdle waits until nobody uses the query's client.
func waitIdle(table *Table, q scaling.Query) {
	for busy := true; busy; time.Sleep(time.Millisecond) {
		servers := redisOf(table).servers
		servers.mu.Lock()
		busy = servers.clients[q.(redisQuery).server].users > 0
		servers.mu.Unlock()
	}
}

// waitFor reads until the value is there: a breaker may still be open.
func waitFor(t *testing.T, table *Table, q scaling.Query, want float64) {
	t.Helper()
	var got scaling.Outcome
	for range 400 {
		if got = readOne(t, table, q); got.Err == nil && got.Value == want {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Errorf("%s does not read %v again: %v, %v", q, want, got.Value, got.Err)
}

func TestRestartedServer(t *testing.T) {
	server, table := redistest.Start(t), newTable(t)
	q := list(t, table, server.Addr(), "jobs")
	wantValue(t, table, q, 0)
	server.Kill()
	if got := readOne(t, table, q); got.Err == nil {
		t.Error("a dead server has no length")
	}
	server.Restart()
	do(t, admin(t, server.Addr()), "RPUSH jobs a b")
	waitFor(t, table, q, 2)
}

// TestUnusedClientsAreClosed: and what is asked again is connected again.
func TestUnusedClientsAreClosed(t *testing.T) {
	server := redistest.Start(t)
	table := New(Options{Addresses: egress.Everywhere(), Idle: 20 * time.Millisecond})
	t.Cleanup(table.Close)
	q := list(t, table, server.Addr(), "jobs")
	for range 2 {
		wantValue(t, table, q, 0)
		for open := 1; open > 0; time.Sleep(time.Millisecond) {
			servers := redisOf(table).servers
			servers.mu.Lock()
			open = len(servers.clients)
			servers.mu.Unlock()
		}
	}
}

func TestClusterAndSentinel(t *testing.T) {
	t.Run("cluster", func(t *testing.T) {
		nodes, table := redistest.StartCluster(t), newTable(t)
		queries := make([]scaling.Query, 0, 6)
		for _, name := range []string{"a", "b", "c", "d", "e"} { // on all three nodes
			queries = append(queries, query(t, table, "redis-cluster", values{"addresses": nodes.Nodes[0].Addr(), "listName": name}))
		}
		queries = append(queries, query(t, table, "redis-cluster-streams", values{
			"addresses": nodes.Nodes[0].Addr(), "stream": "s", "consumerGroup": "g", "lagCount": "1",
		}))
		client := redisOf(table).servers.clients
		for range 2 {
			for i, got := range table.Read(t.Context(), queries) {
				if got.Err != nil || got.Value != 0 {
					t.Errorf("%s: got %v, %v", queries[i], got.Value, got.Err)
				}
			}
		}
		if len(client) != 1 {
			t.Errorf("%d clients for one cluster", len(client))
		}
		for _, name := range []string{"a", "b", "c"} {
			do(t, client[queries[0].(redisQuery).server].client.conn, "RPUSH "+name+" x y")
		}
		for i, got := range table.Read(t.Context(), queries[:3]) {
			if got.Err != nil || got.Value != 2 {
				t.Errorf("%s: got %v, %v", queries[i], got.Value, got.Err)
			}
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		group, table := redistest.StartSentinel(t), newTable(t)
		do(t, admin(t, group.Primary.Addr()), "RPUSH jobs a b c")
		do(t, admin(t, group.Primary.Addr()), "XADD s * f v")
		common := values{"address": group.Sentinel.Addr(), "sentinelMaster": group.Name, "listName": "jobs"}
		wantValue(t, table, query(t, table, "redis-sentinel", common), 3)
		delete(common, "listName")
		common["stream"] = "s"
		wantValue(t, table, query(t, table, "redis-sentinel-streams", common), 1)
	})
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	// The plain port is for the test's own housekeeping.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = listener.Close()
	server := redistest.Start(t, redistest.WithArgs("--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no"))
	do(t, admin(t, server.Addr()), "RPUSH jobs a b")

	table := newTable(t)
	with := func(changes values) scaling.Query {
		changes["address"], changes["listName"] = address, "jobs"
		return query(t, table, "redis", changes)
	}
	wantValue(t, table, with(values{"source.enableTLS": "true", "source.unsafeSsl": "true"}), 2)
	unknown := x509.UnknownAuthorityError{}
	if got := readOne(t, table, with(values{"source.enableTLS": "true"})); !errors.As(got.Err, &unknown) {
		t.Errorf("got %v, want an error about the certificate", got)
	}
	if got := readOne(t, table, with(values{})); got.Err == nil {
		t.Error("a TLS port answered without TLS")
	}
}

// certificate writes a self-signed certificate and its key to files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", encoded)
}
