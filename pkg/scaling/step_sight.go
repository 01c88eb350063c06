package scaling

import "time"

// sightLimit is how long another process's view of the workload may be better than a later
// look of this one, at least. It ends so that a cluster which is restored from a backup, and
// so counts its revisions anew, is believed again.
const sightLimit = 2 * time.Minute

// catchUp makes an observation what another process has seen since, at a moment of the
// record's clock, and reports whether there is such a thing: who is cut off from the API server would take its limits from
// what ran then, and note as moves of the workload what is only its own ignorance. The
// record's sight is renewed with every reading that a process stores whose look is no older.
// It says nothing of a count that is simulated, or where nobody knows how old it is (blind).
func (obs *Observation) catchUp(r *Record, p *Policy, now time.Duration, blind bool) (outdated bool) {
	last, limit := r.Sight, max(sightLimit, p.staleLimit())
	switch {
	case blind, obs.OpenLoop, p.mode() == Shadow:
		return false
	case obs.Revision == 0, obs.Revision >= last.Revision, now-last.At > limit:
		return false
	}
	obs.UID = r.UID
	if obs.Spec != r.Replicas {
		obs.Spec, obs.Status = r.Replicas, r.Replicas
	}
	obs.Bounds.Max = max(obs.Bounds.Max, r.Replicas)
	return true
}

// see notes whose the record's count is. A simulated one nobody has seen; and what was
// decided before it is not what somebody else may have acted on.
func (s *step) see() {
	switch {
	case s.simulated():
		s.rec.Sight = Sight{}
	case !s.outdated:
		s.rec.Sight = Sight{s.obs.Revision, s.now}
	}
	if s.as == Shadow {
		s.rec.Lowest, s.rec.Highest = s.rec.Served, s.rec.Served
	}
}
