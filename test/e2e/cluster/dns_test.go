package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestNameServer(t *testing.T) {
	t.Parallel()
	server, err := startNameServer()
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.addr())
	}}
	want := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}
	server.set(want)
	got, err := resolver.LookupNetIP(t.Context(), "ip4", scalerName)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = got[i].Unmap()
	}
	slices.SortFunc(got, netip.Addr.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("resolved %v, want %v", got, want)
	}
	var failure *net.DNSError
	if _, err := resolver.LookupHost(t.Context(), "other.test"); !errors.As(err, &failure) || !failure.IsNotFound {
		t.Errorf("another name: %v", err)
	}
}
