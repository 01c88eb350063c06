package source

import (
	"fmt"
	"unique"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// redisQuery is one number at one server. Two that ask the same are equal.
type redisQuery struct {
	server unique.Handle[redisServer]
	number *redisNumber
	key    string
	group  string // for numbers of a consumer group
	// name follows from the others. It is made once, because every request asks for it.
	name string
}

func newRedisQuery(server unique.Handle[redisServer], number *redisNumber, key, group string) redisQuery {
	title := fmt.Sprintf(number.title, key)
	if group != "" {
		title = fmt.Sprintf(number.title, key, group)
	}
	return redisQuery{server, number, key, group, "redis " + title + " at " + server.Value().name}
}

// redisNumber is something that a script reads from one key. The script answers with
// the number, or absent if the key does not exist, which counts as 0.
type redisNumber struct {
	script *redis.Script
	// title has one verb for the key and, if it is of a group, one for the group.
	title string
}

const absent = -1

// Server identifies the server, its database and, by a fingerprint, the credentials.
func (q redisQuery) Server() string {
	return "redis" + string(q.server.Value().topology) + " " + q.server.Value().id
}

// String names the number, as in "redis list jobs at redis:6379/0".
func (q redisQuery) String() string { return q.name }

// target reads how much one replica takes. 10^9 is the largest, so that a count of
// replicas times a target stays far from overflow.
func target(m *metadata.Map, k metadata.Key) algorithm.Milli {
	milli, err := algorithm.ToMilli(m.Number(k))
	if err != nil {
		m.Problem(k, err.Error())
	}
	return milli
}

// targetKey describes a target.
func targetKey(name, meaning string) metadata.Key {
	return metadata.Key{Name: name, Kind: metadata.Number, Range: metadata.Range{Min: 0.001, Max: 1e9}, Default: "5", Meaning: meaning}
}

// activationKey describes an activation threshold.
func activationKey(name string) metadata.Key {
	return metadata.Key{
		Name: name, Kind: metadata.Number, Range: metadata.AtLeast(0), Default: "0",
		Meaning: "A reading must be above this to wake the workload or keep it awake; equal is not enough.",
	}
}

var _ scaling.Query = redisQuery{}
