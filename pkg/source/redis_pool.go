package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unique"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/recent"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// neverSeen tells a queue whose name is misspelled from one that is empty: both have
// length 0.
const neverSeen = "this key has not existed since this replica began to read it; is its name right?"

// existedFor is how long a key that was seen is remembered after the last read of it. Lists
// come and go by the thousand, and KEDA polls every 30 s.
const existedFor = 5 * time.Minute

// redisPool keeps one client per server.
type redisPool struct {
	timeout time.Duration
	servers *pool[unique.Handle[redisServer], *redisClient]
}

// redisClient is the connections to one server, and what is known of it.
type redisClient struct {
	conn    redis.UniversalClient
	breaker breaker
	existed *recent.Map[redisQuery, struct{}] // queries whose key has been seen
}

func newRedisPool(timeout, idle time.Duration, dialer egress.Dialer) *redisPool {
	return &redisPool{timeout: timeout, servers: newPool(idle,
		func(server unique.Handle[redisServer]) (*redisClient, error) {
			return &redisClient{conn: server.Value().connect(timeout, dialer), existed: recent.New[redisQuery, struct{}](existedFor)}, nil
		},
		func(c *redisClient) { _ = c.conn.Close() }, // there is nothing that could be lost
	)}
}

func (p *redisPool) close() { p.servers.shut() }

// read asks one server. The error is that of a question that was not asked or not
// answered in time.
func (p *redisPool) read(ctx context.Context, queries []redisQuery) ([]scaling.Outcome, error) {
	if ctx.Err() != nil {
		return nil, noAnswer(context.Cause(ctx))
	}
	client, release, err := p.servers.acquire(queries[0].server)
	if err != nil {
		return nil, err
	}
	probe, err := client.breaker.admit(time.Now())
	if err != nil {
		release()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	answered := make(chan []answer, 1)
	// The client heeds deadlines, but not everywhere a cancellation. So whoever asks
	// waits here, and the client ends by its deadline behind him.
	go func() {
		defer cancel()
		defer release()
		answers := ask(ctx, client.conn, queries)
		address := queries[0].server.Value().addresses
		for i, a := range answers {
			if a.err != nil {
				answers[i].err = inWords(a.err, address, "the server does not answer as Redis does")
			}
		}
		client.judge(ctx, probe, answers)
		answered <- answers
	}()
	select {
	case answers := <-answered:
		return client.outcomes(queries, answers), nil
	case <-ctx.Done():
	}
	select {
	case answers := <-answered: // the context ended because the answer is there
		return client.outcomes(queries, answers), nil
	default:
		return nil, noAnswer(context.Cause(ctx))
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

func (c *redisClient) outcomes(queries []redisQuery, answers []answer) []scaling.Outcome {
	outcomes := make([]scaling.Outcome, len(queries))
	for i, a := range answers {
		switch {
		case a.err != nil:
			outcomes[i].Err = fmt.Errorf("%s: %w", queries[i], a.err)
		case a.number != absent:
			outcomes[i].Value = float64(a.number)
			c.existed.Put(queries[i], struct{}{})
		default:
			if _, existed := c.existed.Get(queries[i]); !existed {
				outcomes[i].Note = neverSeen
			}
		}
	}
	return outcomes
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
