package source

import (
	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// The scripts begin by asking for the type: a stream that does not exist is an empty
// one, but anything else under its name is an error.
const streamOnly = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then
  return -1
end
if kind ~= 'stream' then
  return redis.error_reply('WRONGTYPE key is a ' .. kind .. ', not a stream')
end
`

var streamLength = &redisNumber{
	title:  "stream %s length",
	script: redis.NewScript(streamOnly + `return redis.call('XLEN', KEYS[1])`),
}

// streamPending fails where the group does not exist, as in KEDA: without a group
// nothing will ever be pending, and 0 would hide that.
var streamPending = &redisNumber{
	title: "stream %s pending in group %s",
	script: redis.NewScript(streamOnly + `
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1])
if pending.err then
  return pending
end
return pending[1]
`),
}

// streamLag reads how many entries the group has not been given yet.
//
// Redis reports that number since 7.0, but as nil after some deletions, and in many
// releases also wrongly (redis#13337, redis#13957): an entry that is deleted or
// trimmed before the group reads it is counted for ever after, and a lag that never
// returns to 0 keeps a workload from sleeping. So the entries after the last
// delivered one are counted: exactly up to 100. Beyond that the reported lag is
// taken, cut to the stream's length, which it cannot exceed. Where none is reported,
// counting goes on to 10,000, and that is the answer for anything longer.
//
// Each page starts at the last entry seen and skips it, because an exclusive start
// needs Redis 6.2.
var streamLag = &redisNumber{
	title: "stream %s lag of group %s",
	script: redis.NewScript(streamOnly + `
local last, lag
for _, fields in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #fields, 2 do
    group[fields[i]] = fields[i + 1]
  end
  if group.name == ARGV[1] then
    last, lag = group['last-delivered-id'], group.lag
  end
end
local length = redis.call('XLEN', KEYS[1])
if not last then
  return length
end
local count = 0
while count < 100 or (not lag and count < 10000) do
  local page = redis.call('XRANGE', KEYS[1], last, '+', 'COUNT', 101)
  count = count + #page
  if page[1] and page[1][1] == last then
    count = count - 1
  end
  if #page < 101 then
    return count
  end
  last = page[#page][1]
end
if not lag then
  return count
end
return math.max(count, math.min(lag, length))
`),
}

var (
	streamKey = metadata.Key{
		Name: "stream", Required: true, Format: "the name of a stream",
		Meaning: "The stream to read. One that does not exist is empty.",
	}
	groupKey = metadata.Key{
		Name:    "consumerGroup",
		Meaning: "The consumer group whose entries count. Without it the stream's length does.",
	}
	streamLengthKey = targetKey("streamLength", "How many entries of the stream one replica takes. Without consumerGroup only.")
	pendingKey      = targetKey("pendingEntriesCount", "How many delivered but unacknowledged entries one replica takes. With consumerGroup and without lagCount only.")
	lagKey          = metadata.Key{
		Name: "lagCount", Kind: metadata.Number, Range: metadata.Range{Min: 0.001, Max: 1e9},
		Meaning: "How many entries not yet delivered to the group one replica takes. With consumerGroup only.",
	}
	lagActivationKey = activationKey("activationLagCount")
)

// redisStreams is KEDA's redis-streams, redis-cluster-streams and
// redis-sentinel-streams.
func redisStreams(t topology) kind {
	return kind{
		name:     "redis" + string(t) + "-streams",
		keys:     append([]metadata.Key{streamKey, groupKey, lagKey, pendingKey, streamLengthKey, lagActivationKey}, connectionKeys(t)...),
		interval: redisInterval,
		parse: func(m *metadata.Map, salt []byte) (scaling.Trigger, string) {
			figure, perReplica := streamNumber(m)
			query := newRedisQuery(parseServer(m, t, salt), figure, m.Text(streamKey), m.Text(groupKey))
			return scaling.Trigger{
				Target:     perReplica,
				Activation: number(m, lagActivationKey),
				Query:      query,
			}, "redis-streams-" + query.key
		},
	}
}

// streamNumber decides what is read, as KEDA does: without a group the length, with
// one its lag if lagCount is given, else what it has pending. Targets of the others
// are read too, so that a wrong value is found, and do nothing.
func streamNumber(m *metadata.Map) (*redisNumber, algorithm.Milli) {
	length, pending, lag := target(m, streamLengthKey), target(m, pendingKey), target(m, lagKey)
	switch {
	case !m.Has(groupKey):
		warnUnused(m, "without consumerGroup, streamLength decides", pendingKey, lagKey)
		return streamLength, length
	case m.Has(lagKey):
		warnUnused(m, "with consumerGroup and lagCount, lagCount decides", pendingKey, streamLengthKey)
		return streamLag, lag
	}
	warnUnused(m, "with consumerGroup and without lagCount, pendingEntriesCount decides", streamLengthKey)
	return streamPending, pending
}

func warnUnused(m *metadata.Map, why string, keys ...metadata.Key) {
	for _, k := range keys {
		if m.Has(k) {
			m.Warn("%s: not used: %s", k.Name, why)
		}
	}
}
