package main

import (
	"context"
	"errors"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// pokes is how a poke travels: by Redis to every replica, or within this process.
type pokes struct {
	redis   *redisstore.Store // nil for the memory store
	watcher *watch.Watcher
}

// listen hands pokes from Redis to the watcher until the context ends.
func (p pokes) listen(ctx context.Context) error {
	if p.redis == nil {
		return nil
	}
	err := p.redis.Subscribe(ctx, func(namespace, name string) { p.watcher.Poke(namespace, name) })
	if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// send has an object looked at: by every replica if Redis carries the message, else
// by this one.
func (p pokes) send(ctx context.Context, namespace, name string) error {
	unheard := httpapi.ErrNotPoked
	if p.redis != nil {
		if unheard = p.redis.Publish(ctx, namespace, name); unheard == nil {
			return nil
		}
	}
	if p.watcher.Poke(namespace, name) == 0 {
		return unheard
	}
	return nil
}
