package scaling

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// unseenLimit is the oldest that a record may be for a process that has never seen
// its key: beyond it, nobody can say whether time passed or a clock jumped.
const unseenLimit = time.Minute

// sweepEvery is how often what nobody asks about is looked for.
const sweepEvery = time.Minute

// state is a record at one moment, ready to be stepped.
type state struct {
	record  Record
	version Version
	now     time.Time // the store's clock
	elapsed time.Duration
	blind   bool
	unsaved bool
	// lost: the store has forgotten what this process, at least, remembers.
	lost bool
	// unsure: others may have decided what neither the record nor this process knows.
	unsure bool
	// adrift: the store's clock is behind the record, so its age is unknown.
	adrift   bool
	degraded bool
	// at is this process's clock at that moment, latency how much later that is, at
	// most, than the moment at which the store's clock was read.
	at      time.Time
	latency time.Duration
}

// dated reports whether it is known how old the record is.
func (st *state) dated() bool { return !st.blind && !st.lost && !st.adrift }

// wantsReading reports whether the readings on file are too old for the policy, or
// answer other questions than it asks.
func (st *state) wantsReading(q *question) bool {
	p, r := q.policy, &st.record
	if !st.dated() || len(r.Readings) != len(p.Triggers) {
		return true
	}
	for i, t := range p.Triggers {
		if !r.Readings[i].serves(t, q.obs.Spec) {
			return true
		}
	}
	return r.Clock+st.elapsed-r.ReadAt >= p.Interval
}

// pass brings a state up to this moment.
func (st *state) pass() {
	now := time.Now()
	passed := now.Sub(st.at)
	st.elapsed += passed
	st.now, st.at = st.now.Add(passed), now
}

// memory is what this process knows of the keys it has been asked about: enough to
// bound what a wrong clock can do, and to go on while the store is away. It uses
// this process's monotonic clock and no other.
type memory struct {
	// most is how many policies there are at most, share how many of one namespace, unless
	// it is 0; idle is how long one that nobody asks about is remembered.
	most, share int
	idle        time.Duration

	mu    sync.Mutex
	known map[Key]*memo
	last  map[policyName]*verdict
	// room is the largest number of policies since the maps were last made.
	room int
	// namespaces counts the policies in last.
	namespaces map[string]int
	swept      time.Time
}

// policyName is a Key without the target, which is not known where the cluster shows
// nothing.
type policyName struct {
	Ref
	record string
}

// verdict is the last decision on a policy.
type verdict struct {
	decision Decision
	at       time.Time
}

type memo struct {
	// record as it was at the moment seen, age after it was made.
	record Record
	seen   time.Time
	age    time.Duration
	has    bool
	// unsaved: record was changed while the store was away.
	unsaved bool
	// sure: this process has stored a record since it first saw the key, and since the
	// store was last away.
	sure bool
	// lost: the store has lost what others may have known, and no step has allowed for it.
	// Of several requests at once the one that notices need not be the one that stores.
	lost bool
	// inStore is when this process last learned what is in the store.
	inStore time.Time
	// storedSeen and storedAge are seen and age of what was last in the store, which is
	// not record while that is unsaved. Zero: there was nothing, or it is lost.
	storedSeen time.Time
	storedAge  time.Duration
	// storedAt is that record's EvaluatedAt: of an older one, whose answer was late, they
	// say nothing.
	storedAt time.Duration
	used     time.Time
}

func newMemory(most, share int, idle time.Duration) *memory {
	return &memory{most: most, share: share, idle: idle, known: map[Key]*memo{}, last: map[policyName]*verdict{}, namespaces: map[string]int{}}
}

// admit says why a policy is one too many; nil if it is not. Who comes at the same moment
// may be let in together.
func (m *memory) admit(name policyName) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(time.Now())
	_, known := m.last[name]
	switch {
	case known:
	case len(m.last) >= m.most:
		return fmt.Errorf("%w policies: %s/%s is beyond the %d that this process takes on, see --max-policies", ErrTooMany, name.Namespace, name.Name, m.most)
	case m.share > 0 && m.namespaces[name.Namespace] >= m.share:
		return fmt.Errorf("%w policies: %s/%s is beyond the %d that this process takes on of one namespace, see --max-per-namespace", ErrTooMany, name.Namespace, name.Name, m.share)
	}
	return nil
}

// sweep forgets what nobody has asked about for long. The caller holds the lock.
func (m *memory) sweep(now time.Time) {
	if now.Sub(m.swept) >= sweepEvery {
		m.forgetIdle(now)
	}
}

func (m *memory) forgetIdle(now time.Time) {
	m.swept, m.room = now, max(m.room, len(m.last))
	maps.DeleteFunc(m.known, func(_ Key, k *memo) bool { return now.Sub(k.used) > m.idle })
	for name, v := range m.last {
		if now.Sub(v.at) > m.idle {
			m.drop(name)
		}
	}
	if left := len(m.last); 2*left < m.room { // a map keeps the room of all that it ever held
		m.known, m.last, m.room = maps.Collect(maps.All(m.known)), maps.Collect(maps.All(m.last)), left
	}
}

// drop forgets the last decision on a policy. The caller holds the lock.
func (m *memory) drop(name policyName) {
	delete(m.last, name)
	if m.namespaces[name.Namespace]--; m.namespaces[name.Namespace] == 0 {
		delete(m.namespaces, name.Namespace)
	}
}

// memo returns the memo of a key. The caller holds the lock.
func (m *memory) memo(key Key, now time.Time) *memo {
	m.sweep(now)
	known, ok := m.known[key]
	if !ok {
		known = &memo{}
		m.known[key] = known
	}
	known.used = now
	return known
}

// loaded makes the state what the store answered. asked is this process's clock
// before the question went out, so that no delay can make time look shorter.
func (m *memory) loaded(key Key, l *Loaded, asked time.Time, st *state) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.memo(key, now)
	*st = state{}
	st.version, st.now, st.at, st.latency, st.unsure = l.Version, l.Now, now, now.Sub(asked), !known.sure
	less := known.has && (l.Record == nil || l.Record.EvaluatedAt < known.record.EvaluatedAt)
	// The store has less than this process knows it had. Either the answer is what is
	// old, or the store has lost writes: in a failover, or because it was emptied (and
	// perhaps another replica wrote what it knew).
	lost := known.wasStored() && (l.Record == nil || l.Record.EvaluatedAt < known.storedAt) && asked.After(known.inStore)
	switch {
	case l.Record != nil:
		st.record = *l.Record
		st.elapsed, st.blind, st.adrift = known.bound(l, now)
		if l.Record.EvaluatedAt >= known.storedAt || lost {
			known.storedSeen, known.storedAge, known.storedAt = asked, st.elapsed, l.Record.EvaluatedAt
		}
	case known.has:
		st.record, st.elapsed, st.unsaved = known.record, known.elapsed(now), known.unsaved
	}
	if l.Record != nil && (known.unsaved || lost) {
		st.unite(advance(known.record, known.elapsed(now), l.Now))
	}
	seen := asked
	if lost {
		st.unsaved, known.unsaved, known.lost = true, true, true
		if l.Record == nil { // it is lost once, and what is remembered is as old as it is now
			known.storedSeen, known.storedAt, seen = time.Time{}, 0, now
		}
	}
	st.lost = known.lost
	if l.Record != nil && (!less || known.unsaved) || lost {
		known.record, known.seen, known.age, known.has, known.inStore = st.record, seen, st.elapsed, true, now
	}
}

// unite adds to the record of a moment what this process remembers of it. The later clock
// counts: by it a record that is older still shows as one.
func (st *state) unite(mine Record) {
	theirs := advance(st.record, st.elapsed, st.now)
	st.record, st.elapsed, st.unsaved = theirs.shifted(max(0, mine.Clock-theirs.Clock)).Union(mine), 0, true
}

// bound limits what the store's clock says has elapsed for a record to what this process
// knows can have passed. adrift: the store's clock went backwards.
func (k *memo) bound(l *Loaded, now time.Time) (elapsed time.Duration, blind, adrift bool) {
	diff := l.Now.Sub(l.Record.Time)
	if !k.wasStored() || l.Record.EvaluatedAt < k.storedAt {
		if diff < 0 || diff > unseenLimit {
			return 0, true, false
		}
		return diff, false, false
	}
	return min(max(diff, 0), now.Sub(k.storedSeen)+k.storedAge), false, diff < 0
}

// wasStored reports whether this process has seen a record in the store, and not since found
// it gone.
func (k *memo) wasStored() bool { return !k.storedSeen.IsZero() }

// elapsed is how much time has passed, at most, since the remembered record was
// made.
func (k *memo) elapsed(now time.Time) time.Duration { return now.Sub(k.seen) + k.age }

// advance moves a record's clock, and anchors it to the store's.
func advance(r Record, by time.Duration, now time.Time) Record {
	r.Clock += by
	r.Time = now
	return r
}

// local makes the state that of a key as far as this process remembers it.
func (m *memory) local(key Key, st *state) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.memo(key, now)
	*st = state{}
	st.record, st.now, st.at = known.record, now, now
	if known.has {
		st.elapsed = known.elapsed(now)
	}
}

// away makes the state that of a key while the store does not answer.
func (m *memory) away(key Key, st *state) {
	m.local(key, st)
	st.degraded, st.unsure = true, true
	m.doubt(key)
}

// doubt notes that the store did not answer: others may decide alone from now on.
func (m *memory) doubt(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memo(key, time.Now()).sure = false
}

// keep remembers a record that only this process has, and makes it the state's.
func (m *memory) keep(key Key, r *Record, st *state) { m.remember(key, r, st, st.degraded) }

// stored remembers a record that was swapped in, and makes it the state's.
func (m *memory) stored(key Key, r *Record, st *state) { m.remember(key, r, st, false) }

func (m *memory) remember(key Key, r *Record, st *state, unsaved bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.memo(key, time.Now())
	seen := st.at.Add(-st.latency)
	known.record, known.seen, known.age, known.has, known.unsaved, known.sure = *r, seen, 0, true, unsaved, !unsaved
	known.lost = known.lost && !st.lost
	if !unsaved {
		known.inStore = time.Now()
		known.storedSeen, known.storedAge, known.storedAt = seen, 0, r.EvaluatedAt
	}
	*st = state{record: *r, now: st.now, at: st.at, latency: st.latency, degraded: st.degraded}
}

// recent is the state of a key as this process last knew it, at the moment that st
// has become meanwhile.
func (m *memory) recent(key Key, st *state) (mine state) {
	m.local(key, &mine)
	mine.now, mine.latency, mine.degraded, mine.unsure = st.now.Add(mine.at.Sub(st.at)), st.latency, st.degraded, st.unsure
	// Where the store is away, now is this process's clock and the record's time another's.
	if passed := mine.now.Sub(mine.record.Time); passed >= 0 && !st.degraded {
		mine.elapsed = min(mine.elapsed, passed)
	}
	return mine
}

// forget remembers of a key only that its record, which this process has just emptied, is
// all there is.
func (m *memory) forget(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = &memo{sure: true, used: time.Now()}
}

// decided remembers a decision, fills in the one before it, if there was any, and reports
// whether it is remembered. One that was made without sight keeps the target that the
// policy last had. What nobody has seen, of which anybody may think up names, gets half of
// the room at most.
func (m *memory) decided(d, before *Decision) (ok bool) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	name := policyName{d.Key.Ref, d.Key.Record}
	last, known := m.last[name]
	if !known {
		if errors.Is(d.Err, ErrUnobserved) && len(m.last) >= m.most/2 {
			return false
		}
		last = &verdict{}
		m.last[name] = last
		m.namespaces[name.Namespace]++
	}
	*before = last.decision
	last.decision, last.at = *d, now
	if d.Key.Target == "" {
		last.decision.Key.Target = before.Key.Target
	}
	return true
}

func (m *memory) decisions() []Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Decision, 0, len(m.last))
	for _, v := range m.last {
		list = append(list, v.decision)
	}
	slices.SortFunc(list, func(a, b Decision) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return list
}
