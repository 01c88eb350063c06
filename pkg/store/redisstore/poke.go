package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// pokeChannel is shared by all instances: whoever puts work into a queue need not
// know them, and can say `redis-cli PUBLISH dashpot:poke shop/worker`.
const pokeChannel = "dashpot:poke"

const (
	// pokeTimeout ends an attempt to send one. No decision waits for it, so it may take
	// longer than those.
	pokeTimeout = time.Second
	// pokeSilence is how long a subscription may be silent before it has to answer a
	// ping, which it must do in as long again.
	pokeSilence = 2 * time.Second
	// pokeRetry is the pause before a lost subscription is renewed.
	pokeRetry = 100 * time.Millisecond
	// pokeMaxLength is that of the longest NAMESPACE/NAME in Kubernetes.
	pokeMaxLength = 63 + 1 + 253
)

// Publish tells all subscribers that the object has work. Nobody need be listening.
// It fails for a namespace or name that Kubernetes would not accept.
func (s *Store) Publish(ctx context.Context, namespace, name string) error {
	payload := namespace + "/" + name
	if _, _, ok := parsePoke(payload); !ok {
		return fmt.Errorf("poke %q: it must be NAMESPACE/NAME, each of a to z, 0 to 9, dots and dashes", payload)
	}
	err := within(ctx, pokeTimeout, func(ctx context.Context) error {
		return s.client.Publish(ctx, pokeChannel, payload).Err()
	})
	if err != nil {
		return fmt.Errorf("poke %s: %w", payload, err)
	}
	return nil
}

// Subscribe calls poked for every poke, one after the other, until ctx ends, and then
// returns ctx's error. It survives the loss of Redis; pokes that are sent meanwhile
// are lost, which delays an activation by one interval and does no other harm.
// Malformed payloads are ignored.
func (s *Store) Subscribe(ctx context.Context, poked func(namespace, name string)) error {
	for {
		s.listen(ctx, poked)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pokeRetry):
		}
	}
}

// listen is the life of one subscription. It returns when the connection is lost or
// ctx ends.
func (s *Store) listen(ctx context.Context, poked func(namespace, name string)) {
	subscription := s.client.Subscribe(ctx, pokeChannel)
	hangUp := func() { _ = subscription.Close() } // fails only when closed already
	defer hangUp()
	defer context.AfterFunc(ctx, hangUp)() // a read does not look at ctx
	pinged := false
	for {
		message, err := subscription.ReceiveTimeout(ctx, pokeSilence)
		switch {
		case err == nil:
			pinged = false
			if m, ok := message.(*redis.Message); ok {
				if namespace, name, ok := parsePoke(m.Payload); ok {
					poked(namespace, name)
				}
			}
		case pinged || !isTimeout(err) || subscription.Ping(ctx) != nil:
			return
		default:
			pinged = true
		}
	}
}

// parsePoke splits NAMESPACE/NAME.
func parsePoke(payload string) (namespace, name string, ok bool) {
	namespace, name, _ = strings.Cut(payload, "/")
	ok = len(payload) <= pokeMaxLength && isObjectName(namespace) && isObjectName(name)
	return namespace, name, ok
}

func isObjectName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}
