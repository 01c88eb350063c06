package scaling

import "github.com/dashpot-project/dashpot/pkg/algorithm"

// Scope is what is known of the workload that a question is asked for.
type Scope struct {
	// Namespace is that of the object that carries the policy, and of its workload.
	Namespace string
	// Target names the scale target, as apps/Deployment/worker; empty where nothing is
	// observed, and nothing below means anything then.
	Target string
	// Spec and Status are spec.replicas and status.replicas of the scale target.
	Spec, Status int32
	// Tolerance is the band within which the count stays as it is.
	Tolerance algorithm.Tolerance
}

// Scoped is a query that means something else for every workload, such as the CPU that
// its pods use.
type Scoped interface {
	Query
	// In is the query of one workload. It has the same String, and may have another
	// Server.
	In(s Scope) Query
}

// Detailed is a query whose answer depends on more than its name says: on the threshold
// with which a count was computed. A reading serves while the details are the same; what
// is remembered by the name outlives an edit of them.
type Detailed interface {
	Query
	// Asks is String with the details.
	Asks() string
}

// asks is what a reading on file is known by.
func (t Trigger) asks() string {
	if q, ok := t.Query.(Detailed); ok {
		return q.Asks()
	}
	return t.Query.String()
}

// NeedsWorkload reports whether the trigger can be read only for a workload that is
// observed: its reading is a count that follows from the present one, and no other's.
func (t Trigger) NeedsWorkload() bool {
	_, scoped := t.Query.(Scoped)
	return scoped && t.Counts
}

// serves reports whether a reading is of the question that a trigger asks, of a workload
// with these spec.replicas.
func (r Reading) serves(t Trigger, spec int32) bool {
	return r.Query == t.asks() && (!t.NeedsWorkload() || r.Spec == spec)
}

// In is the query as it is asked for one workload.
func In(q Query, s Scope) Query {
	if scoped, ok := q.(Scoped); ok {
		return scoped.In(s)
	}
	return q
}

// scopeOf is who asks a question.
func scopeOf(q *question) Scope {
	s := Scope{Namespace: q.key.Namespace}
	if !q.obs.OpenLoop && !q.obs.Job {
		s.Target, s.Spec, s.Status = q.obs.Target, q.obs.Spec, q.obs.Status
		as := q.policy.mode()
		if as == Shadow { // a count is read once, and it is what is sent
			as = PassThrough
		}
		s.Tolerance = q.policy.tolerance(as, q.obs.HPA)
	}
	return s
}
