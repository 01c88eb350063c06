package egress_test

import (
	"net"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/egress"
)

// listener accepts connections on a loopback address, and counts them.
func listener(t *testing.T) (address string, accepted chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepted = make(chan struct{}, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), accepted
}

// TestDialChecksTheAddressOfAName: localhost is a name, and what it leads to is checked, in
// whatever way it is written.
func TestDialChecksTheAddressOfAName(t *testing.T) {
	address, accepted := listener(t)
	_, port, _ := net.SplitHostPort(address)
	for _, host := range []string{"localhost", "LOCALHOST", "127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::", "::1"} {
		_, err := egress.Dialer{Timeout: time.Minute}.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if !isDenied(err) {
			t.Errorf("%s: got %v, want it denied", host, err)
		}
	}
	if len(accepted) > 0 {
		t.Errorf("%d connections were made to what is denied", len(accepted))
	}
	allowed, err := egress.Parse([]string{"localhost"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := egress.Dialer{Rules: allowed}.DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", port))
	if err != nil {
		t.Fatalf("a name that is allowed: %v", err)
	}
	_ = conn.Close()
}

// TestDialKnowsTCPOnly: a client that takes an address for a path of a socket gets nowhere.
func TestDialKnowsTCPOnly(t *testing.T) {
	path := t.TempDir() + "/socket:1"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := (egress.Dialer{Rules: egress.Everywhere()}).DialContext(t.Context(), "unix", path); !isDenied(err) {
		t.Errorf("got %v, want it denied", err)
	}
}

func TestCheckBehindProxy(t *testing.T) {
	deny, err := egress.Parse(nil, []string{"*.corp.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	only, err := egress.Parse([]string{"10.0.0.0/8", "*.shop.invalid"}, []string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rules  *egress.Rules
		host   string
		denied bool
	}{
		{nil, "2852039166", true}, // 169.254.169.254, to who reads numbers
		{nil, "0xa9fea9fe", true},
		{nil, "169.254.43518", true},
		{nil, "127.1.", true},
		{nil, "169。254。169。254", true},
		{nil, "１６９.254.169.254", true},
		{nil, "0x7f.1.invalid", false}, // a name, if a strange one
		{only, "nobody.invalid", true},
		{only, "queue.shop.invalid", false},
		{only, "10.1.2.3", false},
		{nil, "169.254.169.254", true},
		{nil, "localhost", true},
		{nil, "::ffff:127.0.0.1", true},
		{nil, "203.0.113.7", false},
		{nil, "nobody.invalid", false}, // which the proxy may know
		{deny, "vault.corp.invalid", true},
		{egress.Everywhere(), "169.254.169.254", false},
	} {
		if err := (egress.Dialer{Rules: tt.rules}).CheckBehindProxy(t.Context(), tt.host); isDenied(err) != tt.denied {
			t.Errorf("%s: got %v, want denied %v", tt.host, err, tt.denied)
		}
	}
}
