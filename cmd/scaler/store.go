package main

import (
	"context"
	"errors"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// store is where records are, and how pokes travel: by Redis to every replica, or
// within this process.
type store struct {
	scaling.Store
	redis *redisstore.Store // nil for the memory store
}

// openStore opens the store that the options ask for. It does not connect.
func openStore(url, instance string) (store, error) {
	if url == "" {
		return store{Store: memstore.New()}, nil
	}
	redis, err := redisstore.Open(url, redisstore.Options{Instance: instance})
	if err != nil {
		return store{}, err
	}
	return store{redis, redis}, nil
}

// check says whether the store has ever answered. From then on the process goes on
// without it, from memory: if every replica became unready with Redis, nobody would
// hold the counts.
func (s store) check() process.Check {
	return process.Once(process.Check{Name: "store", Test: func(ctx context.Context) error {
		if s.redis == nil {
			return nil
		}
		return s.redis.Ready(ctx)
	}})
}

// listen hands pokes from Redis to the watcher until the context ends.
func (s store) listen(ctx context.Context, watcher *watch.Watcher) error {
	if s.redis == nil {
		return nil
	}
	err := s.redis.Subscribe(ctx, func(namespace, name string) { watcher.Poke(namespace, name) })
	if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// poke has an object looked at: by every replica if Redis carries the message, else
// by this one.
func (s store) poke(watcher *watch.Watcher) httpapi.Poke {
	return func(ctx context.Context, namespace, name string) error {
		unheard := httpapi.ErrNotPoked
		if s.redis != nil {
			if unheard = s.redis.Publish(ctx, namespace, name); unheard == nil {
				return nil
			}
		}
		if watcher.Poke(namespace, name) == 0 {
			return unheard
		}
		return nil
	}
}

func (s store) close() error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Close()
}
