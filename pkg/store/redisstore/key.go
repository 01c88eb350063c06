package redisstore

import (
	"strings"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// A key has six parts. Five have their slashes escaped; only the target keeps them,
// for apps/Deployment/worker to stay readable: it is whatever lies between the
// fourth slash and the last. Braces are escaped so that the hash tag, which ends at
// the first }, is the whole name.
var (
	escapePart   = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D", "/", "%2F")
	escapeTarget = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
)

// redisKey names the hash of a record, all of it in one hash tag, as
// dashpot:{prod/ScaledObject/shop/worker/apps/Deployment/worker/redis-jobs}. Two
// keys never share a name.
func (s *Store) redisKey(k scaling.Key) string {
	part := escapePart.Replace
	return "dashpot:{" + strings.Join([]string{
		part(s.instance), part(k.Kind), part(k.Namespace), part(k.Name), escapeTarget.Replace(k.Target), part(k.Record),
	}, "/") + "}"
}
