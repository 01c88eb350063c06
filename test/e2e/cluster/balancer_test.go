package cluster

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestBalancer wants connections to reach all replicas in turn, those that are not up
// none of them, and nobody to be told that nobody is up.
func TestBalancer(t *testing.T) {
	b, err := startBalancer()
	if err != nil {
		t.Fatal(err)
	}
	defer b.stop()
	first, second := greeter(t, "first"), greeter(t, "second")
	for _, c := range []struct {
		up   []netip.AddrPort
		want string
	}{
		{[]netip.AddrPort{first, second}, "second first second first"},
		{[]netip.AddrPort{first}, "first first first first"},
		{nil, "   "},
		{[]netip.AddrPort{second}, "second second second second"},
	} {
		b.set(c.up)
		var met []string
		for range 4 {
			met = append(met, meet(t, b))
		}
		if got := strings.Join(met, " "); got != c.want {
			t.Errorf("with %v up connections met %q, want %q", c.up, got, c.want)
		}
	}
}

// TestBalancerEndsQuietConnections wants a connection that nobody uses to be closed,
// after a time and not before, and one in use to stay.
func TestBalancerEndsQuietConnections(t *testing.T) {
	begin := time.Now()
	for _, c := range []struct {
		name   string
		age    time.Duration
		silent time.Duration
		want   bool
	}{
		{"young and silent", connectionAge - time.Second, connectionAge - time.Second, false},
		{"old and in use", time.Hour, connectionPause / 2, false},
		{"old and silent", time.Hour, 2 * connectionPause, true},
	} {
		l := &link{born: begin.Add(-c.age)}
		l.last.Store(int64(c.age - c.silent))
		if got := l.mayEnd(); got != c.want {
			t.Errorf("%s: ended %v, want %v", c.name, got, c.want)
		}
	}
}

// greeter is a server that says its name.
func greeter(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(conn, name)
			_ = conn.Close()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// meet connects, and returns the name of who answers.
func meet(t *testing.T, b *balancer) string {
	t.Helper()
	conn, err := net.Dial("tcp", local(b.port()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, _ := bufio.NewReader(conn).ReadString('\n') // nothing if nobody is up
	return strings.TrimSpace(line)
}
