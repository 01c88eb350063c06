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

// In is the query as it is asked for one workload.
func In(q Query, s Scope) Query {
	if scoped, ok := q.(Scoped); ok {
		return scoped.In(s)
	}
	return q
}

// scopeOf is who asks a question.
func scopeOf(q question) Scope {
	s := Scope{Namespace: q.key.Namespace}
	if !q.obs.OpenLoop && !q.obs.Job {
		s.Target, s.Spec, s.Status = q.obs.Target, q.obs.Spec, q.obs.Status
		s.Tolerance = q.policy.tolerance(q.obs.HPA)
	}
	return s
}
