package source

import (
	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// collectionLength reads the type and the length at one moment. Asked one after the
// other, a worker that takes the last element in between makes an error of a zero.
var collectionLength = &redisNumber{
	title: "list %s",
	script: redis.NewScript(`
local sizes = {list = 'LLEN', set = 'SCARD', zset = 'ZCARD', hash = 'HLEN'}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then
  return -1
end
if not sizes[kind] then
  return redis.error_reply('WRONGTYPE key is a ' .. kind .. ', not a list, set, zset or hash')
end
return redis.call(sizes[kind], KEYS[1])
`),
}

var (
	listNameKey = metadata.Key{
		Name: "listName", Required: true, Format: "the name of a list, set, sorted set or hash",
		Meaning: "The key whose length is read. It is no pattern. A key that does not exist has length 0.",
	}
	listLengthKey     = targetKey("listLength", "How many entries one replica takes.")
	listActivationKey = activationKey("activationListLength")
)

// redisLength is KEDA's redis, redis-cluster and redis-sentinel.
func redisLength(t topology) kind {
	return kind{
		name:     "redis" + string(t),
		keys:     append([]metadata.Key{listNameKey, listLengthKey, listActivationKey}, connectionKeys(t)...),
		interval: redisInterval,
		parse: func(m *metadata.Map, salt []byte) (scaling.Trigger, string) {
			query := newRedisQuery(parseServer(m, t, salt), collectionLength, m.Text(listNameKey), "")
			return scaling.Trigger{
				Target:     target(m, listLengthKey),
				Activation: number(m, listActivationKey),
				Query:      query,
			}, "redis-" + query.key
		},
	}
}
