package scaling

import "time"

// sightLimit is how long another process's view of the workload may be better than a later
// look of this one. Every reading that is stored renews it. It ends so that a cluster which
// is restored from a backup, and so counts its revisions anew, is believed again.
const sightLimit = 2 * time.Minute

// catchUp takes the count that another process has seen for the observed one, if that is
// older: who is cut off from the API server would take its limits from what ran then, and
// note as moves of the workload what is only its own ignorance.
func (s *step) catchUp() {
	last, mine := s.rec.Sight, s.obs.Revision
	if s.simulated() || mine == 0 || mine >= last.Revision || s.now-last.At > sightLimit {
		return
	}
	s.outdated = true
	s.obs.Spec, s.obs.Status = s.rec.Replicas, s.rec.Replicas
}
