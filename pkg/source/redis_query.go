package source

import (
	"fmt"
	"unique"

	"github.com/redis/go-redis/v9"

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

var _ scaling.Query = redisQuery{}

// redisKinds are the trigger types that read a Redis server.
func redisKinds() []kind {
	var kinds []kind
	for _, t := range []topology{single, cluster, sentinel} {
		kinds = append(kinds, redisLength(t), redisStreams(t))
	}
	return kinds
}
