package egress

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dialer dials what rules allow.
type Dialer struct {
	Rules *Rules
	// Timeout ends a dial; none if zero.
	Timeout time.Duration
}

// DialContext connects by TCP to host:port. Each address that is tried is checked right
// before its connection is made; for one that is denied, the error wraps a
// DeniedError.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: d.Timeout, Control: func(_, remote string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(remote)
		if err != nil { // a socket in the file system, for one
			return denied("all but TCP is denied to triggers")
		}
		return d.Rules.Check(host, at.Addr())
	}}
	return dialer.DialContext(ctx, network, address)
}

// CheckBehindProxy is for a host that a proxy dials. What its name leads to only the proxy
// knows. It is looked up here too; if that fails, the name alone is checked, unless only what
// is allowed may be dialled. A proxy may read 2852039166 or letters of another width as an
// address, so no host may be written so.
func (d Dialer) CheckBehindProxy(ctx context.Context, host string) error {
	if err := d.Rules.checkName(host); err != nil {
		return err
	}
	if !plain(host) {
		return denied("hosts that are neither a plain name nor an address are denied to triggers behind a proxy")
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // of an address it is that
	if err != nil {
		return d.Rules.checkUnknown(host)
	}
	for _, addr := range addrs {
		if err := d.Rules.Check(host, addr); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether everybody takes a host for the same: an address as netip writes it,
// or a name in ASCII whose last label is no number.
func plain(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	name := normal(host)
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return legalPattern(name) && !strings.Contains(name, "*") && err != nil && !strings.HasPrefix(last, "0x")
}
