package redisstore

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/recent"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// decodedFor is how long a record is kept that nobody asks for. KEDA asks every 30 s, an HPA
// every 15 s.
const decodedFor = 2 * time.Minute

// decoded keeps the last record of each key that was written or read, so that Redis
// sends, and this process decodes, only what is newer. A version stands for one record,
// and nobody writes to one, so an entry is never wrong: at worst it is not asked for. The
// record's slices are those that the evaluator remembers too.
type decoded = recent.Map[string, *versioned]

// versioned is a record; the zero value's version is no record's.
type versioned struct {
	version scaling.Version
	record  *scaling.Record
}
