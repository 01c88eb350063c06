// Package redisstore keeps records in Redis, shared by all replicas: a single
// server, Sentinel or Cluster. It also carries pokes between replicas.
//
// A record is one Redis hash with the fields record (scaling.MarshalRecord) and
// version. Load and Swap are one script call each, so one round trip; the scripts
// compare and store, they do not compute. A record whose version the process has seen is
// not sent again.
//
// # Lost answers
//
// When the connection breaks, or the deadline passes, after a Swap has been sent,
// nobody can tell whether Redis applied it. A retry would find the version changed,
// by the first attempt itself or by somebody else, and answer "refused" for a swap
// that took place. So nothing here, go-redis included, sends a Swap twice: a lost
// answer is an error, and the error means "perhaps". The caller loads again and
// unites what it finds with what it has, which is the same either way. A Swap that
// lies in the socket of a hung server may still be applied when the server goes on;
// compare-and-swap then refuses it if anybody was faster.
package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/recent"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// defaultTimeout is some 100 times what Redis needs within one network, and a tenth
// of what a caller of the evaluator is willing to wait.
const defaultTimeout = 50 * time.Millisecond

// Options configure a Store.
type Options struct {
	// Instance separates users of one Redis, such as two clusters. Required.
	Instance string
	// Timeout is the deadline of each operation, connecting included; 50 ms if zero.
	Timeout time.Duration
}

// Store is a scaling.Store in Redis. It is safe for concurrent use.
type Store struct {
	client   redis.UniversalClient
	instance string
	timeout  time.Duration
	decoded  *decoded
}

// errSlow is the cause of an operation's end when its own deadline passed, and not
// the caller's.
var errSlow = errors.New("no answer from Redis in time")

// Open returns a store in the Redis that a URL names:
//
//	redis://[USER:PASSWORD@]HOST[:PORT][/DB]
//	redis-sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/DB]?master=NAME
//	redis-cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]
//
// and the same with TLS: rediss, rediss-sentinel, rediss-cluster. The ports default
// to 6379, that of a sentinel to 26379. The user and the password are those of the
// servers that keep the data; sentinels have their own in the parameters
// sentinel_username and sentinel_password. Of go-redis' parameters those apply that
// do not conflict with what a store promises: pool_size, dial_timeout, client_name
// and others.
//
// It connects on first use, so it fails only for a bad URL, naming the part and never
// the password, or bad options; [Store.Ready] tells whether Redis answers.
func Open(url string, o Options) (*Store, error) {
	if o.Instance == "" {
		return nil, errors.New("instance is empty; it must be a text that no other user of this Redis has")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Timeout < time.Millisecond {
		return nil, fmt.Errorf("timeout is %s; it must be at least 1ms, or 0 for %s", o.Timeout, defaultTimeout)
	}
	target, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return &Store{
		client: target.connect(), instance: o.Instance, timeout: o.Timeout,
		decoded: recent.New[string, *versioned](decodedFor),
	}, nil
}

// Close closes all connections. A running Subscribe then fails to reconnect until
// its context ends.
func (s *Store) Close() error { return s.client.Close() }

// Ready returns nil if Redis answers, and why not otherwise. Of a Cluster it asks one
// node.
func (s *Store) Ready(ctx context.Context) error {
	if err := within(ctx, s.timeout, func(ctx context.Context) error { return s.client.Ping(ctx).Err() }); err != nil {
		return fmt.Errorf("ping Redis: %w", err)
	}
	return nil
}

// Load implements scaling.Store. Bytes that this release cannot read, a newer layout
// included, count as no record, but have a version and can be swapped over: a lost
// key costs blind time and heals with the next Swap, an error would last until the
// key expires.
func (s *Store) Load(ctx context.Context, key scaling.Key) (*scaling.Loaded, error) {
	name := s.redisKey(key)
	known, ok := s.decoded.Get(name)
	if !ok {
		known = &versioned{}
	}
	var reply any
	err := within(ctx, s.timeout, func(ctx context.Context) (err error) {
		reply, err = loadScript.run(ctx, s.client, name, string(known.version))
		return err
	})
	var loaded *scaling.Loaded
	if err == nil {
		loaded, err = parseLoaded(reply, known)
	}
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", key, err)
	}
	if loaded.Record != nil && loaded.Version != known.version {
		s.decoded.Put(name, &versioned{loaded.Version, loaded.Record})
	}
	return loaded, nil
}

// Swap implements scaling.Store. An error does not say whether the record was
// swapped: see Lost answers. A ttl below 1 ms is an error.
func (s *Store) Swap(ctx context.Context, key scaling.Key, version scaling.Version, next scaling.Record, ttl time.Duration) (bool, error) {
	if ttl < time.Millisecond {
		return false, fmt.Errorf("swap %s: ttl is %s; it must be at least 1ms", key, ttl)
	}
	data, err := scaling.MarshalRecord(next)
	if err != nil {
		return false, fmt.Errorf("swap %s: %w", key, err)
	}
	name, stored := s.redisKey(key), &versioned{scaling.Version(rand.Text()), &next}
	var swapped bool
	err = within(ctx, s.timeout, func(ctx context.Context) error {
		reply, err := swapScript.run(ctx, s.client, name, string(version), data, string(stored.version), ttl.Milliseconds())
		swapped = reply == int64(1)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("swap %s: %w", key, err)
	}
	if swapped {
		s.decoded.Put(name, stored)
	}
	return swapped, nil
}

// within runs an operation against its deadline, and says if it was that which passed.
func within(ctx context.Context, timeout time.Duration, operation func(context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errSlow)
	defer cancel()
	err := limited.Err()
	if err == nil {
		err = operation(limited)
	}
	if err != nil && errors.Is(context.Cause(limited), errSlow) {
		return fmt.Errorf("%w (%s): %w", errSlow, timeout, err)
	}
	return err
}
