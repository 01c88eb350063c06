package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Audience is to whom decisions are shown, and who may have them forgotten. They tell the
// names of queues and servers. The zero value is Local.
type Audience string

// The audiences, as a flag names them.
const (
	// Nobody is for those who read the log.
	Nobody Audience = "off"
	// Local are callers in the same pod. kubectl port-forward makes one of whoever the
	// cluster allows it to.
	Local Audience = "local"
	// Everybody is whoever reaches the port.
	Everybody Audience = "all"
)

// Audiences are the names of all audiences.
func Audiences() []string { return []string{string(Local), string(Everybody), string(Nobody)} }

// has reports whether a caller belongs to the audience.
func (a Audience) has(r *http.Request) bool {
	if a == Everybody || a == Nobody {
		return a == Everybody
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback() && localName(r.Host)
}

// localName reports whether a server was called by a name that leads nowhere else. Behind
// any other may be a page in a browser, whose owner has pointed that name at this server.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || (err == nil && addr.Unmap().IsLoopback())
}
