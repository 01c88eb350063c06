package main

import (
	"fmt"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// link is a way from one process to another that can be disturbed.
type link struct {
	proxy *toxiproxy.Proxy
	addr  string
}

// newLink returns a link on a free port that leads to an address.
func newLink(to string) (*link, error) {
	l := &link{addr: "127.0.0.1:0"}
	if err := l.open(to); err != nil {
		return nil, fmt.Errorf("open a link to %s: %w", to, err)
	}
	l.addr = l.proxy.Listen
	return l, nil
}

// open begins to listen at the link's address, undisturbed.
func (l *link) open(to string) error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l.proxy = toxiproxy.NewProxy(server, to, l.addr, to)
	return l.proxy.Start()
}

// portOf is that of an address.
func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

func (l *link) close() { l.proxy.Stop() }

// cut ends all connections and refuses new ones.
func (l *link) cut() error {
	l.proxy.Stop()
	return nil
}

// slow lets every packet of answers wait: about the store's deadline of 50 ms on every
// way to Redis, and more than a caller's patience of 500 ms elsewhere.
func (l *link) slow(milliseconds, jitter int) error {
	return l.add("latency", "downstream", fmt.Sprintf(`{"latency": %d, "jitter": %d}`, milliseconds, jitter))
}

// halfOpen keeps connections open, and accepts new ones, while nothing arrives.
func (l *link) halfOpen() error {
	if err := l.add("timeout", "upstream", `{"timeout": 0}`); err != nil {
		return err
	}
	return l.add("timeout", "downstream", `{"timeout": 0}`)
}

func (l *link) add(kind, stream, attributes string) error {
	name := kind + "-" + stream
	text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "toxicity": 1, "attributes": %s}`, name, kind, stream, attributes)
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		return fmt.Errorf("disturb the link %s: %w", l.addr, err)
	}
	return nil
}

// mend undoes all of that. Connections on which nothing arrived have lost data: they end,
// as they would by TCP's own means when packets pass again. The proxy is a new one, because
// taking a disturbance out of one waits 5 s for each connection that ended with it.
func (l *link) mend() error {
	l.proxy.Stop()
	if err := l.open(l.proxy.Upstream); err != nil {
		return fmt.Errorf("mend the link %s: %w", l.addr, err)
	}
	return nil
}
