package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// script is Lua that Redis knows by its hash after the first call.
type script struct {
	text, hash string
}

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

// loadScript takes a version that the caller has the record of. It answers {record,
// version, {seconds, microseconds}}, of one moment, without the record if it is that one.
var loadScript = newScript(`
local version = redis.call('HGET', KEYS[1], 'version')
if version == ARGV[1] then return {false, version, redis.call('TIME')} end
return {redis.call('HGET', KEYS[1], 'record'), version, redis.call('TIME')}
`)

// swapScript takes the expected version, the record, its version and its TTL in
// milliseconds. It answers 1 if it stored the record, 0 if it changed nothing. A key
// without a version, missing or not ours, has the empty one.
var swapScript = newScript(`
local version = redis.call('HGET', KEYS[1], 'version')
if version == false then version = '' end
if version == ARGV[1] then
  redis.call('HSET', KEYS[1], 'record', ARGV[2], 'version', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return 1
end
return 0
`)

// once is a command that go-redis must not send again when its answer is lost.
// MaxRetries does not see to that: the client of a Cluster retries all the same.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// run calls the script by its hash, and by its text where the server does not know
// it: at first, and after a restart, a failover or SCRIPT FLUSH. A server that does
// not know it has not run it, so the second call is the first to run.
func (s script) run(ctx context.Context, client redis.UniversalClient, key string, args ...any) (any, error) {
	reply, err := call(ctx, client, "evalsha", s.hash, key, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = call(ctx, client, "eval", s.text, key, args)
	}
	return reply, err
}

func call(ctx context.Context, client redis.UniversalClient, command, script, key string, args []any) (any, error) {
	cmd := once{redis.NewCmd(ctx, append([]any{command, script, 1, key}, args...)...)}
	if err := client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// parseLoaded reads the answer of loadScript to one who knew a version.
func parseLoaded(reply any, known *versioned) (*scaling.Loaded, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) != 3 {
		return nil, fmt.Errorf("redis answered %v, not record, version and time", reply)
	}
	now, err := parseTime(fields[2])
	if err != nil {
		return nil, err
	}
	loaded := &scaling.Loaded{Now: now}
	version, ok := fields[1].(string)
	if !ok {
		return loaded, nil
	}
	loaded.Version = scaling.Version(version)
	if loaded.Version == known.version && version != "" {
		loaded.Record = known.record
		return loaded, nil
	}
	data, _ := fields[0].(string)
	if record, err := scaling.UnmarshalRecord([]byte(data)); err == nil {
		loaded.Record = &record
	}
	return loaded, nil
}

func parseTime(reply any) (time.Time, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return time.Time{}, fmt.Errorf("redis answered %v to TIME, not seconds and microseconds", reply)
	}
	var numbers [2]int64
	for i, part := range parts {
		n, err := strconv.ParseInt(fmt.Sprint(part), 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("redis answered %v to TIME, not seconds and microseconds", reply)
		}
		numbers[i] = n
	}
	return time.Unix(numbers[0], numbers[1]*1000).UTC(), nil
}
