package egress

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Rules decide about addresses. Nil rules, and those without entries, deny what is built
// in and allow the rest. They do not change, and are safe for concurrent use.
type Rules struct{ allowed, denied entries }

// entries are one flag's: networks, and patterns of names.
type entries struct {
	networks []netip.Prefix
	names    []string
}

// DeniedError says why an address is not dialled. It names the rule and not the address:
// of a name with several addresses that is another one each time, and what DNS or another
// server has answered is not shown.
type DeniedError string

func (e DeniedError) Error() string { return string(e) }

func denied(format string, args ...any) error { return DeniedError(fmt.Sprintf(format, args...)) }

// builtIn is what is denied unless a flag allows it. What is not in it, such as private
// networks, is where queues are.
var builtIn = []struct {
	network netip.Prefix
	what    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("::/128"), "this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, with clouds' metadata"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "metadata of AWS"},
	{netip.MustParsePrefix("fd20:ce::/32"), "metadata of Google Cloud"},
	{netip.MustParsePrefix("100.100.100.200/32"), "metadata of Alibaba Cloud"},
	{netip.MustParsePrefix("192.0.0.192/32"), "metadata of Oracle Cloud"},
	{netip.MustParsePrefix("fd00:c1::/32"), "metadata of Oracle Cloud"},
	{netip.MustParsePrefix("fd00:42::/32"), "metadata of Scaleway"},
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata of Azure"},
}

// Parse reads what the flags --allow-address and --deny-address say, each entry a network
// such as 10.0.0.0/8, an address, a pattern of names such as *.shop.svc, in which * is any
// text, or * alone for every address. An allowed address is dialled whatever denies it,
// and so is what an allowed name leads to. Without any entry the rules are nil. The error
// names every entry that is none.
func Parse(allow, deny []string) (*Rules, error) {
	if len(allow)+len(deny) == 0 {
		return nil, nil //nolint:nilnil // nil rules are rules
	}
	allowed, allowErr := parseEntries("--allow-address", allow)
	denied, denyErr := parseEntries("--deny-address", deny)
	return &Rules{allowed, denied}, errors.Join(allowErr, denyErr)
}

// Everywhere are the rules that deny nothing.
func Everywhere() *Rules { return &Rules{allowed: entries{networks: everything()}} }

func everything() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
}

func parseEntries(flag string, texts []string) (entries, error) {
	var e entries
	var problems []error
	for _, text := range texts {
		if text == "*" {
			e.networks = append(e.networks, everything()...)
		} else if network, err := parseNetwork(text); err == nil {
			e.networks = append(e.networks, network)
		} else if name := normal(text); legalPattern(name) {
			e.names = append(e.names, name)
		} else {
			problems = append(problems, fmt.Errorf("%s is %q; it must be a network such as 10.0.0.0/8, an address such as 10.1.2.3, a name such as redis.shop.svc or *.shop.svc, or *", flag, text))
		}
	}
	return e, errors.Join(problems...)
}

// parseNetwork reads a network without bits beyond its length, of which nobody could say
// what they mean, or an address.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		if addr.Zone() == "" {
			return netip.PrefixFrom(addr, addr.BitLen()), nil
		}
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, err
	case network != network.Masked() || network.Addr().Is4In6():
		return netip.Prefix{}, errors.New("no network")
	}
	return network, nil
}

// legalPattern reports whether a text can be a name: one without a letter is a network or
// address with a slip in it, which must not become a rule that fits nothing.
func legalPattern(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return strings.ContainsAny(text, letters) && strings.Trim(text, letters+"0123456789.-_*") == ""
}

// normal is a name as it is compared: DNS does not care for case, and knows a dot at the end.
func normal(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Check says why an address, which a host's name has led to, is not to be dialled: the
// error is a DeniedError. host may be the address itself.
func (r *Rules) Check(host string, addr netip.Addr) error {
	if r == nil {
		return (&Rules{}).Check(host, addr)
	}
	if r.allowed.name(host) != "" {
		return nil
	}
	byName := r.checkName(host)
	for _, form := range forms(addr) {
		if r.allowed.network(form).IsValid() {
			continue
		}
		if err := cmp.Or(byName, r.checkForm(form)); err != nil {
			return err
		}
	}
	return nil
}

// checkName is what can be said of a name without its addresses.
func (r *Rules) checkName(host string) error {
	if r == nil {
		return nil
	}
	if pattern := r.denied.name(host); pattern != "" && r.allowed.name(host) == "" {
		return denied("names like %s are denied to triggers by --deny-address", pattern)
	}
	return nil
}

// checkUnknown is about a name whose addresses nobody here knows.
func (r *Rules) checkUnknown(host string) error {
	if r == nil || r.allowed.name(host) != "" {
		return nil
	}
	for _, network := range everything() {
		if !slices.Contains(r.denied.networks, network) {
			return nil
		}
	}
	return denied("all that is not allowed is denied to triggers by --deny-address, and the name cannot be looked up")
}

// checkForm is about one form of an address that no flag allows.
func (r *Rules) checkForm(addr netip.Addr) error {
	if network := r.denied.network(addr); network.IsValid() {
		return denied("addresses in %s are denied to triggers by --deny-address", network)
	}
	for _, b := range builtIn {
		if b.network.Contains(addr) {
			return denied("addresses in %s (%s) are denied to triggers; an operator can allow some by --allow-address", b.network, b.what)
		}
	}
	return nil
}

// network is the first that has the address; invalid if none has.
func (e entries) network(addr netip.Addr) netip.Prefix {
	for _, network := range e.networks {
		if network.Contains(addr) {
			return network
		}
	}
	return netip.Prefix{}
}

// name is the first pattern that fits a host's name; empty if none does, or if the host
// is an address.
func (e entries) name(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	at := slices.IndexFunc(e.names, func(pattern string) bool {
		fits, err := path.Match(pattern, normal(host))
		return fits && err == nil
	})
	if at < 0 {
		return ""
	}
	return e.names[at]
}
