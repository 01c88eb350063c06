package egress_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/egress"
)

// TestCheck: what is dialled by which flags. The last column is what the error says;
// empty for an address that is allowed.
func TestCheck(t *testing.T) {
	const (
		thisHost = "0.0.0.0/8 (this host)"
		loopback = "127.0.0.0/8 (loopback)"
		cloud    = "169.254.0.0/16 (link-local, with clouds' metadata)"
	)
	for _, tt := range []struct {
		allow, deny string
		host, addr  string
		denied      string
	}{
		// Without a flag.
		{"", "", "redis.shop", "10.1.2.3", ""},
		{"", "", "redis.shop", "192.168.1.1", ""},
		{"", "", "prometheus.example", "203.0.113.7", ""},
		{"", "", "redis.shop", "fd12::7", ""},
		{"", "", "prometheus.example", "2001:db8::7", ""},
		{"", "", "redis.shop", "127.0.0.1", loopback},
		{"", "", "127.8.9.10", "127.8.9.10", loopback},
		{"", "", "::1", "::1", "::1/128 (loopback)"},
		{"", "", "0.0.0.0", "0.0.0.0", thisHost},
		{"", "", "::", "::", "::/128 (this host)"},
		{"", "", "169.254.169.254", "169.254.169.254", cloud},
		{"", "", "ecs", "169.254.170.2", cloud},
		{"", "", "fe80::1", "fe80::1%eth0", "fe80::/10 (link-local)"},
		{"", "", "aws", "fd00:ec2::254", "fd00:ec2::/32 (metadata of AWS)"},
		{"", "", "metadata.google.internal", "fd20:ce::254", "fd20:ce::/32 (metadata of Google Cloud)"},
		{"", "", "alibaba", "100.100.100.200", "100.100.100.200/32 (metadata of Alibaba Cloud)"},
		{"", "", "oracle", "192.0.0.192", "192.0.0.192/32 (metadata of Oracle Cloud)"},
		{"", "", "azure", "168.63.129.16", "168.63.129.16/32 (metadata of Azure)"},
		{"", "", "all", "224.0.0.1", "224.0.0.0/4 (multicast)"},
		{"", "", "all", "ff02::1", "ff00::/8 (multicast)"},
		// IPv4 in IPv6.
		{"", "", "mapped", "::ffff:127.0.0.1", loopback},
		{"", "", "mapped", "::ffff:169.254.169.254", cloud},
		{"", "", "mapped", "::ffff:10.1.2.3", ""},
		{"", "", "compatible", "::127.0.0.1", loopback},
		{"", "", "translated", "::ffff:0:169.254.169.254", cloud},
		{"", "", "nat64", "64:ff9b::169.254.169.254", cloud},
		{"", "", "nat64", "64:ff9b::10.1.2.3", ""},
		{"", "", "nat64", "64:ff9b:1::127.0.0.1", loopback},
		{"", "", "6to4", "2002:a9fe:a9fe::1", cloud},
		// What is allowed is dialled, and nothing else.
		{"127.0.0.0/8", "", "127.0.0.1", "127.0.0.1", ""},
		{"127.0.0.0/8", "", "127.0.0.1", "::ffff:127.0.0.1", ""},
		{"127.0.0.0/8", "", "nat64", "64:ff9b::127.0.0.1", ""},
		{"127.0.0.0/8", "", "::1", "::1", "::1/128 (loopback)"},
		{"::1", "", "::1", "::1", ""},
		{"::/0", "", "nat64", "64:ff9b::169.254.169.254", cloud},
		{"127.0.0.1", "", "127.0.0.2", "127.0.0.2", loopback},
		{"::ffff:127.0.0.1", "", "127.0.0.1", "127.0.0.1", ""},
		{"redis.shop", "", "redis.shop", "127.0.0.1", ""},
		{"redis.shop", "", "REDIS.shop.", "127.0.0.1", ""},
		{"redis.shop", "", "127.0.0.1", "127.0.0.1", loopback},
		{"*.shop", "", "a.b.shop", "127.0.0.1", ""},
		{"*.shop", "", "shop", "127.0.0.1", loopback},
		{"*", "", "127.0.0.1", "169.254.169.254", ""},
		{"*", "", "::", "::", ""},
		// What is denied besides.
		{"", "10.0.0.0/8", "redis.shop", "10.1.2.3", "10.0.0.0/8 are denied to triggers by --deny-address"},
		{"", "10.0.0.0/8", "redis.shop", "64:ff9b::10.1.2.3", "10.0.0.0/8"},
		{"", "10.0.0.0/8", "redis.shop", "11.1.2.3", ""},
		{"", "*.corp", "vault.corp", "11.1.2.3", "names like *.corp are denied to triggers by --deny-address"},
		{"", "*.corp", "VAULT.Corp.", "11.1.2.3", "*.corp"},
		{"", "*.corp", "11.1.2.3", "11.1.2.3", ""},
		// An allowlist: all is denied but some.
		{"10.1.0.0/16", "*", "redis.shop", "10.1.2.3", ""},
		{"10.1.0.0/16", "*", "redis.shop", "10.2.2.3", "0.0.0.0/0"},
		{"10.1.0.0/16", "*", "redis.shop", "2001:db8::7", "::/0"},
		{"*.shop.svc", "*", "redis.shop.svc", "10.2.2.3", ""},
		{"*.shop.svc", "*", "redis.shop.svc.evil.example", "10.2.2.3", "0.0.0.0/0"},
		{"*.shop.svc", "*.svc", "redis.shop.svc", "10.2.2.3", ""},
		{"10.1.0.0/16", "*.svc", "redis.shop.svc", "10.1.2.3", ""},
	} {
		rules, err := egress.Parse(words(tt.allow), words(tt.deny))
		if err != nil {
			t.Fatal(err)
		}
		err = rules.Check(tt.host, netip.MustParseAddr(tt.addr))
		name := tt.host + " at " + tt.addr + " with --allow-address=" + tt.allow + " --deny-address=" + tt.deny
		switch {
		case tt.denied == "" && err != nil:
			t.Errorf("%s: %v; want it allowed", name, err)
		case tt.denied != "" && (!isDenied(err) || !strings.Contains(err.Error(), tt.denied)):
			t.Errorf("%s: got %v, want it denied for %s", name, err, tt.denied)
		}
	}
}

func isDenied(err error) bool { return errors.As(err, new(egress.DeniedError)) }

func words(text string) []string { return strings.Fields(text) }

func TestNothingIsDeniedEverywhere(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1", "169.254.169.254", "64:ff9b::169.254.169.254"} {
		if err := egress.Everywhere().Check("", netip.MustParseAddr(addr)); err != nil {
			t.Error(err)
		}
	}
}

// TestParseRefuses: a slip in a rule must not make one that fits nothing, or too much.
func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "10.0.0.0/33", "10.1.2.3/8", "10.0.0", "10.*", "fe80::1%eth0", "::ffff:10.0.0.0/104", "redis:6379",
		"http://redis", "a b", "[a-z].shop", "10.0.0.0/", "shop/8", "?", "**",
	} {
		if _, err := egress.Parse([]string{"10.0.0.0/8", text}, nil); err == nil || !strings.Contains(err.Error(), "--allow-address is") {
			t.Errorf("%q: got error %v, want one that names the flag", text, err)
		}
		if _, err := egress.Parse(nil, []string{text}); err == nil || !strings.Contains(err.Error(), "--deny-address is") {
			t.Errorf("%q: got error %v, want one that names the flag", text, err)
		}
	}
}

// FuzzCheck: no way to write an address gets by what is denied of it, nor can an entry of
// a flag break what is built in for other addresses.
func FuzzCheck(f *testing.F) {
	f.Add("10.0.0.0/8", "169.254.169.254")
	f.Add("*.shop", "::ffff:127.0.0.1")
	f.Add("fe80::/10", "64:ff9b::7f00:1")
	f.Fuzz(func(t *testing.T, entry, text string) {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return
		}
		denied, err := egress.Parse(nil, []string{entry})
		if err != nil {
			return
		}
		bare := addr.Unmap().WithZone("")
		if unsafe := bare.IsLoopback() || bare.IsLinkLocalUnicast() || bare.IsMulticast() || bare.IsUnspecified(); unsafe && denied.Check(text, addr) == nil {
			t.Errorf("%s is allowed with --deny-address=%s", text, entry)
		}
		var none *egress.Rules
		if none.Check(text, addr) != nil && denied.Check(text, addr) == nil {
			t.Errorf("%s is allowed by --deny-address=%s alone", text, entry)
		}
		if egress.Everywhere().Check(text, addr) != nil {
			t.Errorf("%s is denied with --allow-address=*", text)
		}
	})
}
