package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unique"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

var errClosed = errors.New("closed")

// neverSeen tells a queue whose name is misspelled from one that is empty: both have
// length 0.
const neverSeen = "this key has not existed since this replica began to read it; is its name right?"

// redisPool keeps one client per server.
type redisPool struct {
	timeout, idle time.Duration

	mu      sync.Mutex
	closed  bool
	clients map[unique.Handle[redisServer]]*redisClient
}

// redisClient is the connections to one server, and what is known of it.
type redisClient struct {
	conn    redis.UniversalClient
	breaker breaker
	// expiry closes the client once nobody has used it for long.
	expiry *time.Timer

	// The pool's lock guards these.
	users   int
	existed map[redisQuery]bool // queries whose key has been seen
}

func newRedisPool(timeout, idle time.Duration) *redisPool {
	return &redisPool{timeout: timeout, idle: idle, clients: map[unique.Handle[redisServer]]*redisClient{}}
}

// read asks one server. The error is that of a question that was not asked or not
// answered in time.
func (p *redisPool) read(ctx context.Context, queries []redisQuery) ([]scaling.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, err := p.acquire(queries[0].server)
	if err != nil {
		return nil, err
	}
	probe, err := client.breaker.admit(time.Now())
	if err != nil {
		p.release(client, queries[0].server)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	answered := make(chan []answer, 1)
	// The client heeds deadlines, but not everywhere a cancellation. So whoever asks
	// waits here, and the client ends by its deadline behind him.
	go func() {
		defer cancel()
		defer p.release(client, queries[0].server)
		answers := ask(ctx, client.conn, queries)
		client.judge(ctx, probe, answers)
		answered <- answers
	}()
	select {
	case answers := <-answered:
		return p.outcomes(client, queries, answers), nil
	case <-ctx.Done():
	}
	select {
	case answers := <-answered: // the context ended because the answer is there
		return p.outcomes(client, queries, answers), nil
	default:
		return nil, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// judge tells the breaker what an attempt has shown.
func (c *redisClient) judge(ctx context.Context, probe bool, answers []answer) {
	for _, a := range answers {
		if !unreachable(a.err) {
			continue
		}
		if errors.Is(context.Cause(ctx), context.Canceled) {
			c.breaker.abandon(probe)
		} else {
			c.breaker.fail(time.Now(), probe, a.err)
		}
		return
	}
	c.breaker.succeed()
}

// unreachable tells a failing connection from a server that answers with an error.
func unreachable(err error) bool {
	var reply redis.Error
	return err != nil && !errors.As(err, &reply)
}

func (p *redisPool) outcomes(client *redisClient, queries []redisQuery, answers []answer) []scaling.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcomes := make([]scaling.Outcome, len(queries))
	for i, a := range answers {
		switch {
		case a.err != nil:
			outcomes[i].Err = fmt.Errorf("%s: %w", queries[i], a.err)
		case a.number != absent:
			outcomes[i].Value = float64(a.number)
			client.existed[queries[i]] = true
		case !client.existed[queries[i]]:
			outcomes[i].Note = neverSeen
		}
	}
	return outcomes
}

// acquire returns the server's client, to be released.
func (p *redisPool) acquire(server unique.Handle[redisServer]) (*redisClient, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	client, ok := p.clients[server]
	if !ok {
		client = &redisClient{conn: server.Value().connect(p.timeout), existed: map[redisQuery]bool{}}
		p.clients[server] = client
	}
	if client.expiry != nil {
		client.expiry.Stop()
	}
	client.users++
	return client, nil
}

func (p *redisPool) release(client *redisClient, server unique.Handle[redisServer]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	client.users--
	switch {
	case client.users > 0 || p.closed:
	case client.expiry == nil:
		client.expiry = time.AfterFunc(p.idle, func() { p.expire(client, server) })
	default:
		client.expiry.Reset(p.idle)
	}
}

// expire closes a client, unless somebody has begun to use it meanwhile.
func (p *redisPool) expire(client *redisClient, server unique.Handle[redisServer]) {
	p.mu.Lock()
	unused := client.users == 0 && p.clients[server] == client
	if unused {
		delete(p.clients, server)
	}
	p.mu.Unlock()
	if unused {
		_ = client.conn.Close() // there is nothing that could be lost
	}
}

func (p *redisPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, client := range p.clients {
		if client.expiry != nil {
			client.expiry.Stop()
		}
		_ = client.conn.Close() // there is nothing that could be lost
	}
	clear(p.clients)
}

// answer is what a script returned.
type answer struct {
	number int64
	err    error
}

// ask runs all scripts in one round trip, and those that the server did not know yet
// in another.
func ask(ctx context.Context, conn redis.UniversalClient, queries []redisQuery) []answer {
	answers := run(ctx, conn, queries, (*redis.Script).EvalSha)
	var unknown []redisQuery
	var at []int
	for i, a := range answers {
		if redis.HasErrorPrefix(a.err, "NOSCRIPT") {
			unknown, at = append(unknown, queries[i]), append(at, i)
		}
	}
	if len(unknown) > 0 {
		for i, a := range run(ctx, conn, unknown, (*redis.Script).Eval) {
			answers[at[i]] = a
		}
	}
	return answers
}

type runScript func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd

func run(ctx context.Context, conn redis.UniversalClient, queries []redisQuery, script runScript) []answer {
	pipe := conn.Pipeline()
	replies := make([]*redis.Cmd, len(queries))
	for i, q := range queries {
		replies[i] = script(q.number.script, ctx, pipe, []string{q.key}, q.group)
	}
	_, failure := pipe.Exec(ctx)
	answers := make([]answer, len(queries))
	for i, reply := range replies {
		if reply.Err() == nil && reply.Val() == nil { // it never left: no login, for one
			answers[i].err = cmp.Or(failure, scaling.ErrNoData)
			continue
		}
		answers[i].number, answers[i].err = reply.Int64()
	}
	return answers
}
