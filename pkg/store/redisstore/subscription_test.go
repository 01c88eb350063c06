package redisstore

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
)

// channel is a Redis for one subscriber, in a bubble of its own time. What it is asked, and
// what the subscriber hears, it writes down with the time since it began.
type channel struct {
	t    *testing.T
	born time.Time

	mu sync.Mutex
	// deaf: it takes what is sent, and answers nothing.
	deaf                      bool
	subscribed, pinged, heard []time.Duration
	connections               []net.Conn // the open ones, the latest last
}

// subscription runs a test on a subscriber that has just begun, and ends it.
func subscription(t *testing.T, deaf bool, test func(c *channel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &channel{t: t, born: time.Now(), deaf: deaf}
		store := c.store()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- store.Subscribe(ctx, c.poked) }()
		test(c)
		cancel()
		before := time.Now()
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(before) > 0 {
			t.Errorf("Subscribe returned %v, %v after it was told", err, time.Since(before))
		}
		synctest.Wait()
		if len(c.connections) > 0 {
			t.Errorf("%d connections are left open", len(c.connections))
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// store is one in that Redis.
func (c *channel) store() *Store {
	return &Store{client: target{single: &redis.Options{Dialer: c.dial}}.connect()}
}

func (c *channel) poked(string, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, time.Since(c.born))
}

func (c *channel) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections = append(c.connections, server)
	go c.serve(server)
	return client, nil
}

func (c *channel) serve(connection net.Conn) {
	defer c.hangUp(connection)
	reader := bufio.NewReader(connection)
	for {
		sent, err := proto.Read(reader)
		if err != nil {
			return
		}
		words, err := proto.ReadStrings(sent)
		if err != nil {
			c.t.Error(err)
			return
		}
		if _, err := io.WriteString(connection, c.answer(words)); err != nil {
			return
		}
	}
}

// answer is that of a server of the plain protocol.
func (c *channel) answer(words []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := proto.Error("ERR unknown command")
	switch strings.ToLower(words[0]) {
	case "hello":
		return reply
	case "subscribe":
		c.subscribed = append(c.subscribed, time.Since(c.born))
		reply = proto.Array(proto.String("subscribe"), proto.String(words[1]), proto.Int(1))
	case "ping":
		c.pinged = append(c.pinged, time.Since(c.born))
		reply = proto.Strings("pong", "")
	}
	if c.deaf {
		return ""
	}
	return reply
}

// hangUp closes a connection.
func (c *channel) hangUp(connection net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = connection.Close() // by either side first
	c.connections = slices.DeleteFunc(c.connections, func(open net.Conn) bool { return open == connection })
}

func (c *channel) latest() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections[len(c.connections)-1]
}

func (c *channel) poke() {
	if _, err := io.WriteString(c.latest(), proto.Strings("message", pokeChannel, "shop/worker")); err != nil {
		c.t.Error(err)
	}
}

func (c *channel) turnDeaf(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = deaf
}

// at moves time to so long after the beginning, when all that happens then has happened.
func (c *channel) at(since time.Duration) {
	time.Sleep(time.Until(c.born.Add(since)))
	synctest.Wait()
}

func (c *channel) want(what string, happened *[]time.Duration, want ...time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(*happened, want) {
		c.t.Errorf("%s at %v, want %v", what, *happened, want)
	}
}

// After 2 s of silence a subscriber asks whether anybody is there, and after 2 s without an
// answer it begins anew, 100 ms later. Whatever it hears is an answer.
func TestASilentSubscriptionHasToAnswer(t *testing.T) {
	subscription(t, false, func(c *channel) {
		c.at(5 * time.Second)
		c.poke()
		c.at(8 * time.Second)
		c.turnDeaf(true)
		c.at(11 * time.Second)
		c.want("asked", &c.pinged, 2*time.Second, 4*time.Second, 7*time.Second, 9*time.Second)
		c.turnDeaf(false)
		c.at(12 * time.Second)
		c.poke()
		c.at(13 * time.Second)
		c.want("subscribed", &c.subscribed, 0, 11100*time.Millisecond)
		c.want("heard", &c.heard, 5*time.Second, 12*time.Second)
	})
}

// A server that never says anything is asked as well before it is given up.
func TestASubscriptionThatIsNeverConfirmed(t *testing.T) {
	subscription(t, true, func(c *channel) {
		c.at(5 * time.Second)
		c.want("subscribed", &c.subscribed, 0, 4100*time.Millisecond)
		c.want("asked", &c.pinged, 2*time.Second)
	})
}

// One that breaks is known to be lost: it begins anew after 100 ms, and asks nobody.
func TestASubscriptionThatBreaks(t *testing.T) {
	subscription(t, false, func(c *channel) {
		c.at(time.Second)
		c.hangUp(c.latest())
		c.at(1500 * time.Millisecond)
		c.poke()
		c.at(3 * time.Second)
		c.want("asked", &c.pinged)
		c.want("heard", &c.heard, 1500*time.Millisecond)
		if last := c.subscribed[len(c.subscribed)-1]; last != 1100*time.Millisecond {
			t.Errorf("last subscribed at %v, want 1.1s", last)
		}
	})
}

// Nothing waits for a poke, so that one may take as long as a second.
func TestAPokeIsGivenUpAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{t: t, born: time.Now(), deaf: true}
		store := c.store()
		err := store.Publish(t.Context(), "shop", "worker")
		if took := time.Since(c.born); took != time.Second || !errors.Is(err, errSlow) || !strings.HasPrefix(err.Error(), "poke shop/worker: no answer from Redis in time (1s): ") {
			t.Errorf("after %v: %v", took, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
