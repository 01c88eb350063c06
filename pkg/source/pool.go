package source

import (
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("closed")

// pool keeps one connected client per key, as long as somebody uses it and for a time
// after that.
type pool[K comparable, C any] struct {
	idle  time.Duration
	open  func(K) (C, error)
	close func(C)

	mu      sync.Mutex
	closed  bool
	clients map[K]*pooled[C]
}

type pooled[C any] struct {
	client C
	users  int
	// expiry closes the client once nobody has used it for long.
	expiry *time.Timer
}

// newPool returns a pool of clients that open makes, without touching the network yet,
// and close ends. A client is closed when nobody has used it for the idle time.
func newPool[K comparable, C any](idle time.Duration, open func(K) (C, error), closeClient func(C)) *pool[K, C] {
	return &pool[K, C]{idle: idle, open: open, close: closeClient, clients: map[K]*pooled[C]{}}
}

// acquire returns the client of a key, and what to call once it is no longer used.
func (p *pool[K, C]) acquire(key K) (client C, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return client, nil, errClosed
	}
	c, ok := p.clients[key]
	if !ok {
		if client, err = p.open(key); err != nil {
			return client, nil, err
		}
		c = &pooled[C]{client: client}
		p.clients[key] = c
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.users++
	return c.client, func() { p.release(key, c) }, nil
}

func (p *pool[K, C]) release(key K, c *pooled[C]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.users--
	switch {
	case c.users > 0 || p.closed:
	case c.expiry == nil:
		c.expiry = time.AfterFunc(p.idle, func() { p.expire(key, c) })
	default:
		c.expiry.Reset(p.idle)
	}
}

// expire closes a client, unless somebody has begun to use it meanwhile.
func (p *pool[K, C]) expire(key K, c *pooled[C]) {
	p.mu.Lock()
	unused := c.users == 0 && p.clients[key] == c
	if unused {
		delete(p.clients, key)
	}
	p.mu.Unlock()
	if unused {
		p.close(c.client)
	}
}

// shut closes all clients, used or not. Nothing can be acquired after it.
func (p *pool[K, C]) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.clients {
		if c.expiry != nil {
			c.expiry.Stop()
		}
		p.close(c.client)
	}
	clear(p.clients)
}
