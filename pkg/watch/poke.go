package watch

import "time"

// maxPokes is how many pokes of one object are obeyed within pokeWindow. A poke
// costs a read and a store round trip, and whoever may push a job can send one.
const (
	maxPokes   = 10
	pokeWindow = time.Second
)

type objectName struct{ namespace, name string }

// object is what carries policies: all the streams of one name.
type object struct {
	streams map[*stream]struct{}
	// poked has the times of the last pokes that were obeyed, the oldest at next.
	poked [maxPokes]time.Time
	next  int
}

// admit reports whether another poke is within the limit.
func (o *object) admit(now time.Time) bool {
	oldest := &o.poked[o.next]
	if !oldest.IsZero() && now.Sub(*oldest) < pokeWindow {
		return false
	}
	*oldest = now
	o.next = (o.next + 1) % maxPokes
	return true
}

// Poke says that an object's sources are worth a look: they are read at once, and
// the policies evaluated with what was read, be they active or not. It returns how
// many streams of this process that concerns: 0 if none is open, or if the object
// was poked 10 times within the last second. A poke that is lost costs no more
// than an interval.
func (w *Watcher) Poke(namespace, name string) int {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	object, ok := w.objects[objectName{namespace, name}]
	if !ok || !object.admit(now) {
		return 0
	}
	for s := range object.streams {
		if !s.inactive() {
			s.forgetOutcomes()
		}
		for _, p := range s.probes {
			w.enqueue(p, pokes)
		}
	}
	w.wakeUp()
	return len(object.streams)
}
