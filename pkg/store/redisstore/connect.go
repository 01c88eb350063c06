package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// connectTimeout ends attempts that go on after their caller has left: go-redis dials
	// in the background. Deadlines of operations are shorter.
	connectTimeout = time.Second
	// plain is the version of the protocol in which a server only answers. In the other
	// one go-redis looks for messages before each answer, which takes it a tenth of a
	// Load.
	plain = 2
)

// connect returns a client of the target, bent to what a store promises: a command
// is sent once, by its deadline, to a server that is known to answer. It does not
// wait for a connection.
func (t target) connect() redis.UniversalClient {
	switch {
	case t.sentinel != nil:
		o := *t.sentinel
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, 1, true, true
		orDefault(&o.DialTimeout, connectTimeout)
		orDefault(&o.ReadTimeout, connectTimeout)
		orDefault(&o.Protocol, plain)
		client := redis.NewFailoverClient(&o)
		client.AddHook(&breaker{})
		return client
	case t.cluster != nil:
		o := *t.cluster
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, 1, true, true
		o.DisableRoutingPolicies = true // they would ask each server for its COMMANDs
		o.MaintNotificationsConfig = quiet()
		orDefault(&o.DialTimeout, connectTimeout)
		orDefault(&o.ReadTimeout, connectTimeout)
		orDefault(&o.Protocol, plain)
		client := redis.NewClusterClient(&o)
		client.OnNewNode(func(node *redis.Client) { node.AddHook(&breaker{}) })
		return client
	default:
		o := *t.single
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, 1, true, true
		o.MaintNotificationsConfig = quiet()
		orDefault(&o.DialTimeout, connectTimeout)
		orDefault(&o.ReadTimeout, connectTimeout)
		orDefault(&o.Protocol, plain)
		client := redis.NewClient(&o)
		client.AddHook(&breaker{})
		return client
	}
}

// quiet spares each new connection a question that only a commercial server answers.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// orDefault sets what the URL leaves open.
func orDefault[T comparable](option *T, value T) {
	if *option == *new(T) {
		*option = value
	}
}
