package main

import (
	"fmt"
	"io"
	"net"
)

// ours is where the replicas and the client come from.
const ours = "127.0.0.1"

// serverSource and sentinelSource are where Redis' own servers come from when they call
// each other, of servers of data and of Sentinels, counted from 0. All are loopback.
func serverSource(i int) string   { return fmt.Sprintf("127.0.1.%d", i+1) }
func sentinelSource(i int) string { return fmt.Sprintf("127.0.2.%d", i+1) }

// sources are all places that somebody may call a server from.
func sources() []string {
	all := []string{ours}
	for i := range maxServers {
		all = append(all, serverSource(i))
	}
	for i := range sentinelCount {
		all = append(all, sentinelSource(i))
	}
	return all
}

// crossing is an address that a server announces as its own, to everybody. It tells
// callers apart by where they come from, and each has a link of its own to the server.
type crossing struct {
	listener net.Listener
	links    map[string]*link // by source
}

// newCrossing returns a crossing on a free port that leads to an address.
func newCrossing(to string) (*crossing, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a crossing: %w", err)
	}
	c := &crossing{listener: listener, links: map[string]*link{}}
	for _, source := range sources() {
		if c.links[source], err = newLink(to); err != nil {
			c.close()
			return nil, err
		}
	}
	go c.serve()
	return c, nil
}

// from is the link of those who come from a source; of ours if it is none of the sources.
func (c *crossing) from(source string) *link {
	if l, ok := c.links[source]; ok {
		return l
	}
	return c.links[ours]
}

func (c *crossing) addr() string { return c.listener.Addr().String() }

func (c *crossing) port() string { return portOf(c.addr()) }

func (c *crossing) close() {
	_ = c.listener.Close()
	for _, l := range c.links {
		if l != nil {
			l.close()
		}
	}
}

// serve passes callers on until the listener closes.
func (c *crossing) serve() {
	for {
		caller, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.pass(caller)
	}
}

// pass carries what a caller says over the link, and back, until either side ends. If the
// link is cut the caller's connection ends at once.
func (c *crossing) pass(caller net.Conn) {
	defer caller.Close() //nolint:errcheck // nothing is left to say
	source, _, err := net.SplitHostPort(caller.RemoteAddr().String())
	if err != nil {
		return
	}
	onward, err := net.Dial("tcp", c.from(source).addr)
	if err != nil {
		return
	}
	defer onward.Close() //nolint:errcheck // nothing is left to say
	ended := make(chan struct{}, 2)
	carry := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go carry(onward, caller)
	go carry(caller, onward)
	<-ended
}
