package redisstore

import (
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// generation is how long an entry is kept at least that nobody asks for; twice as long
// at most. KEDA asks every 30 s, an HPA every 15 s.
const generation = 2 * time.Minute

// decoded keeps the last record of each key that was written or read, so that Redis
// sends, and this process decodes, only what is newer. A version stands for one record,
// and a record is a value, so an entry is never wrong: at worst it is not asked for. The
// record's slices are those that the evaluator remembers too.
type decoded struct {
	mu            sync.Mutex
	recent, older map[string]*versioned
	turned        time.Time
}

type versioned struct {
	version scaling.Version
	record  scaling.Record
}

// get returns the last record of a key; the zero value, whose version is no record's, if
// there is none.
func (d *decoded) get(key string) versioned {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	known, ok := d.recent[key]
	if !ok {
		if known, ok = d.older[key]; !ok {
			return versioned{}
		}
		d.recent[key] = known
	}
	return *known
}

func (d *decoded) put(key string, v versioned) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	d.recent[key] = &v
}

// turn forgets what was not asked for in the last generation. The caller holds the lock.
func (d *decoded) turn() {
	if now := time.Now(); d.recent == nil || now.Sub(d.turned) >= generation {
		d.recent, d.older, d.turned = map[string]*versioned{}, d.recent, now
	}
}
