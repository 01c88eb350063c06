package process

import (
	"context"

	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
)

// Records is where records are kept.
type Records struct {
	scaling.Store
	// Redis is nil for the memory store.
	Redis *redisstore.Store
}

// OpenRecords opens the store that a URL names, the memory store if it is empty. It does
// not connect.
func OpenRecords(url, instance string) (Records, error) {
	if url == "" {
		return Records{Store: memstore.New()}, nil
	}
	redis, err := redisstore.Open(url, redisstore.Options{Instance: instance})
	if err != nil {
		return Records{}, err
	}
	return Records{redis, redis}, nil
}

// Check says whether the store has ever answered. From then on the process goes on
// without it, from memory: if every replica became unready with Redis, nobody would
// hold the counts.
func (r Records) Check() Check {
	return Once(Check{Name: "store", Test: func(ctx context.Context) error {
		if r.Redis == nil {
			return nil
		}
		return r.Redis.Ready(ctx)
	}})
}

// Close closes the connections.
func (r Records) Close() error {
	if r.Redis == nil {
		return nil
	}
	return r.Redis.Close()
}
