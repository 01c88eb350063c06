package externalscaler

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	// maxKept is how large the metadata of a policy in the cache may be, keys and
	// values, in bytes; what is larger is parsed every time. A PromQL query of a page is
	// 4 KiB.
	maxKept = 64 << 10
	// entryCost is what a policy takes beside its metadata, roughly, and usualCost what it
	// takes in all with the 500 bytes of metadata that are usual.
	entryCost = 1 << 10
	usualCost = entryCost + 500
	// leastBudget is room for some of the largest, where few policies are taken on.
	leastBudget = 4 << 20
	// generation is how long one lasts that is never full. KEDA asks every 30 s.
	generation = 2 * time.Minute
)

// Cached returns a parser that parses each distinct metadata once, for as many policies in
// use as most: where there are more than it has room for, each visit of KEDA's would parse
// one anew, which is half of what a visit takes. With 200,000 they are 300 MB, and 600 MB
// at most, where a caller floods it with metadata of no policy.
func Cached(parser PolicyParser, most int) PolicyParser { return newPolicyCache(parser, most) }

// policyCache is the parser of Cached. Its key is the whole metadata,
// not a hash of it: no collision can give one trigger another's policy.
//
// It has two generations. When the young one is full, or has lasted for long enough, it
// becomes the old one, and what is still used moves to the young one again: what is used
// stays, at the cost of a map lookup.
type policyCache struct {
	parser PolicyParser
	// budget bounds each of the two generations, in bytes.
	budget int

	mu         sync.RWMutex
	young, old map[string]parsed
	size       int // of young
	turned     time.Time
}

// parsed is a policy under its key, of which both generations so have the same copy.
type parsed struct {
	key    string
	policy *scaling.Policy
}

func newPolicyCache(parser PolicyParser, most int) *policyCache {
	return &policyCache{parser: parser, budget: max(leastBudget, most*usualCost), young: map[string]parsed{}, turned: time.Now()}
}

// Parse returns the policy of some metadata.
func (c *policyCache) Parse(metadata map[string]string) *scaling.Policy {
	if sizeOf(metadata) > maxKept {
		return c.parser.Parse(metadata)
	}
	key := canonical(metadata)
	c.mu.RLock()
	young, ok := c.young[key]
	grown := time.Since(c.turned) >= generation
	c.mu.RUnlock()
	if ok && !grown {
		return young.policy
	}
	return c.admit(key, metadata)
}

// admit puts the policy of a key into the young generation.
func (c *policyCache) admit(key string, metadata map[string]string) *scaling.Policy {
	entry, ok := c.known(key)
	if !ok {
		entry = parsed{key, c.parser.Parse(metadata)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.young[key]; ok { // somebody was faster
		return other.policy
	}
	cost := len(key) + entryCost
	if c.size+cost > c.budget {
		c.turn()
	}
	c.size += cost
	c.young[entry.key] = entry
	return entry.policy
}

// known returns the policy of a key from either generation, after the young one has made
// room if it was there for long enough.
func (c *policyCache) known(key string) (entry parsed, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.turned) >= generation {
		c.turn()
	}
	if entry, ok = c.young[key]; !ok {
		entry, ok = c.old[key]
	}
	return entry, ok
}

// turn makes the young generation the old one. The caller holds the lock.
func (c *policyCache) turn() {
	c.old, c.young = c.young, map[string]parsed{}
	c.size, c.turned = 0, time.Now()
}

func sizeOf(metadata map[string]string) int {
	size := 0
	for key, value := range metadata {
		size += len(key) + len(value)
	}
	return size
}

// canonical writes metadata as one string that is equal for equal maps only: keys
// in order, each text after its length, as in 4:list4:jobs.
func canonical(metadata map[string]string) string {
	keys := make([]string, 0, len(metadata))
	for key := range metadata {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	text := make([]byte, 0, sizeOf(metadata)+8*len(keys))
	for _, key := range keys {
		for _, part := range [2]string{key, metadata[key]} {
			text = strconv.AppendInt(text, int64(len(part)), 10)
			text = append(text, ':')
			text = append(text, part...)
		}
	}
	return string(text)
}
