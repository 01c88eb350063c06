package egress

import "net/netip"

// embeddings are the networks of IPv6 whose addresses stand for those of IPv4, and at
// which byte these begin. A translator on the way makes them such.
var embeddings = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // stateless translation, RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // NAT64 of one's own, RFC 8215, with 96 bits
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4, RFC 3056
}

// forms are what an address stands for: itself, without a zone, an address of IPv4 that is
// mapped into IPv6 as that, and then the one that a translator would make of it.
func forms(addr netip.Addr) []netip.Addr {
	addr = addr.Unmap().WithZone("")
	all := []netip.Addr{addr}
	if addr.Is4() || addr.IsLoopback() || addr.IsUnspecified() { // ::1 is not 0.0.0.1
		return all
	}
	bytes := addr.As16()
	for _, e := range embeddings {
		if e.network.Contains(addr) {
			all = append(all, netip.AddrFrom4([4]byte(bytes[e.at:e.at+4])))
		}
	}
	return all
}
