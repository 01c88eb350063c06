package main

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// greeter is the address of a server that says hello to whoever comes.
func greeter(t *testing.T) string {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "hello")
		}
	}()
	return server.Addr().String()
}

// hears reports whether who comes from a source to an address is greeted, if it waits for
// so long.
func hears(source, addr string, patience time.Duration) bool {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	conn, err := dialer.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line == "hello\n"
}

// TestLink: nobody is heard over a link that is disturbed, and everybody once it is mended,
// at the same address.
func TestLink(t *testing.T) {
	l, err := newLink(greeter(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { l.close() }()
	const hour = 3_600_000
	for name, disturb := range map[string]func() error{
		"cut": l.cut, "slow": func() error { return l.slow(hour, 1) }, "half-open": l.halfOpen,
	} {
		if !hears(ours, l.addr, time.Minute) {
			t.Errorf("before it is %s: nothing is heard", name)
		}
		if err := disturb(); err != nil {
			t.Fatal(err)
		}
		if hears(ours, l.addr, 200*time.Millisecond) {
			t.Errorf("%s: it is heard all the same", name)
		}
		if err := l.mend(); err != nil {
			t.Fatal(err)
		}
		if !hears(ours, l.addr, time.Minute) {
			t.Errorf("after it was %s: nothing is heard", name)
		}
	}
}

// TestCrossing: who comes from one place is cut off, and nobody else.
func TestCrossing(t *testing.T) {
	c, err := newCrossing(greeter(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	const stranger = "127.9.9.9" // one of ours
	steps := []struct {
		name  string
		do    func() error
		heard map[string]bool
	}{
		{"nothing", func() error { return nil }, map[string]bool{ours: true, stranger: true, serverSource(1): true, sentinelSource(0): true}},
		{"a server cut off", c.from(serverSource(1)).cut, map[string]bool{ours: true, stranger: true, serverSource(1): false, serverSource(0): true}},
		{"it comes back", c.from(serverSource(1)).mend, map[string]bool{serverSource(1): true}},
		{"ours cut off", c.from(ours).cut, map[string]bool{ours: false, stranger: false, serverSource(1): true, sentinelSource(2): true}},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for source, want := range step.heard {
			if got := hears(source, c.addr(), time.Minute); got != want {
				t.Errorf("%s: heard from %s: %v, want %v", step.name, source, got, want)
			}
		}
	}
}
